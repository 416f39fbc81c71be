// What the flame graph page draws, out of stacks that are merged in the browser: trees, and functions with their sums. So choosing by
// label, turning around and one function's callers need no other file.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
// Where data.diff is there, stacks have a second count b, before, and both have theirs by slice.
// Frames are coloured where their share differs by more than sampling error: see shares.js.
const diff = data.diff;
const all = "\n"; // a label's choice
const chosen = {}; // label: value, "" for stacks without it, or all
const choices = { inverted: false, rooted: "", widthsBefore: false }; // rooted: the label whose values stand on the root

function newNode(frame, at, parent) {
  const node = { name: frame.n, kind: frame.k, place: frame.p || "", at, count: 0, inner: new Map(), parent };
  if (diff) {
    node.before = { sum: 0, slices: new Array(diff.before.length).fill(0) };
    node.after = { sum: 0, slices: new Array(diff.after.length).fill(0) };
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
  node.count = (choices.widthsBefore ? node.before : node.after).sum;
}

const shown = () => data.stacks.filter((stack) =>
  Object.keys(chosen).every((key) => chosen[key] === all || ((stack.l || {})[key] ?? "") === chosen[key]));

// treeOf merges what framesOf makes of the stacks, places in data.frames or labels' values; null leaves a stack out.
function treeOf(top, framesOf) {
  for (const stack of shown()) {
    const frames = framesOf(stack);
    if (!frames) continue;
    add(top, stack);
    let node = top;
    for (const at of frames) {
      let next = node.inner.get(at);
      if (!next) {
        next = newNode(data.frames[at] ?? { n: at, k: "label" }, at, node);
        node.inner.set(at, next);
      }
      add(next, stack);
      node = next;
    }
  }
  return top;
}

// wholeTree is what the graph shows: a label's values stand on the root where one was chosen.
const wholeTree = () => treeOf(newNode({ n: "all", k: "c" }, null, null), (stack) => {
  const frames = choices.inverted ? stack.f.toReversed() : stack.f;
  return choices.rooted ? [`${choices.rooted}: ${(stack.l || {})[choices.rooted] ?? "none"}`, ...frames] : frames;
});

// around is a frame with all that called it, and with all that it called; inside of itself it counts once.
function around(at) {
  const one = (part) => treeOf(newNode(data.frames[at], at, null), (stack) => {
    const i = stack.f.indexOf(at);
    return i < 0 ? null : part(stack.f, i);
  });
  return { callers: one((f, i) => f.slice(0, i).reverse()), callees: one((f, i) => f.slice(i + 1)) };
}

// functionsOf has a node for each frame, with what its own code took as self.
function functionsOf() {
  const nodes = new Map();
  for (const stack of shown()) {
    for (const at of new Set(stack.f)) {
      if (!nodes.has(at)) nodes.set(at, { ...newNode(data.frames[at], at, null), self: 0 });
      add(nodes.get(at), stack);
    }
    const own = stack.f.at(-1);
    if (own !== undefined) nodes.get(own).self += diff && choices.widthsBefore ? (stack.b || []).reduce((n, [, c]) => n + c, 0) : stack.c;
  }
  return [...nodes.values()];
}

const nodesOf = (node) => [node, ...[...node.inner.values()].flatMap(nodesOf)];
const depthOf = (node) => 1 + Math.max(0, ...[...node.inner.values()].map(depthOf));

// judge finds by how much each node's share of the root differs, and whether that is more than chance.
function judge(nodes, root) {
  const slices = (side) => nodes.map((node) => node[side].slices);
  const changes = compareShares(slices("before"), slices("after"), root.before.slices, root.after.slices, diff.alpha);
  nodes.forEach((node, i) => { node.change = changes[i]; });
}
