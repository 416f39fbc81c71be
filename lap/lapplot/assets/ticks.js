"use strict";
// Where an axis has its ticks and what they say: the same as in axis.go and unit.go.
const multipleFor = (axis, x) => axis.multiples.filter((m, i) => i == 0 || Math.abs(x) >= m[0] * (1 - 1e-9)).pop();

function format([per, name], x, step) {
  const s = step / per;
  const decimals = s > 0 && s < 1 ? Math.min(12, Math.ceil(-Math.log10(s) - 1e-9)) : 0;
  let text = (x / per).toFixed(decimals);
  if (/^-[0.]*$/.test(text)) text = text.slice(1);
  return text.replace("-", "−") + name;
}

// show prints a value alone, with so many significant digits.
function show(axis, x, digits) {
  if (x == null || !isFinite(x)) return "?";
  if (axis.labels) return axis.labels[Math.round(x)] ?? "";
  if (axis.scale == "tail") return percent(x);
  const m = multipleFor(axis, x), size = Math.abs(x / m[0]);
  if (size == 0) return format(m, 0, m[0]);
  return format(m, x, m[0] * 10 ** (Math.floor(Math.log10(size)) - digits + 1));
}

// percent is p of 1/(1-p), to the second digit behind its nines.
function percent(x) {
  const share = 100 / x;
  const text = (100 - share).toFixed(Math.min(12, Math.max(0, Math.ceil(-Math.log10(share) + 1 - 1e-9))));
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : text) + " %";
}

function niceStep(least) {
  if (!(least > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map(f => f * power).find(s => s >= least * (1 - 1e-9)) ?? 10 * power;
}

// ticks are pairs of place and text, about most of them.
function ticks(axis, low, high, most) {
  const found = [];
  const add = (x, text) => { if (x >= low && x <= high) found.push([x, text]); };
  if (axis.labels) {
    const shown = Math.min(axis.labels.length, high - low);
    const every = Math.max(1, Math.ceil(shown / most));
    axis.labels.forEach((label, i) => { if (i % every == 0) add(i, label.length > 16 ? label.slice(0, 15) + "…" : label); });
  } else if (axis.scale == "tail" && high / low >= 3) {
    const inner = Math.log10(high / low) * 3 <= most;
    const every = Math.max(1, Math.ceil(Math.log10(high / low) / most));
    for (let x = 1, nines = 0; x <= high; x *= 10, nines++) {
      if (nines % every == 0) add(x, percent(x));
      if (inner) (x == 1 ? [2, 4] : [2 * x]).forEach(y => add(y, percent(y)));
    }
  } else if (axis.scale == "log" && high / low >= 8) {
    const decades = Math.log10(high / low), every = Math.max(1, Math.ceil(decades / most));
    const factors = 3 * decades <= most ? [1, 2, 5] : 2 * decades <= most ? [1, 3] : [1];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) {
      if (e % every == 0) factors.forEach(f => add(f * 10 ** e, show(axis, f * 10 ** e, 1)));
    }
  } else {
    const step = niceStep((high - low) / most), m = multipleFor(axis, Math.max(Math.abs(low), Math.abs(high)));
    for (let k = Math.ceil(low / step - 1e-9), n = 0; k * step <= high + step * 1e-9 && n < 4 * most; k++, n++) {
      found.push([k * step, axis.scale == "tail" ? percent(k * step) : format(m, k * step, step)]);
    }
  }
  return found;
}
