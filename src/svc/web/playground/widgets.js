// Problems, told at the top of the page in words, with what can be done about them.

export class Notice {
  #place;

  constructor(place) {
    this.#place = place;
  }

  /** Tells a problem; `again` is offered where trying once more may help. */
  tell(problem, again = null) {
    const title = document.createElement("strong");
    title.textContent = problem.title;
    const words = document.createElement("p");
    words.append(title);
    if (problem.message) words.append(` – ${problem.message}`);
    const actions = document.createElement("div");
    actions.className = "row";
    if (again && problem.passing) actions.append(this.#button("Try again", again));
    actions.append(this.#button("Dismiss", () => {}));
    this.#place.replaceChildren(words, actions);
    this.#place.hidden = false;
    this.#place.scrollIntoView({ block: "nearest" });
  }

  clear() {
    this.#place.hidden = true;
    this.#place.replaceChildren();
  }

  #button(label, action) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "secondary";
    button.textContent = label;
    button.addEventListener("click", () => {
      this.clear();
      action();
    });
    return button;
  }
}
