// Which shares of samples differ between two profiles by more than sampling error: CompareShares of
// internal/stat, for a page whose reader chooses what is compared. A test holds the two together.
"use strict";
const compareShares = (() => {
  const sum = (list) => list.reduce((a, b) => a + b, 0);

  // logGamma is Lanczos's approximation (SIAM J. Numer. Anal. 1, 1964), with g = 7 and nine terms.
  function logGamma(x) {
    const terms = [676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
      12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
    let series = 0.99999999999980993;
    terms.forEach((term, i) => { series += term / (x + i); });
    const t = x + 6.5;
    return Math.log(2 * Math.PI) / 2 + (x - 0.5) * Math.log(t) - t + Math.log(series);
  }
  const logChoose = (n, k) => logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);

  // betaFraction is the continued fraction of the incomplete beta function (DLMF 8.17.22), from its
  // front, after Lentz.
  function betaFraction(x, a, b) {
    const least = 1e-300, off = (y) => (Math.abs(y) < least ? least : y);
    let c = 1, d = 1 / off(1 - ((a + b) * x) / (a + 1)), value = d;
    for (let m = 1; m < 1000; m++) {
      let step = 1;
      for (const term of [
        (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
        (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
      ]) {
        d = 1 / off(1 + term * d);
        c = off(1 + term / c);
        step *= d * c;
      }
      value *= step;
      if (Math.abs(step - 1) < 1e-15) break;
    }
    return value;
  }
  function incompleteBeta(x, a, b) {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(x, a, b)) / a;
    return 1 - (front * betaFraction(1 - x, b, a)) / b;
  }
  // student is the probability that a t of so many degrees of freedom is farther out than t.
  const student = (t, freedom) => incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5);

  // tail is the probability that, of a+b marked ones among n+m, a or more are among the n.
  function tail(a, b, n, m) {
    const marked = a + b;
    if (a > n || b > m) return 0;
    let term = Math.exp(logChoose(n, a) + logChoose(m, b) - logChoose(n + m, marked));
    let all = term;
    for (let x = a; x < n && x < marked; x++) {
      term *= ((n - x) * (marked - x)) / ((x + 1) * (m - marked + x + 1));
      all += term;
      if (term < 1e-17 * all && x > (marked * n) / (n + m)) break;
    }
    return Math.min(1, all);
  }
  const fisher = (a, b, n, m) => Math.min(1, 2 * Math.min(tail(a, b, n, m), tail(b, a, m, n)));

  // variance of a share, and its degrees of freedom.
  function variance(counts, of) {
    const count = sum(counts), all = sum(of), p = (count + 1) / (all + 2);
    const independent = (p * (1 - p)) / (all + 2), slices = of.length;
    if (slices < 2) return [independent, all];
    let squares = 0;
    counts.forEach((c, i) => { squares += (c - (count / all) * of[i]) ** 2; });
    return [Math.max(independent, ((slices / (slices - 1)) * squares) / (all * all)), slices - 1];
  }

  function tarone(least, alpha) {
    for (let k = 1; ; k++) {
      if (least.filter((p) => p * k <= alpha).length <= k) return k;
    }
  }

  // before and after are lists of samples by slice, one for each thing compared; beforeOf and afterOf
  // all samples by slice. Tells for each by how much its share changed, and whether distinctly.
  return (before, after, beforeOf, afterOf, alpha) => {
    const n = sum(beforeOf), m = sum(afterOf);
    if (!n || !m) return before.map(() => ({ by: 0, p: 1, distinct: false }));
    const least = [];
    const all = before.map((counts, i) => {
      const a = sum(counts), b = sum(after[i]);
      const [va, fa] = variance(counts, beforeOf), [vb, fb] = variance(after[i], afterOf);
      least.push(Math.min(fisher(a + b, 0, n, m), fisher(0, a + b, n, m)));
      const by = b / m - a / n;
      return { by, p: Math.max(fisher(a, b, n, m), student(by / Math.sqrt(va + vb), Math.max(1, fa + fb))) };
    });
    const tested = tarone(least, alpha);
    all.forEach((change, i) => {
      change.p = least[i] * tested > alpha ? 1 : Math.min(1, change.p * tested);
      change.distinct = change.p < alpha;
    });
    return all;
  };
})();
