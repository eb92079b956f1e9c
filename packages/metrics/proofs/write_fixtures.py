"""Writes the numbers that the tests of @agentrl/metrics compare with.

    python write_fixtures.py OUTPUT_FOLDER

`statistics.json` comes from SciPy, statsmodels and NumPy, and from exact
integers where those lose digits.
"""

import json
import math
import platform
import random
import sys
from fractions import Fraction
from pathlib import Path

import numpy
import scipy
import statsmodels
from scipy import stats
from statsmodels.api import OLS, add_constant
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

source = random.Random(20261129)


def mulberry32(seed):
    """The seeded source of @agentrl/spec, so that resamples are the same."""
    state = seed & 0xFFFFFFFF

    def imul(left, right):
        return (left * right) & 0xFFFFFFFF

    def draw():
        nonlocal state
        state = (state + 0x6D2B79F5) & 0xFFFFFFFF
        mixed = imul(state ^ (state >> 15), state | 1)
        mixed ^= (mixed + imul(mixed ^ (mixed >> 7), mixed | 61)) & 0xFFFFFFFF
        return ((mixed ^ (mixed >> 14)) & 0xFFFFFFFF) / 4294967296

    return draw


def exact_pass_at_k(n, c, k):
    return float(1 - Fraction(math.comb(n - c, k), math.comb(n, k)))


def exact_pass_hat_k(n, c, k):
    return float(Fraction(math.comb(c, k), math.comb(n, k)))


def pass_rows():
    triples = [(8, 3, 4), (64, 1, 32), (1000, 7, 10), (10**6, 1, 3), (10**6, 50, 2000), (20000, 9000, 2), (10**6, 3, 1)]
    for _ in range(40):
        n = source.randint(1, 400)
        triples.append((n, source.randint(0, n), source.randint(1, n)))
    return [
        {"n": n, "c": c, "k": k, "passAtK": exact_pass_at_k(n, c, k), "passHatK": exact_pass_hat_k(n, c, k)}
        for n, c, k in triples
    ]


def tail_rows():
    rows = []
    for df in (1, 2, 2.5, 5, 28, 100, 1234.5, 1e6):
        for t in (1e-6, 0.01, 0.5, 1, 1.96, 4.19, 12, 40):
            rows.append({"df": df, "t": t, "pValue": 2 * stats.t.sf(t, df)})
    normal = [{"z": z, "tail": stats.norm.sf(z)} for z in (-3, -0.1, 0, 0.3, 1.5, 1.99, 2.01, 2.8, 2.9, 5, 10, 37)]
    quantiles = [{"tail": tail, "z": stats.norm.isf(tail)} for tail in (1e-12, 1e-4, 0.005, 0.025, 0.1, 0.4, 0.6, 0.975)]
    return {"student": rows, "normal": normal, "normalQuantiles": quantiles}


def wilson_rows():
    counts = [(0, 10), (10, 10), (8, 10), (1, 1), (0, 1), (1, 10**6), (298, 500), (127, 500), (3, 7)]
    rows = []
    for passed, total in counts:
        for confidence in (0.8, 0.95, 0.999):
            low, high = proportion_confint(passed, total, alpha=1 - confidence, method="wilson")
            rows.append({"passed": passed, "total": total, "confidence": confidence, "low": low, "high": high})
    return rows


def two_proportion_rows():
    counts = [((45, 100), (30, 100)), ((298, 500), (127, 500)), ((3, 8), (5, 9)), ((1, 300), (7, 250)), ((9, 9), (4, 9))]
    rows = []
    for first, second in counts:
        z, p_value = proportions_ztest([first[0], second[0]], [first[1], second[1]])
        low, high = confint_proportions_2indep(*first, *second, method="newcomb")
        rows.append({"first": first, "second": second, "z": z, "pValue": p_value, "low": low, "high": high})
    return rows


def mcnemar_rows():
    pairs = [(10, 2), (0, 1), (0, 6), (3, 3), (1, 30), (40, 75), (480, 520), (4000, 4300), (100000, 101000), (5, 900)]
    return [
        {"onlyFirst": b, "onlySecond": c, "pValue": float(mcnemar([[7, b], [c, 5]], exact=True).pvalue)} for b, c in pairs
    ]


