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
    table: "tables", text: "strings", code: "functions", cdata: "C data", other: "other",
  };
  const bytes = data.unit === "bytes"; // of memory
  const measured = data.unit === "ns"; // time; else samples
  const unit = bytes ? "bytes" : measured ? "time" : "samples";
  // Where data.diff is there, stacks have a second count b, before, and both have theirs by slice.
  // Frames are coloured where their share differs by more than sampling error: see shares.js.
  const diff = data.diff;
  const all = "\n", mostValues = 200; // of a label that can be chosen; requests may have thousands
  const chosen = {}; // label: value, "" for stacks without it, or all
  let root, zoomed, pattern = null, inverted = false;
  let rooted = ""; // the label whose values stand on the root; "": none
  let widthsBefore = false; // of a difference
  let nodes = []; // of a difference: all of the graph

  function newNode(name, kind, place, parent) {
    const node = { name, kind, place, count: 0, inner: new Map(), parent };
    if (diff) {
      node.before = { sum: 0, slices: new Array(diff.before.length).fill(0) };
      node.after = { sum: 0, slices: new Array(diff.after.length).fill(0) };
      nodes.push(node);
    }
    return node;
  }

  function add(node, stack) {
    if (!diff) { node.count += stack.c; return; }
    for (const [side, slices] of [[node.before, stack.b], [node.after, stack.a]]) {
      for (const [slice, n] of slices || []) {
        side.slices[slice] += n;
        side.sum += n;
      }
    }
    node.count = (widthsBefore ? node.before : node.after).sum;
  }

  // framesOf is what stands on the root for a stack: a label's value first, where one was chosen.
  function framesOf(stack) {
    const frames = stack.f.map((n) => data.frames[n]);
    if (inverted) frames.reverse();
    if (rooted) frames.unshift({ n: `${rooted}: ${(stack.l || {})[rooted] ?? "none"}`, k: "label" });
    return frames;
  }

  function merge() {
    nodes = [];
    const top = newNode("all", "c", "", null);
    for (const stack of data.stacks) {
      const labels = stack.l || {};
      if (Object.keys(chosen).some((key) => chosen[key] !== all && (labels[key] ?? "") !== chosen[key])) continue;
      add(top, stack);
      let at = top;
      for (const frame of framesOf(stack)) {
        const key = frame.n + "\n" + (frame.p || ""); // names are unique in a file only
        let next = at.inner.get(key);
        if (!next) {
          next = newNode(frame.n, frame.k, frame.p || "", at);
          at.inner.set(key, next);
        }
        add(next, stack);
        at = next;
      }
    }
    root = top;
    zoomed = top;
    if (diff) judge();
  }

  // judge finds by how much each frame's share differs, and whether that is more than chance.
  function judge() {
    const slices = (side) => nodes.map((node) => node[side].slices);
    const changes = compareShares(slices("before"), slices("after"), root.before.slices, root.after.slices, diff.alpha);
    nodes.forEach((node, i) => { node.change = changes[i]; });
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
  const size = (n) => {
    if (n >= 1e9) return (n / 1e9).toFixed(2) + " GB";
    if (n >= 1e6) return (n / 1e6).toFixed(2) + " MB";
    return n >= 1e4 ? (n / 1e3).toFixed(1) + " kB" : n + " B";
  };
  const amount = (n) => (measured ? time(n) : bytes ? size(n) : `${n} samples, ${time(n)}`);
  const share = (node) => (root.count ? (100 * node.count) / root.count : 0).toFixed(1) + " %";

  // tint colours a frame by its change: the full colour is a tenth of all samples.
  function tint(box, node) {
    const change = node.change;
    if (!change.distinct) { box.classList.add("same"); return; }
    box.classList.add(change.by > 0 ? "more" : "less");
    box.style.setProperty("--strength", Math.round(100 * Math.min(1, 0.3 + Math.abs(change.by) * 7)) + "%");
  }

  const percent = (n, of) => (of ? (100 * n) / of : 0).toFixed(1) + " %";

  function describeDiff(node) {
    const change = node.change;
    const points = (change.by < 0 ? "−" : "+") + Math.abs(100 * change.by).toFixed(1) + " points";
    let text = `${node.name} · before ${percent(node.before.sum, root.before.sum)} of ${root.before.sum} samples`;
    text += `, after ${percent(node.after.sum, root.after.sum)} of ${root.after.sum} · `;
    text += change.distinct ? points : `${points}, which is within the sampling error`;
    return node.place ? `${text} · ${node.place}` : text;
  }

  // hue gives each value of a label a colour of its own, the same in every graph.
  function hue(text) {
    let h = 0;
    for (const c of text) h = (h * 31 + c.codePointAt(0)) % 360;
    return h;
  }

  function describe(node) {
    if (diff) return describeDiff(node);
    let text = `${node.name} · ${share(node)} · ${amount(node.count)}`;
    if (node.place) text += ` · ${node.place}`;
    return text;
  }

  // matches tells whether a search finds the frame. The root is no frame, but all of them.
  const matches = (node) => pattern && node.parent && pattern.test(node.name + " " + node.place);

  function place(node, x, width, y, above) {
    if (width < narrowest) return;
    const box = document.createElement("div");
    box.className = node.kind + (above ? " above" : "");
    if (node.kind === "label") box.style.setProperty("--hue", hue(node.name));
    if (diff) tint(box, node);
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
    else told.textContent = `No ${unit}.`;
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
    out.textContent = `${(root.count ? (100 * n) / root.count : 0).toFixed(1)} % of the ${unit} match`;
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
        counts.set(value, (counts.get(value) || 0) + stack.c); // after, of a difference
      }
      if (counts.size < 2) continue;
      const choice = document.createElement("select");
      choice.id = "label-" + key;
      choice.append(new Option("all", all));
      const sorted = [...counts].sort((a, b) => b[1] - a[1]);
      for (const [value, count] of sorted.slice(0, mostValues)) choice.append(new Option(`${value || "none"} (${bytes ? size(count) : measured ? time(count) : count})`, value));
      if (sorted.length > mostValues) choice.append(new Option(`and ${sorted.length - mostValues} rarer ones`, all));
      chosen[key] = all;
      choice.addEventListener("change", () => { chosen[key] = choice.value; merge(); draw(); });
      const label = document.createElement("label");
      label.append(key + " ", choice);
      document.getElementById("labels").append(label, " ");
    }
  }

  // roots offers to let each value of a label stand on the root.
  function roots() {
    const keys = [...new Set(data.stacks.flatMap((stack) => Object.keys(stack.l || {})))].sort();
    const choice = document.getElementById("rooted");
    choice.append(new Option("nothing", ""), ...keys.map((key) => new Option(key, key)));
    choice.addEventListener("change", () => { rooted = choice.value; merge(); draw(); });
    choice.parentElement.hidden = keys.length === 0;
  }

  function legend() {
    const used = new Set(data.frames.map((f) => f.k));
    const entries = diff
      ? [["more", "a larger share than before"], ["less", "a smaller one"], ["same", "within the sampling error"]]
      : Object.entries(kinds).filter(([kind]) => used.has(kind));
    for (const [kind, name] of entries) {
      const entry = document.createElement("span");
      const colour = document.createElement("i");
      colour.className = kind;
      entry.append(colour, name);
      document.getElementById("legend").append(entry);
    }
  }

  document.getElementById("search").addEventListener("input", (e) => search(e.target.value));
  document.getElementById("inverted").addEventListener("change", (e) => { inverted = e.target.checked; merge(); draw(); });
  document.getElementById("width").addEventListener("change", (e) => { widthsBefore = e.target.value === "before"; merge(); draw(); });
  document.getElementById("width").parentElement.hidden = !diff;
  document.getElementById("reset").addEventListener("click", () => {
    document.getElementById("search").value = "";
    document.getElementById("inverted").checked = inverted = false;
    document.getElementById("rooted").value = rooted = "";
    document.getElementById("width").value = "after";
    widthsBefore = false;
    for (const choice of document.querySelectorAll("#labels select")) choice.selectedIndex = 0;
    for (const key of Object.keys(chosen)) chosen[key] = all;
    pattern = null;
    merge();
    draw();
  });
  graph.addEventListener("keydown", (e) => { if (e.key === "Escape" && zoomed.parent) { zoomed = zoomed.parent; draw(); } });
  addEventListener("resize", draw);
  legend();
  labels();
  roots();
  merge();
  draw();
})();
