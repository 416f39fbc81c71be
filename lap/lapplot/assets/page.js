const figure = JSON.parse(document.getElementById("figure").textContent);
const hidden = (figure.names ?? []).map(() => false);
const plots = [];

const make = (tag, parent, text, className) => {
  const e = document.createElement(tag);
  if (text != null) e.textContent = text;
  if (className) e.className = className;
  return parent.appendChild(e);
};

// Colours by use, as in theme.go: paper, text, muted, grid, then the series'.
const darkWanted = matchMedia("(prefers-color-scheme: dark)");
let dark = darkWanted.matches; // read once: reading it later may swallow the change event
const ink = i => (dark ? figure.dark : figure.light)[i];
const hue = name => ink(4 + name % figure.hues);
const dashes = [[], [7, 4], [2, 3]];
const dash = name => dashes[Math.floor(name / figure.hues) % 3];

function setTheme() {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.querySelectorAll(".swatch").forEach(s => { s.style.borderTopColor = hue(+s.dataset.name); });
  plots.forEach(p => p.redraw(false));
  for (const frame of document.querySelectorAll("iframe")) {
    const inner = frame.contentDocument?.documentElement;
    if (inner) inner.dataset.theme = document.documentElement.dataset.theme;
  }
}

function swatch(parent, name) {
  const s = make("span", parent, null, "swatch" + ["", " dash", " dot"][Math.floor(name / figure.hues) % 3]);
  s.dataset.name = name;
  s.style.borderTopColor = hue(name);
}

// nearest is the place in ascending xs of the one nearest to x; of steps, the one before.
function nearest(s, x) {
  let low = 0, high = s.x.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (s.x[mid] <= x) low = mid + 1; else high = mid;
  }
  if (s.style == "steps") return low - 1;
  if (low > 0 && (low == s.x.length || x - s.x[low - 1] < s.x[low] - x)) low--;
  return low;
}

const lowOf = (s, i) => (s.low ?? s.y)[i];
const highOf = (s, i) => (s.high ?? s.y)[i];

// spanOfY is what the series that are shown reach between two ends of x. Pale ones count up
// to twice what the others reach.
function spanOfY(chart, from, to) {
  let low = Infinity, high = -Infinity, least = Infinity;
  for (const pale of [false, true]) {
    const bottom = pale && low <= high ? low / 2 : -Infinity, top = pale && low <= high ? 2 * high : Infinity;
    for (const s of chart.series) {
      if (hidden[s.name] || !!s.pale != pale) continue;
      const first = Math.max(0, nearest(s, from) - 1), last = Math.min(s.x.length - 1, nearest(s, to) + 1);
      for (let i = first; i <= last; i++) {
        if (s.y[i] == null || s.style != "steps" && (s.x[i] < from || s.x[i] > to)) continue;
        for (const y of [lowOf(s, i), s.y[i], highOf(s, i)]) {
          if (y < bottom || y > top) continue;
          low = Math.min(low, y); high = Math.max(high, y);
          if (y > 0) least = Math.min(least, y);
        }
      }
      if (s.filled) low = Math.min(low, 0);
    }
  }
  if (low > high) return [chart.y.low, chart.y.high];
  if (chart.y.scale == "log") {
    low = Math.max(low, least); high = Math.max(high, least);
    if (!isFinite(low)) return [chart.y.low, chart.y.high];
    const room = Math.max((high / low) ** 0.04, 1.05);
    return [low / room, high * room];
  }
  const wide = high - low > 1e-9 * Math.abs(high) ? high - low : Math.abs(high) / 10 || 1;
  return [low >= 0 && low < 0.4 * high ? 0 : low - wide * 0.04, high + wide * 0.04];
}

// under is the place of the point of a series that lies below the cursor, or -1.
function under(u, s) {
  const far = (a, b) => Math.abs(a - b) > 7;
  const { left, top } = u.cursor, { min, max } = u.scales.y;
  return s.x.findIndex((x, i) => s.y[i] != null && !far(u.valToPos(x, "x"), left)
    && !far(u.valToPos(Math.max(min, Math.min(max, s.y[i])), "y"), top));
}

