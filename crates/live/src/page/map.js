// The map: nodes, paths, ranges, routes and frames at the current time.

const SHAPES = { "ad hoc": "●", "access point": "▲", client: "■", terminal: "■", "base station": "▼", wired: "◆" };
// Corners of the shapes of roles other than "ad hoc", as multiples of a node's size.
const CORNERS = {
  "access point": [[0, -1.3], [1.25, 0.95], [-1.25, 0.95]],
  client: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  terminal: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  "base station": [[0, 1.3], [1.25, -0.95], [-1.25, -0.95]],
  wired: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
};
const GLOW = 0.25; // seconds on the wall in which a frame fades out after its end, while the run plays
const GLOW_FRAMES = 300;
const RESPONSES = ["ack", "rts", "cts", "control"]; // frames of an exchange around its data

// The dashes of flow `f`: colours repeat after eight flows, with other dashes.
const flowDash = (f, theme) => [[], [9, 5], [2, 5]][Math.floor(f / theme.flows.length) % 3];
const flowColour = (f, theme) => theme.flows[f % theme.flows.length];
const kindColour = (k, theme) => theme.kinds[k % theme.kinds.length];

// The largest group of nodes of which each is within the receive range of another one at the start: distant stations do not squeeze it.
// Cells and their terminals belong to it: they have no range.
const largestGroup = (run) => {
  const reach = Math.max(...run.media.map((medium) => medium.receive), 1);
  const places = run.nodes.map((node) => node.points[0]);
  const groupOf = run.nodes.map(() => -1);
  const groups = [];
  run.nodes.forEach((_, first) => {
    if (groupOf[first] >= 0) return;
    const group = [first];
    groupOf[first] = groups.length;
    for (const n of group) {
      run.nodes.forEach((__, other) => {
        if (groupOf[other] >= 0 || Math.hypot(places[n][1] - places[other][1], places[n][2] - places[other][2]) > reach) return;
        groupOf[other] = groups.length;
        group.push(other);
      });
    }
    groups.push(group);
  });
  const largest = groups.reduce((best, group) => (group.length > best.length ? group : best), []);
  if (largest.length <= run.nodes.length / 2) return new Set(run.nodes.keys());
  const ofCells = run.nodes.flatMap((node, n) => (["base station", "terminal"].includes(node.role) ? [n, node.gateway ?? n] : []));
  return new Set([...largest, ...ofCells]);
};

// The least box around them, everywhere that they go: [left, bottom, right, top].
const extent = (run) => {
  const group = largestGroup(run);
  const points = run.nodes.flatMap((node, n) => (group.has(n) ? node.points.map(([, x, y]) => [x, y]) : []));
  for (const { area } of run.media) if (area) points.push([0, 0], area);
  const include = (box, [x, y]) => [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x), Math.max(box[3], y)];
  return points.reduce(include, [Infinity, Infinity, -Infinity, -Infinity]);
};

