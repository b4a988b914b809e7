// Tabs by the book: one of them is in the order of focus, and arrows move between them.

const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

export class Tabs extends EventTarget {
  #tabs;

  constructor(list) {
    super();
    this.#tabs = [...list.querySelectorAll("[role=tab]")];
    list.addEventListener("click", ({ target }) => this.#choose(this.#tabs.indexOf(target.closest("[role=tab]"))));
    list.addEventListener("keydown", (event) => this.#key(event));
    this.#choose(0);
  }

  get chosen() {
    return this.#tabs.find((tab) => tab.ariaSelected === "true").id.replace("tab-", "");
  }

  #choose(wanted) {
    if (wanted < 0) return;
    this.#tabs.forEach((tab, index) => {
      tab.ariaSelected = String(index === wanted);
      tab.tabIndex = index === wanted ? 0 : -1;
    });
    const chosen = this.#tabs[wanted];
    document.getElementById(chosen.getAttribute("aria-controls")).setAttribute("aria-labelledby", chosen.id);
    this.dispatchEvent(new Event("change"));
  }

  #key(event) {
    const current = this.#tabs.indexOf(document.activeElement);
    const last = this.#tabs.length - 1;
    const ends = { Home: 0, End: last };
    const wanted = event.key in STEPS ? (current + STEPS[event.key] + last + 1) % (last + 1) : ends[event.key];
    if (current < 0 || wanted === undefined) return;
    event.preventDefault();
    this.#choose(wanted);
    this.#tabs[wanted].focus();
  }
}
