// The words of the page: amounts, shares, what a frame is; and the table of all functions.
const bytes = data.unit === "bytes"; // of memory
const measured = data.unit === "ns"; // time; else samples
const unit = bytes ? "bytes" : measured ? "time" : "samples";
const mostRows = 300;

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
const percent = (n, of) => (of ? (100 * n) / of : 0).toFixed(1) + " %";
const points = (change) => (change.by < 0 ? "−" : "+") + Math.abs(100 * change.by).toFixed(1) + " points";

function describe(node, root) {
  let text = `${node.name} · ${percent(node.count, root.count)} · ${amount(node.count)}`;
  if (diff) {
    text = `${node.name} · before ${percent(node.before.sum, root.before.sum)} of ${root.before.sum} samples`;
    text += `, after ${percent(node.after.sum, root.after.sum)} of ${root.after.sum} · ${points(node.change)}`;
    if (!node.change.distinct) text += ", which is within the sampling error";
  }
  return node.place ? `${text} · ${node.place}` : text;
}

// columns of the table: title, what it is sorted by, text.
const columns = diff
  ? [["before", (f) => f.before.sum, (f, root) => percent(f.before.sum, root.before.sum)],
    ["after", (f) => f.after.sum, (f, root) => percent(f.after.sum, root.after.sum)],
    ["change", (f) => Math.abs(f.change.by), (f) => (f.change.distinct ? points(f.change) : "may be chance")]]
  : [["self", (f) => f.self, (f, root) => percent(f.self, root.count)],
    ["total", (f) => f.count, (f, root) => percent(f.count, root.count)],
    [unit, (f) => f.count, (f) => (measured ? time(f.count) : bytes ? size(f.count) : f.count)]];
let sorted = diff ? 2 : 0;

// functionTable lists functions, those that a search finds; open is called with the one that is clicked.
function functionTable(functions, root, matches, open, again) {
  const table = document.createElement("table"), head = table.createTHead().insertRow();
  columns.forEach(([title], i) => {
    const cell = head.appendChild(document.createElement("th")), button = cell.appendChild(document.createElement("button"));
    button.textContent = title;
    if (i === sorted) cell.ariaSort = "descending";
    button.addEventListener("click", () => { sorted = i; again(); });
  });
  head.appendChild(document.createElement("th")).textContent = "function";
  const rows = functions.filter(matches).sort((a, b) => columns[sorted][1](b) - columns[sorted][1](a) || (a.name < b.name ? -1 : 1));
  const body = table.createTBody();
  for (const f of rows.slice(0, mostRows)) {
    const row = body.insertRow();
    for (const [, , text] of columns) row.insertCell().textContent = text(f, root);
    const name = row.insertCell(), colour = name.appendChild(document.createElement("i"));
    colour.className = !diff ? f.kind : !f.change.distinct ? "same" : f.change.by > 0 ? "more" : "less";
    name.append(f.name);
    row.title = describe(f, root);
    row.addEventListener("click", () => open(f.at));
  }
  const rest = rows.length - mostRows;
  if (rest > 0) table.createCaption().textContent = `${mostRows} of ${rows.length} functions; a search finds the others`;
  return table;
}