const makeMap = (run, state) => {
  const { frames } = run;
  const { invalidate } = state;
  const target = surface(element("map"), () => (moved ? invalidate() : fit()));
  const context = target.context;
  const background = layer();
  const view = { x: 0, y: 0, scale: 1 };
  const wireless = (node) => node.medium !== null && node.medium !== undefined && run.media[node.medium];
  const screen = ([x, y]) => [target.width / 2 + (x - view.x) * view.scale, target.height / 2 - (y - view.y) * view.scale];
  const box = extent(run);
  let moved = false; // the view is not that of `fit`
  let places = []; // of all nodes on the screen, at the current time
  let size = 6; // of the nodes on the screen, in half

  const fitScale = () => {
    const [wide, high] = [box[2] - box[0], box[3] - box[1]];
    const alone = run.media[0] ? 2 * run.media[0].receive : 100; // all nodes at one position
    if (!wide && !high) return Math.min(target.width, target.height) / alone;
    return Math.max(1e-9, Math.min((target.width - 90) / (wide || 1e-9), (target.height - 84) / (high || 1e-9)));
  };
  const fit = () => {
    Object.assign(view, { x: (box[0] + box[2]) / 2, y: (box[1] + box[3]) / 2, scale: fitScale() });
    moved = false;
    invalidate();
  };
  // Zooms by a factor; the position under `at` stays where it is.
  const zoom = (factor, at = { x: target.width / 2, y: target.height / 2 }) => {
    const scale = limit(view.scale * factor, fitScale() / 8, fitScale() * 400);
    view.x += (at.x - target.width / 2) * (1 / view.scale - 1 / scale);
    view.y -= (at.y - target.height / 2) * (1 / view.scale - 1 / scale);
    view.scale = scale;
    moved = true;
    invalidate();
  };
  const pan = (from, to) => {
    view.x -= (to.x - from.x) / view.scale;
    view.y += (to.y - from.y) / view.scale;
    moved = true;
    invalidate();
  };
  const nodeNear = ({ x, y }) => {
    let [best, least] = [-1, 18];
    places.forEach(([px, py], n) => {
      const distance = Math.hypot(px - x, py - y);
      if (distance < least) [best, least] = [n, distance];
    });
    return best;
  };
  gestures(target.canvas, {
    drag: (from, to, others) => {
      if (!others.length) return pan(from, to);
      const [fixed] = others; // the other finger of a pinch
      zoom(Math.hypot(to.x - fixed.x, to.y - fixed.y) / Math.max(1, Math.hypot(from.x - fixed.x, from.y - fixed.y)), fixed);
    },
    click: (at) => state.setNode(nodeNear(at) === state.node ? -1 : nodeNear(at)),
    hover: (at, event) => {
      const found = at ? nodeNear(at) : -1;
      showTip(event, found >= 0 ? `${run.nodes[found].name} (${run.nodes[found].role})` : "");
      target.canvas.style.cursor = found >= 0 ? "pointer" : "";
      state.setHover(found);
    },
    wheel: (at, event) => zoom(Math.exp(-limit(event.deltaY, -100, 100) * 0.003), at),
  });

  // Does not change with time: areas and paths of movement.
  const drawBackground = (c) => {
    c.strokeStyle = state.theme.line;
    for (const { area } of run.media) {
      if (!area) continue;
      const [x, y] = screen([0, area[1]]);
      c.strokeRect(x, y, area[0] * view.scale, area[1] * view.scale);
    }
    c.globalAlpha = run.nodes.length > 60 ? 0.45 : 0.9;
    for (const node of run.nodes) drawPath(c, node);
  };
  const drawPath = (c, node) => {
    if (node.points.length < 2) return;
    c.beginPath();
    for (const [, x, y] of node.points) c.lineTo(...screen([x, y]));
    c.stroke();
  };
  const drawLinks = () => {
    Object.assign(context, { strokeStyle: state.theme.faint, lineWidth: 1.5 });
    for (const { from, to } of run.links) strokeLine(context, ...places[from], ...places[to]);
    context.setLineDash([2, 4]);
    run.associationsOf.forEach((list, n) => {
      const entry = lastAt(list, state.time);
      if (entry && places[entry.access_point] && entry.state === "associated") strokeLine(context, ...places[n], ...places[entry.access_point]);
    });
    drawServing();
    context.setLineDash([]);
  };
  // From each terminal to the cell that serves it; in a gap, from the last one, in the colour of losses.
  const drawServing = () => {
    run.servingOf.forEach((list, n) => {
      const station = servedBy(run, n, state.time);
      const last = station ?? lastAt(list, state.time)?.before;
      if (!places[last]) return;
      context.strokeStyle = station === null ? state.theme.lost : state.theme.accent;
      strokeLine(context, ...places[n], ...places[last]);
    });
  };
  const drawRanges = () => {
    const n = state.hover >= 0 ? state.hover : state.node;
    if (n < 0 || !wireless(run.nodes[n])) return;
    const { receive, sense } = wireless(run.nodes[n]);
    Object.assign(context, { strokeStyle: state.theme.accent, fillStyle: state.theme.accent, lineWidth: 1.5, globalAlpha: 0.06 });
    fillCircle(context, ...places[n], receive * view.scale);
    context.globalAlpha = 1;
    strokeCircle(context, ...places[n], receive * view.scale);
    context.setLineDash([6, 5]);
    strokeCircle(context, ...places[n], sense * view.scale);
    context.setLineDash([]);
    context.globalAlpha = 0.8;
    drawPath(context, run.nodes[n]);
    context.globalAlpha = 1;
  };

  // One hop of a route, beside those of other flows, with an arrow in its middle.
  const drawHop = (from, to, shift) => {
    const sign = from[0] < to[0] || (from[0] === to[0] && from[1] < to[1]) ? 1 : -1; // one side for both directions
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    const [ux, uy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
    const [dx, dy] = [-uy * shift * sign, ux * shift * sign];
    strokeLine(context, from[0] + dx, from[1] + dy, to[0] + dx, to[1] + dy);
    if (length < 30) return;
    const [x, y] = [(from[0] + to[0]) / 2 + dx, (from[1] + to[1]) / 2 + dy];
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x - 5 * ux + 5 * uy, y - 5 * uy - 5 * ux);
    context.lineTo(x + 3 * ux, y + 3 * uy);
    context.lineTo(x - 5 * ux - 5 * uy, y - 5 * uy + 5 * ux);
    context.stroke();
  };
  const drawRoutes = () => {
    const shown = [...state.flows].sort((a, b) => a - b);
    shown.forEach((f, slot) => {
      const route = lastAt(run.routesOf[f], state.time);
      const path = route ? overCells(run, route.path, state.time).filter((n) => places[n]) : [];
      const spread = Math.min(5, 20 / shown.length);
      Object.assign(context, { strokeStyle: flowColour(f, state.theme), lineWidth: 3.5, lineCap: "round", globalAlpha: 0.75 });
      for (let i = 1; i < path.length; i++) {
        context.setLineDash(flowDash(f, state.theme));
        drawHop(places[path[i - 1]], places[path[i]], (slot - (shown.length - 1) / 2) * spread);
      }
      context.setLineDash([]);
      context.lineWidth = 2.5;
      for (const n of [run.flows[f].from, run.flows[f].to]) if (places[n]) strokeCircle(context, ...places[n], size + 4);
    });
    Object.assign(context, { globalAlpha: 1, lineCap: "butt" });
  };

  // The line from sender to receiver with the mark of its outcome.
  const drawTransfer = (i, alpha) => {
    const from = places[frames.from[i]];
    const to = places[frames.to[i]];
    if (!from) return;
    const colour = kindColour(frames.kind[i], state.theme);
    Object.assign(context, { fillStyle: colour, globalAlpha: alpha });
    if (!to) fillCircle(context, ...from, size + 3);
    const length = to ? Math.hypot(to[0] - from[0], to[1] - from[1]) : 0;
    const [markX, markY] = [(to || from)[0] + 13, (to || from)[1] - 13];
    if (length > 1) {
      const stop = Math.max(0, 1 - (size + 3) / length);
      const [x, y] = [from[0] + (to[0] - from[0]) * stop, from[1] + (to[1] - from[1]) * stop];
      Object.assign(context, { strokeStyle: state.theme.panel, lineWidth: 6 });
      if (alpha === 1) strokeLine(context, ...from, x, y); // a rim that sets it off from routes
      Object.assign(context, { strokeStyle: colour, lineWidth: 2.5 });
      context.setLineDash([[6, 4], [], [2, 4]][frames.ok[i]] || []);
      strokeLine(context, ...from, x, y);
      context.setLineDash([]);
      fillCircle(context, x, y, 3.5);
    }
    Object.assign(context, { strokeStyle: state.theme.lost, lineWidth: 2.5 });
    if (frames.ok[i] === 0) {
      strokeLine(context, markX - 5, markY - 5, markX + 5, markY + 5);
      strokeLine(context, markX - 5, markY + 5, markX + 5, markY - 5);
    } else if (frames.ok[i] === 2) strokeCircle(context, markX, markY, 5);
  };
  const drawSender = (i) => {
    const n = frames.from[i];
    const medium = places[n] && wireless(run.nodes[n]);
    if (!medium) return;
    const colour = kindColour(frames.kind[i], state.theme);
    const radius = medium.receive * view.scale;
    const share = state.still ? 1 : Math.min(1, (state.time - frames.start[i]) / (frames.duration[i] || 1));
    Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 2, globalAlpha: 0.1 });
    fillCircle(context, ...places[n], radius);
    context.globalAlpha = 0.8;
    strokeCircle(context, ...places[n], Math.max(size, radius * share));
    context.globalAlpha = 1;
    fillCircle(context, ...places[n], size + 4);
  };
  // Frames that have just ended fade out. They have no rings, which would flicker when the run plays fast, and those
  // around data are left out unless they are lost: they would cover the data.
  const drawGlow = () => {
    const length = Math.min(GLOW * state.speed, 1);
    const newest = firstAfter(frames.start, state.time) - 1;
    const oldest = Math.max(0, newest - GLOW_FRAMES, firstAfter(frames.start, state.time - length - frames.longest));
    for (let i = oldest; i <= newest; i++) {
      const age = Math.max(0, state.time - frames.start[i] - frames.duration[i]);
      const covers = state.fast() && frames.ok[i] === 1 && RESPONSES.includes(run.kinds[frames.kind[i]]);
      if (age < length && state.shows(i) && !covers) drawTransfer(i, 0.7 * (1 - age / length));
    }
  };
  const drawFrames = () => {
    if (state.playing && !state.still) drawGlow();
    if (!state.fast()) {
      const onAir = framesBetween(frames, state.time, state.time).filter(state.shows);
      onAir.forEach(drawSender);
      for (const i of onAir) drawTransfer(i, 1);
    }
    context.globalAlpha = 1;
  };

  const drawNode = (n) => {
    const node = run.nodes[n];
    const [x, y] = places[n];
    const off = isOff(node, state.time);
    const chosen = n === state.node || n === state.hover;
    context.beginPath();
    if (CORNERS[node.role]) {
      for (const [dx, dy] of CORNERS[node.role]) context.lineTo(x + dx * size, y + dy * size);
      context.closePath();
    } else context.arc(x, y, size, 0, 2 * Math.PI);
    Object.assign(context, { fillStyle: off ? state.theme.off : state.theme.node, strokeStyle: chosen ? state.theme.accent : state.theme.panel, lineWidth: chosen ? 3 : 1.5 });
    context.fill();
    context.stroke();
    if (!off) return;
    Object.assign(context, { strokeStyle: state.theme.soft, lineWidth: 1.5 });
    strokeLine(context, x - 8, y + 8, x + 8, y - 8);
  };
  // Nodes beyond the border are named there, with an arrow.
  const drawDistant = () => {
    const rows = new Map();
    places.forEach(([x, y], n) => {
      if (x >= 0 && x <= target.width && y >= 0 && y <= target.height) return;
      const [px, py] = [limit(x, 8, target.width - 8), limit(y, 16, target.height - 30)];
      const key = `${Math.round(px / 60)} ${Math.round(py / 16)}`;
      rows.set(key, [...(rows.get(key) ?? []), { n, px, py }]);
    });
    for (const found of rows.values()) {
      const [{ n, px, py }] = found;
      const arrow = px <= 8 ? "◂ " : px >= target.width - 8 ? "▸ " : py <= 16 ? "▴ " : "▾ ";
      const text = arrow + run.nodes[n].name + (found.length > 1 ? ` and ${found.length - 1} more` : "");
      const wide = context.measureText(text).width;
      haloText(context, state.theme, text, limit(px, 4, target.width - wide - 4), py);
    }
  };
  const nodeLabel = (n) => {
    const { name } = run.nodes[n];
    const entry = lastAt(run.associationsOf[n], state.time);
    const serving = lastAt(run.servingOf[n], state.time);
    const waits = entry && entry.state !== "associated" ? entry.state : serving && serving.state !== "served" ? serving.state : "";
    const suffix = isOff(run.nodes[n], state.time) ? " (off)" : waits && ` (${waits})`;
    return (name.length > 24 ? `${name.slice(0, 23)}…` : name) + suffix;
  };
  // Names below the nodes, the selected node's first; one that would cover a node or another name is left out.
  const drawNames = () => {
    const taken = new Set(); // cells of 8 by 8 pixels
    const cells = (x0, y0, x1, y1) => {
      const found = [];
      for (let column = Math.floor(x0 / 8); column <= x1 / 8; column++) for (let row = Math.floor(y0 / 8); row <= y1 / 8; row++) found.push(column * 1e5 + row);
      return found;
    };
    const occupy = (all) => all.forEach((cell) => taken.add(cell));
    for (const [x, y] of places) occupy(cells(x - 4, y - 4, x + 4, y + 4));
    Object.assign(context, { textAlign: "center", lineWidth: 3, strokeStyle: state.theme.panel, lineJoin: "round" });
    for (const n of [state.hover, state.node, ...run.nodes.keys()]) {
      const [x, y] = places[n] || [-1e3, 0];
      if (x < -40 || y < -20 || x > target.width + 40 || y > target.height + 20) continue;
      const text = nodeLabel(n);
      const half = context.measureText(text).width / 2;
      // The name of a node at the border of the map is not cut off.
      const middle = x < 0 || x > target.width ? x : limit(x, half + 2, target.width - half - 2);
      const wanted = cells(middle - half, y + size + 7, middle + half, y + size + 15);
      if (n !== state.hover && n !== state.node && wanted.some((cell) => taken.has(cell))) continue;
      occupy(wanted);
      context.strokeText(text, middle, y + size + 11);
      context.fillStyle = n === state.node ? state.theme.accent : state.theme.ink;
      context.fillText(text, middle, y + size + 11);
    }
    context.textAlign = "left";
  };
  const drawScale = () => {
    if (!run.nodes.some((node) => node.isPlaced)) return;
    const metres = niceStep(70 / view.scale);
    const [x, y, width] = [12, target.height - 8, metres * view.scale];
    Object.assign(context, { strokeStyle: state.theme.ink, lineWidth: 1.5 });
    context.beginPath();
    for (const [px, py] of [[x, y - 5], [x, y], [x + width, y], [x + width, y - 5]]) context.lineTo(px, py);
    context.stroke();
    haloText(context, state.theme, withUnit(metres, "m"), x + width + 6, y - 3, state.theme.ink);
  };

  const draw = () => {
    begin(target);
    places = run.nodes.map((node) => screen(positionAt(node, state.time)));
    size = limit(0.2 * view.scale * Math.sqrt(((box[2] - box[0]) * (box[3] - box[1])) / run.nodes.length), 3.5, 6) || 6;
    background(target, `${view.x} ${view.y} ${view.scale} ${state.theme.page}`, drawBackground);
    drawRanges();
    drawLinks();
    drawRoutes();
    drawFrames();
    for (const n of run.nodes.keys()) drawNode(n);
    drawNames();
    drawDistant();
    drawScale();
  };
  return { draw, fit, zoom };
};
