// The tables beside the map: flows and kinds of frames to select, frames on the air, the selected node.

const FRAMES_LISTED = 3;

// An element with properties and children; texts become text nodes, so names in the data need no escape.
const make = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// Replaces the children of an element if its content, as `key` describes it, has changed.
const fill = (id, key, children) => {
  const target = element(id);
  if (target.dataset.key === key) return;
  target.dataset.key = key;
  target.replaceChildren(...children());
};

// A row with a checkbox that adds `index` to the set `state[name]`, or removes it.
const choiceRow = (state, name, index, ...children) => {
  const input = make("input", { type: "checkbox" });
  input.addEventListener("change", () => {
    if (input.checked) state[name].add(index);
    else state[name].delete(index);
    state.invalidate();
  });
  element(name).append(make("li", {}, make("label", {}, input, ...children)));
  return input;
};
const lineSample = () => {
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of Object.entries({ x2: 26, y1: 5, y2: 5, "stroke-width": 4 })) line.setAttribute(name, value);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.append(line);
  return { svg, line };
};

// Facts about node `n` at the current time, as pairs of a term and a text.
const nodeFacts = (run, state, n) => {
  const node = run.nodes[n];
  const medium = run.media[node.medium];
  const at = positionAt(node, state.time);
  const facts = [["role", `${SHAPES[node.role] || "●"} ${node.role}${isOff(node, state.time) ? ", off" : ""}`]];
  if (medium) {
    const near = run.nodes.filter((other, m) => {
      const [x, y] = positionAt(other, state.time);
      return m !== n && other.medium === node.medium && !isOff(other, state.time) && Math.hypot(x - at[0], y - at[1]) <= medium.receive;
    });
    facts.push(["medium", `${medium.name}: receive ${Math.round(medium.receive)} m, sense ${Math.round(medium.sense)} m`]);
    facts.push(["position", `${at.map((each) => each.toFixed(1)).join(", ")} m`], ["in range", counted(near.length, "node")]);
  }
  const { frames } = run;
  const ampdus = framesBetween(frames, state.time - 1, state.time).filter((i) => frames.from[i] === n && frames.mpdus[i]);
  if (ampdus.length) {
    const sum = (column) => ampdus.reduce((all, i) => all + column[i], 0);
    const [mpdus, arrived] = [sum(frames.mpdus), sum(frames.arrived)];
    facts.push(["last second", `${counted(ampdus.length, "A-MPDU")}, ${(mpdus / ampdus.length).toFixed(1)} MPDUs each, ${((arrived / mpdus) * 100).toFixed(1)} % received`]);
  }
  const association = lastAt(run.associationsOf[n], state.time);
  if (association) {
    const point = run.nodes[association.access_point];
    facts.push(["association", `${association.state}${point ? `, ${point.name}` : ""}, since ${association.t.toFixed(3)} s`]);
  }
  const serving = lastAt(run.servingOf[n], state.time);
  if (serving) facts.push(["cell", `${serving.state === "served" ? nodeName(run, serving.station) : serving.state}, since ${serving.t.toFixed(3)} s`]);
  const served = run.nodes.filter((_, other) => servedBy(run, other, state.time) === n);
  if (node.role === "base station") facts.push(["serves", served.map((other) => other.name).join(", ") || "no terminal"]);
  return facts;
};
const flowStatus = (run, state, f) => {
  const flow = run.flows[f];
  if (state.time < flow.start || state.time > (flow.stop ?? Infinity)) return "not active";
  const route = lastAt(run.routesOf[f], state.time);
  return route && !route.path.length ? "no route" : rateText(goodputAt(run, flow, state.time));
};

const makeTables = (run, state) => {
  const flowRows = run.flows.map((flow, f) => {
    const { svg, line } = lineSample();
    const ends = make("small", {}, `${flow.scheme}, ${nodeName(run, flow.from)} → ${nodeName(run, flow.to)}`);
    const status = make("output");
    return { line, status, input: choiceRow(state, "flows", f, svg, make("span", { className: "name" }, flow.name, ends), status) };
  });
  const kindRows = run.kinds.map((kind, k) => {
    const square = make("span", { className: "square" });
    return { square, input: choiceRow(state, "kinds", k, square, kind) };
  });
  for (const [text, chosen] of run.flows.length > 1 ? [["All", run.flows.keys()], ["None", []]] : []) {
    const flows = [...chosen];
    const button = make("button", { type: "button", textContent: text });
    button.addEventListener("click", () => state.setFlows(flows));
    element("flows-all").append(button, " ");
  }
  element("node").append(new Option("none", "-1"), ...run.nodes.map((node, n) => new Option(node.name, n)));
  element("shapes").textContent = [...new Set(run.nodes.map((node) => node.role))].map((role) => `${SHAPES[role] || "●"} ${role}`).join("  ");

  // Colours the samples of the legends.
  const paint = () => {
    flowRows.forEach(({ line }, f) => {
      line.setAttribute("stroke", flowColour(f, state.theme));
      line.setAttribute("stroke-dasharray", flowDash(f, state.theme).join(" "));
    });
    kindRows.forEach(({ square }, k) => (square.style.background = kindColour(k, state.theme)));
  };
  const frameRow = (i) => {
    const square = make("span", { className: "square" });
    square.style.background = kindColour(run.frames.kind[i], state.theme);
    return make("li", {}, square, `${frameTitle(run, i)}: ${frameFacts(run, i).join(", ")}`);
  };
  const note = (text) => make("li", { className: "note" }, text);
  const updateFrames = () => {
    if (state.fast()) return fill("on-air", "fast", () => [note(`Listed in a pause, or at ${FAST} × real time and slower.`)]);
    const onAir = framesBetween(run.frames, state.time, state.time).filter(state.shows);
    fill("on-air", onAir.join(), () => {
      const rows = onAir.slice(0, FRAMES_LISTED).map(frameRow);
      if (onAir.length > FRAMES_LISTED) rows.push(note(`and ${onAir.length - FRAMES_LISTED} more`));
      return rows.length ? rows : [note("No frame.")];
    });
  };
  const update = () => {
    flowRows.forEach(({ input, status }, f) => {
      input.checked = state.flows.has(f);
      const text = flowStatus(run, state, f);
      if (status.textContent !== text) status.textContent = text;
    });
    kindRows.forEach(({ input }, k) => (input.checked = state.kinds.has(k)));
    updateFrames();
    const facts = state.node >= 0 ? nodeFacts(run, state, state.node) : [];
    fill("node-facts", JSON.stringify(facts), () => facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
    if (element("node").value !== String(state.node)) element("node").value = state.node;
  };
  return { paint, update };
};
