// Sliders and lists for the values of the scenario, which change its text.

const shortNumber = (value) => String(Number(value.toPrecision(6)));
const literal = (knob, value) => {
  if (knob.kind === "choice") return value;
  return knob.unit ? `"${shortNumber(value)} ${knob.unit}"` : shortNumber(value);
};
const shownValue = (knob, value) => `${shortNumber(value)} ${knob.unit}`.trim();

// `changed(from, to, text)` replaces a part of the text; `settled()` is called when a value has been chosen.
const makeKnobs = (box, { changed, settled }) => {
  let shape = "";
  let knobs = [];
  const set = (n, value) => {
    const knob = knobs[n];
    const text = literal(knob, value);
    const [from, to] = knob.span;
    changed(from, to, text);
    // Until the text is checked again, the places of the others move along.
    const shift = text.length - (to - from);
    for (const other of knobs) if (other.span[0] > from) other.span = other.span.map((place) => place + shift);
    knob.span = [from, to + shift];
    knob.value = value;
  };
  const makeNumber = (knob, n) => {
    const [min, max, step] = knob.scale;
    const output = make("output");
    const input = make("input", { type: "range", min, max, step });
    input.addEventListener("input", () => {
      set(n, Number(input.value));
      output.textContent = shownValue(knobs[n], knobs[n].value);
    });
    input.addEventListener("change", settled);
    const row = make("label", { className: "knob" }, make("span", {}, knob.label), input, output); // the first control has the label
    return { row, show: ({ value, unit }) => {
      input.value = value;
      output.textContent = shownValue({ unit }, value);
      input.setAttribute("aria-valuetext", output.textContent);
    } };
  };
  const makeChoice = (knob, n) => {
    const select = make("select", {}, ...knob.options.map(([value, title]) => new Option(title, value)));
    select.addEventListener("change", () => {
      set(n, select.value);
      settled();
    });
    return { row: make("label", { className: "knob" }, make("span", {}, knob.label), select), show: ({ value }) => (select.value = value) };
  };
  let rows = [];
  return (found) => {
    // A control keeps the focus, and its scale, while the values stay the same ones.
    const next = JSON.stringify(found.map(({ label, kind, unit, options }) => [label, kind, unit, options]));
    const isFitting = ({ kind, value, scale }, n) => kind !== "number" || (value >= knobs[n].scale[0] && value <= knobs[n].scale[1]);
    const isSame = next === shape && found.every(isFitting);
    knobs = isSame ? found.map((knob, n) => ({ ...knob, scale: knobs[n].scale })) : found;
    if (!isSame) {
      shape = next;
      rows = knobs.map((knob, n) => (knob.kind === "number" ? makeNumber : makeChoice)(knob, n));
      box.replaceChildren(...rows.map(({ row }) => row));
    }
    knobs.forEach((knob, n) => rows[n].show(knob));
  };
};