// cellAt is the cell of a heat map that lies below the cursor, or -1.
function cellAt(u, s, x) {
  const y = u.posToVal(u.cursor.top, "y");
  return s.x.findIndex((from, i) => from <= x && x < from + s.width && lowOf(s, i) <= y && y < highOf(s, i));
}

// hoverText fills the box beside the cursor with what is near x. Dots that do not count are
// told when the cursor is upon them.
function hoverText(box, u, chart, x) {
  box.textContent = "";
  make("div", box, (chart.x.labels || chart.x.scale == "tail" ? "" : chart.x.title + " ") + show(chart.x, x, 4), "at");
  const near = 6 * (u.scales.x.max - u.scales.x.min) / u.over.clientWidth;
  for (const s of chart.series) {
    if (hidden[s.name]) continue;
    const i = s.style == "cells" ? cellAt(u, s, x) : s.style == "dots" && s.pale ? under(u, s) : nearest(s, x);
    if (i >= 0 && i < s.x.length && s.y[i] != null) {
      const row = make("div", box);
      swatch(row, s.name);
      make("b", row, show(chart.y, s.y[i], 4));
      if (highOf(s, i) > lowOf(s, i)) {
        make("span", row, ` ${show(chart.y, lowOf(s, i), 3)} – ${show(chart.y, highOf(s, i), 3)}`, "more");
      }
      make("span", row, "  " + figure.names[s.name]);
      if (s.labels?.[i] != null) make("div", box, s.texts[s.labels[i]], "more");
    }
    for (const m of s.marks ?? []) {
      if (Math.abs(m.x - x) > near) continue;
      make("div", box, `${signTexts[m.kind % 4]} ${m.label || chart.kinds[m.kind]}`, "more");
      break;
    }
  }
}

function addChart(chart) {
  const section = make("section", document.querySelector("main"));
  make("h2", section, chart.title);
  for (const note of chart.notes ?? []) make("p", section, note);
  if (chart.kinds?.length) {
    const kinds = make("p", section, null, "kinds");
    chart.kinds.forEach((kind, i) => make("span", kinds, signTexts[i % 4] + " " + kind));
  }
  const place = make("div", section, null, "chart");
  const reset = make("button", place, "Show all", "reset");
  reset.hidden = true;

  const strips = strip * (chart.kinds?.length ?? 0);
  const axis = (a, side, space) => {
    const most = u => Math.max(2, Math.floor((side == 3 ? u.height - 62 : u.width - 78) / space));
    return {
      side, label: a.title, labelFont: "13px system-ui, sans-serif", font: "12px system-ui, sans-serif", labelSize: 26,
      size: side == 3 ? 78 : 36, gap: 6, space,
      stroke: () => ink(2), grid: { stroke: () => ink(3), width: 1 }, ticks: { show: false },
      filter: (u, splits) => splits, // uPlot's own would leave out all but powers of ten
      splits: (u, _, low, high) => ticks(a, low, high, most(u)).map(t => t[0]),
      values: (u, splits) => {
        const { min, max } = u.scales[side == 3 ? "y" : "x"];
        const texts = new Map(ticks(a, min, max, most(u)));
        return splits.map(x => texts.get(x) ?? "");
      },
    };
  };
  const places = chart.series.flatMap(s => s.x.length ? [s.x[0], s.x[s.x.length - 1]] : []);
  const extent = [Math.min(...places), Math.max(...places)];
  const rangeX = (u, low, high) => {
    const all = low == null || low <= extent[0] && high >= extent[1] || low == high;
    reset.hidden = all;
    return all ? [chart.x.low, chart.x.high] : [low, high];
  };
  const rangeY = u => {
    const { min, max } = u.scales.x;
    const [low, high] = spanOfY(chart, min ?? chart.x.low, max ?? chart.x.high);
    if (!strips) return [low, high];
    const share = strips / (320 - strips); // room for the marks
    return chart.y.scale == "log" ? [low / (high / low) ** share, high] : [low - (high - low) * share, high];
  };
  const distr = scale => scale == "linear" ? 1 : 3;
  const box = make("div", place, null, "hover");
  box.hidden = true;
  const tables = chart.series.map(s => [s.x, s.y]);
  const size = () => ({ width: Math.max(320, place.clientWidth), height: 380 });
  const u = new uPlot({
    ...size(),
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
    scales: {
      x: { time: false, distr: distr(chart.x.scale), range: rangeX },
      y: { distr: distr(chart.y.scale), range: rangeY },
    },
    axes: [axis(chart.x, 2, 90), axis(chart.y, 3, 46)],
    series: [{}, ...chart.series.map(s => ({ label: figure.names[s.name], paths: () => null, points: { show: false } }))],
    hooks: {
      draw: [u => paint(u, chart)],
      setCursor: [u => {
        const { left, top } = u.cursor;
        box.hidden = !(left >= 0);
        if (box.hidden) return;
        hoverText(box, u, chart, u.posToVal(left, "x"));
        const at = u.over.offsetLeft + left;
        const right = at + 16 + box.offsetWidth > place.clientWidth;
        box.style.left = (right ? Math.max(0, at - 16 - box.offsetWidth) : at + 16) + "px";
        box.style.top = u.over.offsetTop + Math.max(0, top - box.offsetHeight - 8) + "px";
      }],
    },
  }, uPlot.join(tables), place);
  reset.onclick = () => u.setScale("x", { min: chart.x.low, max: chart.x.high });
  new ResizeObserver(() => { if (u.width != size().width) u.setSize(size()); }).observe(place);
  plots.push(u);
}

