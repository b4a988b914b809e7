// The two views of the page, each with an address of its own.

const TITLES = { speak: "svc – speak", clone: "svc – clone a voice" };

export class Views extends EventTarget {
  #current = null;

  constructor() {
    super();
    addEventListener("hashchange", () => this.#show(true));
    this.#show(false);
  }

  go(name) {
    location.hash = name;
  }

  #show(moveFocus) {
    const wanted = location.hash.slice(1);
    if (wanted && !(wanted in TITLES)) return; // the link that skips to the page
    const name = wanted || "speak";
    if (name === this.#current) return;
    this.#current = name;
    document.title = TITLES[name];
    for (const each of Object.keys(TITLES)) {
      document.getElementById(each).hidden = each !== name;
      const link = document.querySelector(`.views a[href="#${each}"]`);
      if (each === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (moveFocus) {
      document.getElementById("main").focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    this.dispatchEvent(new CustomEvent("change", { detail: name }));
  }
}
