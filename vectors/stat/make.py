#!/usr/bin/env python3
"""Makes the expected values beside it, with numpy and scipy and not with Moonlap.

    python3 -m venv V && V/bin/pip install numpy==2.4.6 scipy==1.17.1
    V/bin/python vectors/stat/make.py

Where scipy has the method, scipy computes the value; where it has not, the formula
is written down here a second time, from its paper, as plainly as possible.
"""
import json
import math
import pathlib

import numpy as np
from scipy import stats

HERE = pathlib.Path(__file__).parent


def write(name, cases):
    text = "[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n"
    (HERE / name).write_text(text)


def rounded(xs):
    return [round(float(x), 6) for x in xs]


def samples():
    r = np.random.default_rng(1)
    yield "three", [3.0, 1.0, 2.0]
    yield "five", [0.1, 0.5, 0.2, 4.0, 0.3]
    yield "ties", [1.0, 1.0, 1.0, 2.0, 2.0, 5.0, 5.0]
    for n in (6, 7, 8, 11, 20, 29, 60):
        yield f"normal {n}", rounded(r.normal(10, 1, n))
        yield f"lognormal {n}", rounded(r.lognormal(1, 0.7, n))
    yield "Cauchy 25", rounded(r.standard_cauchy(25))


def location():
    return [{
        "name": name, "xs": xs,
        "median": float(np.median(xs)),
        "quantiles": {str(p): float(np.quantile(xs, p)) for p in (0, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1)},
    } for name, xs in samples()]


def hettmansperger_sheather(xs, level):
    """1986: interpolate between the pairs (k, n-k+1) of coverage >= level and k+1."""
    x, n = sorted(xs), len(xs)
    coverage = lambda k: 1 - 2 * stats.binom.cdf(k - 1, n, 0.5)
    k = max(k for k in range(1, n // 2 + 1) if coverage(k) >= level)
    i = (coverage(k) - level) / (coverage(k) - max(0, coverage(k + 1)))
    lam = (n - k) * i / (k + (n - 2 * k) * i)
    return [(1 - lam) * x[k - 1] + lam * x[k], (1 - lam) * x[n - k] + lam * x[n - k - 1]]


def median_interval():
    out = []
    for name, xs in samples():
        for level in (0.9, 0.95, 0.99):
            n = len(xs)
            if 1 - 2 * 0.5 ** n < level:
                continue
            # scipy's interval is between order statistics, not interpolated: the outer one
            test = stats.quantile_test(xs, q=np.median(xs), p=0.5)
            outer = test.confidence_interval(level)
            out.append({"name": name, "xs": xs, "level": level,
                        "interpolated": hettmansperger_sheather(xs, level),
                        "outer": [float(outer.low), float(outer.high)]})
    return out


def ratio():
    """Hodges-Lehmann on logarithms; the interval is every shift that scipy's exact
    Mann-Whitney test does not reject, found by trying the shifts between all
    neighbouring differences."""
    r, out = np.random.default_rng(2), []
    for n, m, level in ((4, 4, 0.95), (5, 7, 0.95), (8, 8, 0.95), (8, 8, 0.99), (12, 9, 0.95), (15, 15, 0.95)):
        a, b = rounded(r.lognormal(1, 0.2, n)), rounded(r.lognormal(1.1, 0.2, m))
        la, lb = np.log(a), np.log(b)
        d = sorted(float(y - x) for x in la for y in lb)
        inside = [-math.inf] + d + [math.inf]
        accepted = []
        for lo, hi in zip(inside, inside[1:]):
            shift = (max(lo, d[0] - 1) + min(hi, d[-1] + 1)) / 2
            p = stats.mannwhitneyu(lb - shift, la, method="exact").pvalue
            if p > 1 - level:
                accepted += [lo, hi]
        out.append({"a": a, "b": b, "level": level, "estimate": math.exp(float(np.median(d))),
                    "low": math.exp(min(accepted)), "high": math.exp(max(accepted))})
    return out


def empirical_cost(xs, s, t):
    """Haynes, Fearnhead & Eckley 2017, thresholds at 16 even quantiles, equal weights."""
    part, total = xs[s:t], 0.0
    for k in range(16):
        q = np.quantile(xs, (k + 0.5) / 16)
        f = float(np.mean(part < q) + np.mean(part == q) / 2)
        total += sum(p * math.log(p) for p in (f, 1 - f) if p > 0)
    return -2 * (t - s) * total / 16


def changepoints():
    r, out = np.random.default_rng(6), []
    step = lambda *levels: np.concatenate([r.normal(mean, sd, n) for mean, sd, n in levels])
    for name, xs in (("none", step((5, 1, 60))), ("mean", step((5, 1, 30), (9, 1, 40))),
                     ("variance", step((5, 0.1, 40), (5, 3, 40))),
                     ("three levels", step((9, 0.2, 20), (5, 0.2, 30), (6, 0.2, 40))),
                     ("equal values", np.full(30, 2.0)),
                     ("far value", np.concatenate([step((5, 0.2, 30)), [500.0], step((5, 0.2, 29))]))):
        xs = np.array(rounded(xs))
        n, least, penalty = len(xs), 5, round(2 * math.log(len(xs)), 6)
        best, last = [-penalty] + [math.inf] * n, [0] * (n + 1)
        for t in range(least, n + 1):
            for s in [0] + list(range(least, t - least + 1)):
                c = best[s] + empirical_cost(xs, s, t) + penalty
                if t - s >= least and c < best[t]:
                    best[t], last[t] = c, s
        changes, t = [], last[n]
        while t > 0:
            changes.insert(0, t)
            t = last[t]
        out.append({"name": name, "xs": xs.tolist(), "penalty": penalty, "least": least, "changes": changes})
    return out


write("location.json", location())
write("median_interval.json", median_interval())
write("ratio.json", ratio())
write("changepoints.json", changepoints())
