// Canvases that follow their boxes, colours of the theme, and pointer gestures.

// A canvas with the size of its box in CSS pixels and the resolution of the screen.
const surface = (canvas, changed) => {
  const made = { canvas, context: canvas.getContext("2d"), width: 0, height: 0, ratio: 1 };
  new ResizeObserver(() => {
    made.ratio = window.devicePixelRatio || 1;
    made.width = canvas.clientWidth;
    made.height = canvas.clientHeight;
    canvas.width = Math.round(made.width * made.ratio);
    canvas.height = Math.round(made.height * made.ratio);
    changed();
  }).observe(canvas);
  return made;
};

// Starts a drawing: clears the canvas and sets CSS pixels as its unit.
const begin = ({ context, width, height, ratio }) => {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  return context;
};

// A background that is drawn once and kept as an image until its key changes.
const layer = () => {
  const canvas = document.createElement("canvas");
  const kept = { canvas, context: canvas.getContext("2d"), key: null };
  return (target, key, draw) => {
    const { width, height, ratio } = target;
    const full = `${width} ${height} ${ratio} ${key}`;
    if (full !== kept.key) {
      Object.assign(kept, { width, height, ratio, key: full });
      Object.assign(canvas, { width: target.canvas.width, height: target.canvas.height });
      draw(begin(kept));
    }
    if (width && height) target.context.drawImage(canvas, 0, 0, width, height);
  };
};

// The colours of the light or dark theme, from the style sheet.
const readTheme = () => {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const theme = { flows: value("flows").split(/\s+/), kinds: value("kinds").split(/\s+/) };
  for (const name of ["page", "panel", "ink", "soft", "faint", "line", "accent", "lost", "node", "off"]) theme[name] = value(name);
  const lines = ["sent", "good", "received", "allowed", "capacity", "queue", "radio", "down", "late", "choice"];
  theme.lines = Object.fromEntries(lines.map((name) => [name, value(`line-${name}`)]));
  theme.hatch = hatch(theme.panel, 2.2);
  theme.gap = hatch(theme.lost, 1.2);
  theme.nothing = hatch(theme.line, 1.2);
  return theme;
};

// A pattern of diagonal lines.
const hatch = (colour, width) => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 7, height: 7 });
  const context = canvas.getContext("2d");
  Object.assign(context, { strokeStyle: colour, lineWidth: width, lineCap: "square" });
  for (const shift of [-7, 0, 7]) strokeLine(context, shift, 7, shift + 7, 0);
  return context.createPattern(canvas, "repeat");
};

const strokeLine = (context, x0, y0, x1, y1) => {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
};
const fillCircle = (context, x, y, radius) => {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
};
const strokeCircle = (context, x, y, radius) => {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
};

// Text with a rim in the colour of the background, for places with lines.
const haloText = (context, theme, text, x, y, colour = theme.soft) => {
  Object.assign(context, { strokeStyle: theme.panel, fillStyle: colour, lineWidth: 3, lineJoin: "round" });
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
};

const place = (canvas, event) => {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};

// Gestures of pointers on a canvas: `drag(from, to, pointers)` for each movement with a button or a finger down,
// `click(at)` for a press without movement, `hover(at or null, event)`, and `wheel(at, event)`.
const gestures = (canvas, { drag, click, hover, wheel }) => {
  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(canvas, event));
    if (pointers.size === 1) moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const to = place(canvas, event);
    const from = pointers.get(event.pointerId);
    if (!from) return hover && hover(to, event);
    moved += Math.hypot(to.x - from.x, to.y - from.y);
    const others = [...pointers.entries()].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    pointers.set(event.pointerId, to);
    if (moved > 4 || others.length) drag(from, to, others);
  });
  const released = (event) => {
    const known = pointers.delete(event.pointerId);
    if (known && event.type === "pointerup" && moved <= 4 && !pointers.size && click) click(place(canvas, event));
  };
  canvas.addEventListener("pointerup", released);
  canvas.addEventListener("pointercancel", released);
  canvas.addEventListener("pointerleave", (event) => hover && hover(null, event));
  if (wheel) {
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      wheel(place(canvas, event), event);
    }, { passive: false });
  }
};

// The box beside the pointer; `text` is set as text, never as markup.
const showTip = (event, text) => {
  const tip = element("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 4);
  const y = event.clientY + 18 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 8 : event.clientY + 18;
  tip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
};
