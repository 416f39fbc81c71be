// paint draws a chart's series onto uPlot's canvas, as series.go does.
function paint(u, chart) {
  const ctx = u.ctx, { left, top, width, height } = u.bbox, ratio = uPlot.pxRatio;
  const X = x => u.valToPos(x, "x", true);
  const { min, max } = u.scales.y;
  const Y = y => u.valToPos(Math.max(min, Math.min(max, y)), "y", true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top - 3 * ratio, width, height + 6 * ratio); // dots at the edge are whole
  ctx.clip();
  ctx.lineJoin = "round";
  for (const pale of [true, false]) {
    for (const s of chart.series) {
      if (!!s.pale != pale || hidden[s.name]) continue;
      ctx.globalAlpha = pale ? 0.35 : 1;
      ctx.strokeStyle = ctx.fillStyle = hue(s.name);
      ctx.lineWidth = 1.5 * ratio;
      ctx.setLineDash(dash(s.name).map(d => d * ratio));
      if (s.style == "cells") cells(ctx, s, X, Y);
      else if (s.style == "dots") scattered(ctx, s, X, Y, ratio);
      else for (const run of runs(s)) (s.style == "steps" ? steps : line)(ctx, s, run, X, Y, ratio);
    }
  }
  ctx.restore();
  marks(u, chart, X, ratio);
}

// runs are the stretches [first, last] of a series between gaps.
function runs(s) {
  const found = [];
  let first = 0;
  for (let i = 0; i <= s.y.length; i++) {
    if (i < s.y.length && s.y[i] != null) continue;
    if (i > first) found.push([first, i - 1]);
    first = i + 1;
  }
  return found;
}

function trace(ctx, s, [first, last], of, X, Y) {
  ctx.beginPath();
  for (let i = first; i <= last; i++) ctx.lineTo(X(s.x[i]), Y(of(s, i)));
}

function line(ctx, s, run, X, Y, ratio) {
  const [first, last] = run, alpha = ctx.globalAlpha;
  if (first == last) {
    disc(ctx, X(s.x[first]), Y(s.y[first]), 2 * ratio);
  }
  if (s.low) {
    ctx.save();
    ctx.setLineDash([]);
    trace(ctx, s, run, highOf, X, Y);
    for (let i = last; i >= first; i--) ctx.lineTo(X(s.x[i]), Y(lowOf(s, i)));
    ctx.closePath();
    ctx.globalAlpha = alpha * 0.25;
    ctx.fill();
    ctx.globalAlpha = alpha * 0.6;
    ctx.lineWidth = 0.75 * ratio;
    for (const of of [lowOf, highOf]) { trace(ctx, s, run, of, X, Y); ctx.stroke(); }
    ctx.restore();
  }
  trace(ctx, s, run, (s, i) => s.y[i], X, Y);
  ctx.stroke();
}

function steps(ctx, s, [first, last], X, Y) {
  const path = () => {
    ctx.beginPath();
    if (s.filled) ctx.lineTo(X(s.x[first]), Y(0));
    for (let i = first; i <= last; i++) {
      if (i > first) ctx.lineTo(X(s.x[i]), Y(s.y[i - 1]));
      ctx.lineTo(X(s.x[i]), Y(s.y[i]));
    }
  };
  if (s.filled) {
    const alpha = ctx.globalAlpha;
    path();
    ctx.lineTo(X(s.x[last]), Y(0));
    ctx.globalAlpha = alpha * 0.2;
    ctx.fill();
    ctx.globalAlpha = alpha;
  }
  path();
  ctx.stroke();
}

function scattered(ctx, s, X, Y, ratio) {
  const alpha = ctx.globalAlpha, radius = (s.x.length > 200 || s.pale ? 1.5 : 3) * ratio;
  ctx.setLineDash([]);
  s.x.forEach((x, i) => {
    if (s.y[i] == null) return;
    if (highOf(s, i) > lowOf(s, i)) {
      ctx.globalAlpha = alpha * 0.6;
      ctx.beginPath();
      ctx.moveTo(X(x), Y(lowOf(s, i)));
      ctx.lineTo(X(x), Y(highOf(s, i)));
      ctx.stroke();
      ctx.globalAlpha = alpha;
    }
    disc(ctx, X(x), Y(s.y[i]), radius);
  });
}

// cells fills the rectangles of a heat map; one that holds anything is never invisible.
function cells(ctx, s, X, Y) {
  s.x.forEach((x, i) => {
    if (!(s.weights[i] > 0)) return;
    const left = X(x), top = Y(highOf(s, i));
    ctx.globalAlpha = 0.08 + 0.92 * s.weights[i];
    ctx.fillRect(left, top, Math.max(1, X(x + s.width) - left), Math.max(1, Y(lowOf(s, i)) - top));
  });
}

function disc(ctx, x, y, radius) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}

// The signs of the kinds of marks, around 0, as in series.go, and how text shows them.
const signs = [
  [[0, -4], [3.5, 3], [-3.5, 3]],
  [[0, -4], [4, 0], [0, 4], [-4, 0]],
  [[-3, -3], [3, -3], [3, 3], [-3, 3]],
  [[0, 4], [3.5, -3], [-3.5, -3]],
];
const signTexts = ["▲", "◆", "■", "▼"];
const strip = 14; // px of height for each kind

// marks draws each kind in a strip of its own at the bottom.
function marks(u, chart, X, ratio) {
  const ctx = u.ctx, { left, top, width, height } = u.bbox;
  ctx.save();
  ctx.globalAlpha = 0.8;
  for (const s of chart.series) {
    if (hidden[s.name]) continue;
    ctx.fillStyle = hue(s.name);
    for (const m of s.marks ?? []) {
      const x = X(m.x), y = top + height - strip * ratio * (chart.kinds.length - m.kind - 0.5);
      if (x < left - 1 || x > left + width + 1) continue;
      ctx.beginPath();
      for (const [dx, dy] of signs[m.kind % signs.length]) ctx.lineTo(x + dx * ratio, y + dy * ratio);
      ctx.fill();
    }
  }
  ctx.restore();
}
