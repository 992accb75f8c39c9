"use strict";
// The text of the scenario, with the numbers of its lines and the place of an error.

const element = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

const makeEditor = (edited) => {
  const [area, lines, problem] = ["text", "lines", "problem"].map(element);
  let [numbered, marked] = ["", 0];
  const number = () => {
    const count = area.value.split("\n").length;
    const key = `${count} ${marked}`;
    if (key === numbered) return;
    numbered = key;
    lines.replaceChildren(...Array.from({ length: count }, (_, n) => (n + 1 === marked ? make("b", {}, `${n + 1}\n`) : `${n + 1}\n`)));
    lines.scrollTop = area.scrollTop;
  };
  area.addEventListener("scroll", () => (lines.scrollTop = area.scrollTop));
  area.addEventListener("input", () => {
    number();
    edited();
  });
  return {
    get text() {
      return area.value;
    },
    set text(text) {
      area.value = text;
      area.scrollTop = 0;
      number();
    },
    replace: (from, to, text) => {
      area.setRangeText(text, from, to, "preserve");
      number();
    },
    // Writes a part as if it were typed: with its event, and so that it can be undone.
    write: (from, to, text) => {
      area.setSelectionRange(from, to);
      document.execCommand("insertText", false, text);
    },
    // Shows an error of the command at its line; none without a message.
    complain: (message, line) => {
      const isNew = line !== marked;
      marked = message ? line : 0;
      problem.hidden = !message;
      problem.textContent = message ? (line ? `Line ${line}: ${message}` : message) : "";
      area.setAttribute("aria-invalid", Boolean(message));
      number();
      const height = area.scrollHeight / area.value.split("\n").length;
      const isAway = line * height < area.scrollTop || line * height > area.scrollTop + area.clientHeight;
      if (message && line && isNew && isAway) area.scrollTop = (line - 5) * height;
    },
  };
};
