// Proposals for the place in the text: keys of the table there, values and tables. The list is one of the text field, which keeps the focus.

const NO_PROPOSAL = "Nothing is proposed here.";

// `ask(place, number)` asks for the proposals; `chosen(from, to, text)` replaces a part of the text.
const makeCompletion = ({ ask, chosen }) => {
  const [area, list, hint] = ["text", "proposals", "hint"].map(element);
  const usual = hint.textContent;
  let asked = 0; // number of the last question
  let shown = null; // the proposals in the list
  let active = 0; // the one that Enter takes
  const close = () => {
    asked += 1; // an answer on its way comes too late
    shown = null;
    list.hidden = true;
    area.removeAttribute("aria-activedescendant");
  };
  const open = () => ask(area.selectionStart, ++asked);
  const activate = (n) => {
    list.children[active]?.setAttribute("aria-selected", false);
    active = (n + list.children.length) % list.children.length;
    const option = list.children[active];
    option.setAttribute("aria-selected", true);
    option.scrollIntoView({ block: "nearest" });
    area.setAttribute("aria-activedescendant", option.id);
  };
  const take = (n) => {
    const { span, after, proposals } = shown;
    close();
    chosen(...span, proposals[n].text + after);
    hint.textContent = usual;
  };
  // Below the place, or above it where there is no room.
  const put = () => {
    const before = area.value.slice(0, shown.span[0]);
    const style = getComputedStyle(area);
    const height = parseFloat(style.lineHeight);
    const row = before.split("\n").length;
    const column = before.length - before.lastIndexOf("\n") - 1;
    list.style.setProperty("--column", column);
    list.style.setProperty("--left", `${area.offsetLeft + parseFloat(style.paddingLeft) - area.scrollLeft}px`);
    const below = area.offsetTop + parseFloat(style.paddingTop) + row * height - area.scrollTop;
    const isBelow = below + list.offsetHeight <= area.offsetTop + area.offsetHeight;
    list.style.top = `${Math.max(isBelow ? below : below - height - list.offsetHeight, 0)}px`;
  };
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
  area.addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey, isComposing } = event;
    if (isComposing) return;
    if (key === " " && ctrlKey) open();
    else if (!shown || ctrlKey || metaKey || altKey) return;
    else if (key === "Escape") close();
    else if (key === "Enter") take(active);
    else if (moves[key]) activate(Math.abs(moves[key]) === 1 ? active + moves[key] : Math.min(Math.max(active + moves[key], 0), list.children.length - 1));
    else return;
    event.preventDefault();
  });
  area.addEventListener("input", () => shown && open());
  area.addEventListener("scroll", () => shown && put());
  for (const type of ["blur", "pointerdown"]) area.addEventListener(type, close);
  // The field keeps the focus when a proposal is pressed.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", ({ target }) => shown && target.closest("li") && take([...list.children].indexOf(target.closest("li"))));
  return {
    open: () => {
      area.focus();
      open();
    },
    close,
    show: ({ number, ...found }) => {
      if (number !== asked) return;
      const count = found.proposals.length;
      hint.textContent = count ? `${count} ${count === 1 ? "proposal" : "proposals"}: arrows and Enter choose, Escape closes.` : NO_PROPOSAL;
      if (!count) {
        close();
        return;
      }
      shown = found;
      list.replaceChildren(
        ...found.proposals.map(({ text, about }, n) => {
          const option = make("li", { id: `proposal-${n}`, role: "option", title: about }, make("code", {}, text), make("span", { className: "note" }, about));
          option.setAttribute("aria-selected", false);
          return option;
        }),
      );
      list.hidden = false;
      activate(0);
      put();
    },
  };
};