function link(parent, cell) {
  const e = make(cell.link ? "a" : "span", parent, cell.text);
  if (cell.link) e.href = cell.link;
}

function addTable(table) {
  const section = make("section", document.querySelector("main"));
  make("h2", section, table.title);
  if (table.note) make("p", section, table.note);
  const t = make("table", make("div", section, null, "table"));
  const row = (cells, tag) => {
    const r = make("tr", t);
    cells.forEach((cell, i) => link(make(tag, r, null, table.right?.includes(i) ? "right" : ""), cell));
  };
  row(table.headers.map(text => ({ text })), "th");
  for (const cells of table.rows) row(cells, "td");
}

function addKeys() {
  const keys = document.getElementById("keys");
  figure.names?.forEach((name, i) => {
    const key = make("button", keys);
    swatch(key, i);
    make("span", key, name);
    key.setAttribute("aria-pressed", "true");
    key.onclick = () => {
      hidden[i] = !hidden[i];
      key.setAttribute("aria-pressed", String(!hidden[i]));
      plots.forEach(u => { const { min, max } = u.scales.x; u.setScale("x", { min, max }); u.redraw(false, true); });
    };
  });
  const theme = make("button", keys, "Light / dark", "theme");
  theme.onclick = () => { dark = !dark; setTheme(); };
}

document.querySelector("h1").textContent = figure.title;
document.querySelector("h1").hidden = !figure.title;
document.getElementById("report").textContent = figure.report ?? "";
document.getElementById("report").hidden = !figure.report;
for (const note of figure.notes ?? []) make("p", document.getElementById("notes"), note);
addKeys();
setTheme();
(figure.charts ?? []).forEach(addChart);
figure.tables?.forEach(addTable);
document.querySelector("body > footer").hidden = !figure.charts;
if (figure.up) {
  Object.assign(document.getElementById("up"), { textContent: figure.up.text, href: figure.up.link, hidden: false });
}
darkWanted.onchange = e => { dark = e.matches; setTheme(); };

// Pages within this one are as high as what they show.
for (const frame of document.querySelectorAll("iframe")) {
  const fit = () => {
    const shown = frame.contentDocument?.documentElement;
    if (!shown) return;
    frame.style.height = "0"; // or what it shows is as high as it was
    frame.style.height = Math.min(4000, shown.scrollHeight + 2) + "px";
  };
  addEventListener("resize", fit);
  frame.addEventListener("load", () => { setTheme(); fit(); });
  fit();
}
