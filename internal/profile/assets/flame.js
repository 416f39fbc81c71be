// The flame graph page: its views, and what its reader chooses.
{
  const element = (id) => document.getElementById(id);
  const graph = element("graph"), told = element("told");
  const row = 17, narrowest = 0.6; // pixels
  const mostValues = 200; // of a label that can be chosen; requests may have thousands
  const kinds = {
    jit: "Lua, compiled", lua: "Lua, interpreted", builtin: "LuaJIT's own functions", c: "C", kernel: "kernel",
    table: "tables", text: "strings", code: "functions", cdata: "C data", other: "other",
  };
  let view = "graph", upwards = false, pattern = null;
  let root, zoomed, functions;
  let middle = null; // the frame whose callers and callees are shown

  // merge has the stacks merged anew, after another choice.
  function merge() {
    root = zoomed = wholeTree();
    functions = functionsOf();
    if (diff) {
      judge(nodesOf(root), root);
      judge(functions, root);
    }
    draw();
  }

  // tint colours a frame by its change: the full colour is a tenth of all samples.
  function tint(box, change) {
    if (!change.distinct) { box.classList.add("same"); return; }
    box.classList.add(change.by > 0 ? "more" : "less");
    box.style.setProperty("--strength", Math.round(100 * Math.min(1, 0.3 + Math.abs(change.by) * 7)) + "%");
  }

  // hue gives each value of a label a colour of its own, the same in every graph.
  function hue(text) {
    let h = 0;
    for (const c of text) h = (h * 31 + c.codePointAt(0)) % 360;
    return h;
  }

  const matches = (node) => node !== root && pattern?.test(node.name + " " + node.place);

  function place(node, x, width, y) {
    const box = document.createElement("div");
    box.className = node.kind;
    if (node.kind === "label") box.style.setProperty("--hue", hue(node.name));
    if (diff) tint(box, node.change);
    if (matches(node)) box.classList.add("found");
    Object.assign(box.style, { left: x + "px", width: width + "px", top: y * row + "px" });
    box.textContent = width > 20 ? node.name : "";
    box.title = describe(node, root);
    box.addEventListener("mouseenter", () => { told.textContent = box.title; });
    box.addEventListener("click", () => {
      if (view === "function") middle = node.at;
      else zoomed = node;
      draw();
    });
    graph.append(box);
    return box;
  }

  // paint draws a node, and what is inside of it a row on by step.
  function paint(node, x, width, y, step) {
    if (width < narrowest) return;
    place(node, x, width, y);
    for (const inner of [...node.inner.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const w = (width * inner.count) / node.count;
      paint(inner, x, w, y + step, step);
      x += w;
    }
  }

  function drawGraph(width) {
    const path = [];
    for (let at = zoomed.parent; at; at = at.parent) path.unshift(at);
    const rows = path.length + depthOf(zoomed);
    graph.style.height = rows * row + "px";
    const first = upwards ? rows - 1 : 0, step = upwards ? -1 : 1;
    path.forEach((node, i) => place(node, 0, width, first + i * step).classList.add("above"));
    paint(zoomed, 0, width, first + path.length * step, step);
  }

  // drawFunction draws one function: what called it above, what it called below.
  function drawFunction(width) {
    if (typeof zoomed.at === "number") middle = zoomed.at;
    zoomed = root;
    if (!functions.some((f) => f.at === middle)) middle = functions.reduce((a, b) => (b.self > a.self ? b : a)).at;
    const { callers, callees } = around(middle);
    if (diff) judge([...nodesOf(callers), ...nodesOf(callees)], root);
    const above = depthOf(callers) - 1;
    graph.style.height = (above + depthOf(callees)) * row + "px";
    paint(callers, 0, width, above, -1);
    paint(callees, 0, width, above, 1);
    told.textContent = describe(callees, root);
  }

  function draw() {
    graph.replaceChildren();
    graph.style.height = "";
    for (const button of element("views").children) button.ariaPressed = button.value === view;
    if (!data.stacks.some((stack) => stack.f.length)) {
      graph.append(Object.assign(document.createElement("p"), { textContent: `No ${unit}: nothing was seen of what this profile is about.` }));
      told.textContent = "";
    } else if (view === "graph") drawGraph(graph.clientWidth);
    else if (view === "table") graph.append(functionTable(functions, root, (f) => !pattern || matches(f), (at) => { middle = at; show("function"); }, draw));
    else if (functions.length) drawFunction(graph.clientWidth);
    found();
  }

  function show(name) {
    view = name;
    draw();
  }

  // found counts the functions that match, and the share of samples that have one.
  function found() {
    let n = 0;
    const visit = (node) => {
      if (matches(node)) n += node.count;
      else node.inner.forEach(visit);
    };
    visit(root);
    const many = functions.filter(matches).length;
    element("found").textContent = pattern ? `${many} function${many === 1 ? "" : "s"}, ${percent(n, root.count)} of the ${unit}` : "";
  }

  function search(text) {
    pattern = null;
    if (text) {
      try { pattern = new RegExp(text, "i"); } catch { pattern = new RegExp(text.replace(/[^\w ]/g, "\\$&"), "i"); }
    }
    draw();
  }

  // labels offers a choice for each label that has several values; to have none counts as one.
  function labels(keys) {
    for (const key of keys) {
      const counts = new Map();
      for (const stack of data.stacks) {
        const value = (stack.l || {})[key] ?? "";
        counts.set(value, (counts.get(value) || 0) + stack.c); // after, of a difference
      }
      if (counts.size < 2) continue;
      const choice = document.createElement("select");
      choice.id = "label-" + key;
      choice.append(new Option("all", all));
      const values = [...counts].sort((a, b) => b[1] - a[1]);
      for (const [value, count] of values.slice(0, mostValues)) choice.append(new Option(`${value || "none"} (${bytes ? size(count) : measured ? time(count) : count})`, value));
      if (values.length > mostValues) choice.append(new Option(`and ${values.length - mostValues} rarer ones`, all));
      chosen[key] = all;
      choice.addEventListener("change", () => { chosen[key] = choice.value; merge(); });
      const label = document.createElement("label");
      label.append(key + " ", choice);
      element("labels").append(label, " ");
    }
  }

  function legend() {
    const used = new Set(data.frames.map((f) => f.k));
    const entries = diff
      ? [["more", "a larger share than before"], ["less", "a smaller one"], ["same", "within the sampling error"]]
      : Object.entries(kinds).filter(([kind]) => used.has(kind));
    for (const [kind, name] of entries) {
      const entry = document.createElement("span");
      entry.append(Object.assign(document.createElement("i"), { className: kind }), name);
      element("legend").append(entry);
    }
  }

  // Within a page of plots that page's button chooses the theme, for all.
  const darkWanted = matchMedia("(prefers-color-scheme: dark)");
  const theme = (dark) => { document.documentElement.dataset.theme = dark ? "dark" : "light"; };
  theme(darkWanted.matches);
  darkWanted.addEventListener("change", (e) => theme(e.matches));
  element("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));
  element("theme").hidden = parent !== window;

  const keys = [...new Set(data.stacks.flatMap((stack) => Object.keys(stack.l || {})))].sort();
  element("rooted").append(new Option("nothing", ""), ...keys.map((key) => new Option(key, key)));
  element("rooted").parentElement.hidden = keys.length === 0;
  element("width").parentElement.hidden = !diff;
  document.querySelector("aside").hidden = !element("report").textContent;

  element("views").addEventListener("click", (e) => { if (e.target.value) show(e.target.value); });
  element("search").addEventListener("input", (e) => search(e.target.value));
  element("inverted").addEventListener("change", (e) => { choices.inverted = e.target.checked; merge(); });
  element("upwards").addEventListener("change", (e) => { upwards = e.target.checked; draw(); });
  element("rooted").addEventListener("change", (e) => { choices.rooted = e.target.value; merge(); });
  element("width").addEventListener("change", (e) => { choices.widthsBefore = e.target.value === "before"; merge(); });
  element("reset").addEventListener("click", () => {
    element("search").value = element("rooted").value = choices.rooted = "";
    element("inverted").checked = choices.inverted = element("upwards").checked = upwards = choices.widthsBefore = false;
    element("width").value = "after";
    for (const choice of document.querySelectorAll("#labels select")) choice.selectedIndex = 0;
    for (const key of Object.keys(chosen)) chosen[key] = all;
    pattern = middle = null;
    view = "graph";
    merge();
  });
  graph.addEventListener("keydown", (e) => { if (e.key === "Escape" && zoomed.parent) { zoomed = zoomed.parent; draw(); } });
  addEventListener("resize", draw);
  legend();
  labels(keys);
  merge();
}
