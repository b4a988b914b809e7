// Small parts of the page that both views use: element helpers, the error banner, the tabs, and the view switcher.

export const element = (id) => document.getElementById(id);

/** A copy of the content of a <template>. */
export function cloneTemplate(id) {
  return element(id).content.firstElementChild.cloneNode(true);
}

/** A button; `ariaLabel` is what screen readers say instead of the label. */
export function createButton(label, action, ariaLabel = null) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "secondary";
  button.textContent = label;
  if (ariaLabel) button.setAttribute("aria-label", ariaLabel);
  button.addEventListener("click", action);
  return button;
}

/** An error at the top of the page, with the actions that can be taken. */
export class Banner {
  #place;

  constructor(place) {
    this.#place = place;
  }

  /** Shows an ApiError; "Try again" calls `retry`, and is offered where it may help. */
  show(error, retry = null) {
    const title = document.createElement("strong");
    title.textContent = error.title;
    const text = document.createElement("p");
    text.append(title);
    if (error.message) text.append(` – ${error.message}`);
    const actions = document.createElement("div");
    actions.className = "row";
    if (retry && error.isTransient) actions.append(this.#createAction("Try again", retry));
    actions.append(this.#createAction("Dismiss", () => {}));
    this.#place.replaceChildren(text, actions);
    this.#place.hidden = false;
    this.#place.scrollIntoView({ block: "nearest" });
  }

  clear() {
    this.#place.hidden = true;
    this.#place.replaceChildren();
  }

  #createAction(label, action) {
    return createButton(label, () => {
      this.clear();
      action();
    });
  }
}

const TAB_STEPS = { ArrowRight: 1, ArrowLeft: -1 };

/** Tabs after the ARIA pattern: only the selected one can be reached with Tab, and arrow keys move between them. */
export class Tabs extends EventTarget {
  #tabs;

  constructor(list) {
    super();
    this.#tabs = [...list.querySelectorAll("[role=tab]")];
    list.addEventListener("click", ({ target }) => this.#select(this.#tabs.indexOf(target.closest("[role=tab]"))));
    list.addEventListener("keydown", (event) => this.#handleKey(event));
    this.#select(0);
  }

  get selected() {
    return this.#tabs.find((tab) => tab.ariaSelected === "true").id.replace("tab-", "");
  }

  #select(wanted) {
    if (wanted < 0) return;
    this.#tabs.forEach((tab, index) => {
      tab.ariaSelected = String(index === wanted);
      tab.tabIndex = index === wanted ? 0 : -1;
    });
    const selected = this.#tabs[wanted];
    element(selected.getAttribute("aria-controls")).setAttribute("aria-labelledby", selected.id);
    this.dispatchEvent(new Event("change"));
  }

  #handleKey(event) {
    const current = this.#tabs.indexOf(document.activeElement);
    const count = this.#tabs.length;
    const ends = { Home: 0, End: count - 1 };
    const wanted = event.key in TAB_STEPS ? (current + TAB_STEPS[event.key] + count) % count : ends[event.key];
    if (current < 0 || wanted === undefined) return;
    event.preventDefault();
    this.#select(wanted);
    this.#tabs[wanted].focus();
  }
}

const VIEW_TITLES = {
  speak: "svc – speak",
  clone: "svc – clone a voice",
  dictionaries: "svc – pronunciation dictionaries",
};

/** Shows the view that the fragment of the address names, such as #speak. */
export class ViewSwitcher extends EventTarget {
  #current = null;

  constructor() {
    super();
    addEventListener("hashchange", () => this.#update(true));
    this.#update(false);
  }

  show(name) {
    location.hash = name;
  }

  #update(moveFocus) {
    const wanted = location.hash.slice(1);
    if (wanted && !(wanted in VIEW_TITLES)) return; // "#main", of the skip link
    const name = wanted || "speak";
    if (name === this.#current) return;
    this.#current = name;
    document.title = VIEW_TITLES[name];
    for (const view of Object.keys(VIEW_TITLES)) {
      element(view).hidden = view !== name;
      const link = document.querySelector(`.views a[href="#${view}"]`);
      if (view === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (moveFocus) {
      element("main").focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    this.dispatchEvent(new Event("change"));
  }
}
