// The page apart from its charts: light or dark, filters, what is collapsed.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Light or dark: the system's choice until the button is used.
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => {
    try { return localStorage.getItem("whimbrel-theme"); } catch { return null; }
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const changed = () => document.dispatchEvent(new CustomEvent("themechange"));
  if (remembered()) root.dataset.theme = remembered();
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("whimbrel-theme", root.dataset.theme); } catch { /* local files may not store settings */ }
    changed();
  });
  system.addEventListener("change", () => { if (!root.dataset.theme) changed(); });
  window.whimbrelIsDark = isDark;

  // The contents stand beside the page where it is wide, and are collapsed above it where it is not.
  const contents = document.querySelector(".contents details");
  const wide = window.matchMedia("(min-width: 72rem)");
  const place = () => {
    contents.open = wide.matches;
    contents.dataset.placed = "";
  };
  wide.addEventListener("change", place);
  place();
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && !wide.matches) contents.open = false;
  });

  // A link into something collapsed opens it.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let each = target.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
    if (target.matches("article")) target.querySelector("details").open = true;
    if (target.hidden || target.closest("[hidden]")) form.reset();
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);

  // Paper shows everything.
  const opened = [];
  window.addEventListener("beforeprint", () => all("main details:not([open])").forEach((each) => {
    each.open = true;
    opened.push(each);
  }));
  window.addEventListener("afterprint", () => opened.splice(0).forEach((each) => { each.open = false; }));

  const form = document.getElementById("filters");
  form.hidden = false;
  const items = all("article.item");
  const claims = all("li[data-verdict]");
  const lists = all(".claim-list");
  const shown = document.getElementById("shown");
  let before = new Map();

  const filter = () => {
    const given = new FormData(form);
    const verdicts = new Set(given.getAll("verdict"));
    const boxes = all("input[name=verdict]", form).length;
    const source = given.get("source") || "";
    const item = given.get("item") || "";
    const words = (given.get("words") || "").trim().toLowerCase().split(/\s+/).filter(Boolean);
    const byClaim = verdicts.size < boxes || source !== "";
    const filtered = byClaim || item !== "" || words.length > 0;
    const has = (element) => words.every((word) => element.textContent.toLowerCase().includes(word));

    const passing = new Set(claims.filter((claim) => verdicts.has(claim.dataset.verdict)
      && (!source || claim.dataset.source === source)
      && (!item || claim.dataset.items.split(" ").includes(item))));
    const found = new Set([...passing].filter((claim) => !words.length || has(claim)));
    claims.forEach((claim) => { claim.hidden = !found.has(claim); });

    const ids = new Set([...found].map((claim) => claim.id));
    let count = 0;
    for (const article of items) {
      const links = all("[data-claim]", article);
      links.forEach((link) => { link.hidden = byClaim && !passing.has(document.getElementById(link.dataset.claim)); });
      const touched = links.some((link) => ids.has(link.dataset.claim));
      const title = article.querySelector("h3");
      article.hidden = (item !== "" && article.id !== item) || (byClaim && !touched)
        || (words.length > 0 && !touched && !has(title));
      count += article.hidden ? 0 : 1;
      const tally = article.querySelector(".tally");
      if (tally && byClaim) tally.open = true;
      else if (tally && !filtered) tally.open = false;
    }
    for (const group of all(".claim-list details.group")) {
      const any = all("li[data-verdict]", group).some((claim) => !claim.hidden);
      group.hidden = !any;
      // What is looked for is shown; afterwards groups are as they were.
      if (filtered && !before.has(group)) before.set(group, group.open);
      if (filtered) group.open = any;
    }
    if (!filtered) {
      before.forEach((open, group) => { group.open = open; });
      before = new Map();
    }
    lists.forEach((list) => { list.hidden = !all("details.group", list).some((group) => !group.hidden); });
    all("[data-item]").forEach((line) => {
      line.hidden = document.getElementById(line.dataset.item).hidden;
    });
    shown.textContent = filtered
      ? `${count} of ${items.length} tables and figures, ${found.size} of ${claims.length} claims` : "";
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  filter();

  const fold = document.getElementById("fold");
  fold.addEventListener("click", () => {
    const folded = fold.getAttribute("aria-pressed") !== "true";
    fold.setAttribute("aria-pressed", String(folded));
    fold.textContent = folded ? "Expand items" : "Collapse items";
    all("details.fold").forEach((each) => { each.open = !folded; });
  });
  reveal();
})();