def welch_rows():
    rows = []
    for size_first, size_second, shift, scale in ((2, 2, 0, 1), (5, 9, 0.3, 2), (30, 30, 4, 0.5), (200, 50, 0.01, 1), (12, 15, 40, 1)):
        first = [source.gauss(shift, 1) for _ in range(size_first)]
        second = [source.gauss(0, scale) for _ in range(size_second)]
        result = stats.ttest_ind(first, second, equal_var=False)
        interval = result.confidence_interval(0.9)
        rows.append(
            {
                "first": first,
                "second": second,
                "confidence": 0.9,
                "t": result.statistic,
                "df": result.df,
                "pValue": result.pvalue,
                "low": interval.low,
                "high": interval.high,
            }
        )
    return rows


def trend_rows():
    rows = []
    for length, slope, noise, is_spaced in ((30, 0.0118, 0.09, False), (3, 1, 0.2, False), (200, -0.001, 1, True), (12, 0, 1, True)):
        x = [float(step) for step in range(length)]
        if is_spaced:
            x = sorted(source.uniform(0, 1000) for _ in range(length))
        y = [0.25 + slope * point + source.gauss(0, noise) for point in x]
        line = stats.linregress(x, y)
        fitted = OLS(y, add_constant(x)).fit()
        low, high = fitted.conf_int(0.05)[1]
        rows.append(
            {
                "x": x,
                "values": y,
                "slope": line.slope,
                "intercept": line.intercept,
                "standardError": line.stderr,
                "pValue": line.pvalue,
                "t": fitted.tvalues[1],
                "df": fitted.df_resid,
                "rSquared": fitted.rsquared,
                "low": low,
                "high": high,
            }
        )
    return rows


def bootstrap_rows():
    rows = []
    for tasks, resamples, seed in ((5, 200, 1), (40, 1000, 7)):
        first = [source.randint(0, 8) / 8 for _ in range(tasks)]
        second = [source.randint(0, 8) / 8 for _ in range(tasks + 3)]
        draw = mulberry32(seed)

        def resample(values):
            return numpy.mean([values[math.floor(draw() * len(values))] for _ in values])

        one = [resample(first) for _ in range(resamples)]
        draw = mulberry32(seed)
        two = [resample(first) - resample(second) for _ in range(resamples)]
        rows.append(
            {
                "first": first,
                "second": second,
                "resamples": resamples,
                "seed": seed,
                "mean": {
                    "estimate": numpy.mean(first),
                    "standardError": numpy.std(one, ddof=1),
                    "interval": list(numpy.percentile(one, [2.5, 97.5])),
                },
                "unpaired": {
                    "estimate": numpy.mean(first) - numpy.mean(second),
                    "standardError": numpy.std(two, ddof=1),
                    "interval": list(numpy.percentile(two, [2.5, 97.5])),
                },
            }
        )
    return rows


def percentile_rows():
    values = [source.lognormvariate(3, 1) for _ in range(101)]
    at = [0, 1, 33.3, 50, 95, 99, 100]
    return [{"values": values[:size], "at": at, "expected": list(numpy.percentile(values[:size], at))} for size in (1, 2, 101)]


def divergence_rows():
    rows = []
    for scale in (1e-6, 0.05, 2.0):
        rollout = [-abs(source.gauss(0, 2)) for _ in range(64)]
        trainer = [value + source.gauss(0, scale) for value in rollout]
        mask = [source.randint(0, 1) for _ in range(64)]
        chosen = numpy.array(mask, dtype=bool)
        ratio = (numpy.array(rollout, dtype=numpy.longdouble) - numpy.array(trainer, dtype=numpy.longdouble))[chosen]
        gap = numpy.abs(ratio)
        rows.append(
            {
                "rollout": rollout,
                "trainer": trainer,
                "mask": mask,
                "k1": float(ratio.mean()),
                "k2": float((ratio**2 / 2).mean()),
                "k3": float((numpy.expm1(-ratio) + ratio).mean()),
                "entropy": float(-numpy.array(rollout, dtype=numpy.longdouble)[chosen].mean()),
                "meanGap": float(gap.mean()),
                "gapPercentiles": [float(value) for value in numpy.percentile(gap.astype(float), [50, 90, 99, 100])],
            }
        )
    return rows


def main():
    versions = {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "statsmodels": statsmodels.__version__,
    }
    fixtures = {
        "versions": versions,
        "pass": pass_rows(),
        "tails": tail_rows(),
        "wilson": wilson_rows(),
        "twoProportion": two_proportion_rows(),
        "mcnemar": mcnemar_rows(),
        "welch": welch_rows(),
        "trend": trend_rows(),
        "bootstrap": bootstrap_rows(),
        "percentiles": percentile_rows(),
        "divergence": divergence_rows(),
    }
    path = Path(sys.argv[1]) / "statistics.json"
    path.write_text(json.dumps(fixtures, indent=1, default=float) + "\n")
    print(f"wrote {path}")


main()
