// The flame graph page: stacks are merged in the browser, so that choosing by label, zooming and
// turning the graph around need no other file.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const graph = document.getElementById("graph");
  const told = document.getElementById("told");
  const row = 17, narrowest = 0.6; // pixels
  const kinds = {
    jit: "Lua, compiled", lua: "Lua, interpreted", builtin: "LuaJIT's own functions", c: "C", kernel: "kernel",
  };
  const all = "\n", mostValues = 200; // of a label that can be chosen; requests may have thousands
  const chosen = {}; // label: value, "" for stacks without it, or all
  let root, zoomed, pattern = null, inverted = false;

  function merge() {
    const top = { name: "all", kind: "c", place: "", count: 0, inner: new Map(), parent: null };
    for (const stack of data.stacks) {
      const labels = stack.l || {};
      if (Object.keys(chosen).some((key) => chosen[key] !== all && (labels[key] ?? "") !== chosen[key])) continue;
      top.count += stack.c;
      let at = top;
      const frames = inverted ? [...stack.f].reverse() : stack.f;
      for (const n of frames) {
        const frame = data.frames[n];
        const key = frame.n + "\n" + (frame.p || ""); // names are unique in a file only
        let next = at.inner.get(key);
        if (!next) {
          next = { name: frame.n, kind: frame.k, place: frame.p || "", count: 0, inner: new Map(), parent: at };
          at.inner.set(key, next);
        }
        next.count += stack.c;
        at = next;
      }
    }
    root = top;
    zoomed = top;
  }

  function depthOf(node) {
    let deepest = 0;
    for (const inner of node.inner.values()) deepest = Math.max(deepest, depthOf(inner));
    return deepest + 1;
  }

  const time = (samples) => {
    const ns = samples * data.period;
    return ns >= 1e9 ? (ns / 1e9).toFixed(2) + " s" : (ns / 1e6).toFixed(1) + " ms";
  };
  const share = (node) => (root.count ? (100 * node.count) / root.count : 0).toFixed(1) + " %";

  function describe(node) {
    let text = `${node.name} · ${share(node)} · ${node.count} samples, ${time(node.count)}`;
    if (node.place) text += ` · ${node.place}`;
    return text;
  }

  // matches tells whether a search finds the frame. The root is no frame, but all of them.
  const matches = (node) => pattern && node.parent && pattern.test(node.name + " " + node.place);

  function place(node, x, width, y, above) {
    if (width < narrowest) return;
    const box = document.createElement("div");
    box.className = node.kind + (above ? " above" : "");
    if (matches(node)) box.classList.add("found");
    box.style.left = x + "px";
    box.style.width = width + "px";
    box.style.bottom = y + "px";
    box.textContent = width > 20 ? node.name : "";
    box.title = describe(node);
    box.addEventListener("mouseenter", () => { told.textContent = describe(node); });
    box.addEventListener("click", () => { zoomed = node; draw(); });
    graph.append(box);
    if (above) return;
    let at = x;
    for (const inner of [...node.inner.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const w = (width * inner.count) / node.count;
      place(inner, at, w, y + row, false);
      at += w;
    }
  }

  function draw() {
    graph.replaceChildren();
    const width = graph.clientWidth;
    const below = [];
    for (let at = zoomed.parent; at; at = at.parent) below.unshift(at);
    graph.style.height = (below.length + depthOf(zoomed)) * row + "px";
    below.forEach((node, i) => place(node, 0, width, i * row, true));
    if (root.count) place(zoomed, 0, width, below.length * row, false);
    else told.textContent = "No samples.";
    found();
  }

  // found says how many of the samples have a frame that matches.
  function found() {
    const out = document.getElementById("found");
    if (!pattern) { out.textContent = ""; return; }
    let n = 0;
    const visit = (node) => {
      if (matches(node)) n += node.count;
      else node.inner.forEach(visit);
    };
    visit(root);
    out.textContent = `${(root.count ? (100 * n) / root.count : 0).toFixed(1)} % of the samples match`;
  }

  function search(text) {
    pattern = null;
    if (text) {
      try { pattern = new RegExp(text, "i"); } catch { pattern = new RegExp(text.replace(/[^\w ]/g, "\\$&"), "i"); }
    }
    draw();
  }

  // labels offers a choice for each label that has several values; to have none counts as one.
  function labels() {
    const keys = new Set(data.stacks.flatMap((stack) => Object.keys(stack.l || {})));
    for (const key of [...keys].sort()) {
      const counts = new Map();
      for (const stack of data.stacks) {
        const value = (stack.l || {})[key] ?? "";
        counts.set(value, (counts.get(value) || 0) + stack.c);
      }
      if (counts.size < 2) continue;
      const choice = document.createElement("select");
      choice.id = "label-" + key;
      choice.append(new Option("all", all));
      const sorted = [...counts].sort((a, b) => b[1] - a[1]);
      for (const [value, count] of sorted.slice(0, mostValues)) choice.append(new Option(`${value || "none"} (${count})`, value));
      if (sorted.length > mostValues) choice.append(new Option(`and ${sorted.length - mostValues} rarer ones`, all));
      chosen[key] = all;
      choice.addEventListener("change", () => { chosen[key] = choice.value; merge(); draw(); });
      const label = document.createElement("label");
      label.append(key + " ", choice);
      document.getElementById("labels").append(label, " ");
    }
  }

  const used = new Set(data.frames.map((f) => f.k));
  for (const [kind, name] of Object.entries(kinds)) {
    if (!used.has(kind)) continue;
    const entry = document.createElement("span");
    const colour = document.createElement("i");
    colour.className = kind;
    entry.append(colour, name);
    document.getElementById("legend").append(entry);
  }
  document.getElementById("search").addEventListener("input", (e) => search(e.target.value));
  document.getElementById("inverted").addEventListener("change", (e) => { inverted = e.target.checked; merge(); draw(); });
  document.getElementById("reset").addEventListener("click", () => {
    document.getElementById("search").value = "";
    document.getElementById("inverted").checked = inverted = false;
    for (const choice of document.querySelectorAll("#labels select")) choice.selectedIndex = 0;
    for (const key of Object.keys(chosen)) chosen[key] = all;
    pattern = null;
    merge();
    draw();
  });
  graph.addEventListener("keydown", (e) => { if (e.key === "Escape" && zoomed.parent) { zoomed = zoomed.parent; draw(); } });
  addEventListener("resize", draw);
  labels();
  merge();
  draw();
})();
