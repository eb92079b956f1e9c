/**
 * Tail probabilities and quantiles of the normal, Student t and binomial
 * distributions, to about 13 digits relative, far into the tails.
 *
 * Everything rests on one density that never subtracts large logarithms. For
 * real n = a + b, Loader's form of the binomial density
 *
 *     D(a, b, p) = √(n / 2πab) · exp(δ(n) − δ(a) − δ(b) − B(a, np) − B(b, nq))
 *
 * with Stirling's error δ and the deviance B(x, m) = x·ln(x/m) + m − x. A tail
 * of the t distribution is a regularized incomplete beta function, which is D
 * times a continued fraction or a series; a binomial tail is a sum of D.
 *
 * Sources: Loader 2000, "Fast and accurate computation of binomial
 * probabilities"; DLMF 8.17.22 for the fraction, 8.17.8 for the series, 7.6.2 and 7.9.1 for the error
 * function. Checked against SciPy (see statistics.test.ts).
 */

const logSqrtTwoPi = 0.5 * Math.log(2 * Math.PI)

/** ln Γ(z + 1) minus Stirling's formula, z above 0. */
function stirlingError(z: number): number {
  if (z < 16) return stirlingError(z + 1) + (z + 0.5) * Math.log1p(1 / z) - 1
  const square = z * z
  return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / z
}

/** x·ln(x/mean) + mean − x, without cancellation where x is near the mean; both above 0. */
function deviance(x: number, mean: number): number {
  const ratio = (x - mean) / (x + mean)
  if (Math.abs(ratio) > 0.1) return x * Math.log(x / mean) + mean - x
  // ln(x/mean) = 2·artanh(ratio); the first term is (x − mean)·ratio after x − mean is taken out.
  let sum = (x - mean) * ratio
  let power = 2 * x * ratio
  for (let order = 3; ; order += 2) {
    power *= ratio * ratio
    const next = sum + power / order
    if (next === sum) return sum
    sum = next
  }
}

/** Loader's density for real a, b above 0, p + q = 1. */
function binomialDensity(a: number, b: number, p: number, q: number): number {
  const n = a + b
  const exponent = stirlingError(n) - stirlingError(a) - stirlingError(b) - deviance(a, n * p) - deviance(b, n * q)
  return Math.sqrt(n / (a * b)) * Math.exp(exponent - logSqrtTwoPi)
}

/**
 * I_x(a, b) by its continued fraction, every digit of it however small it is.
 * y = 1 − x is given apart so that neither loses digits. For x at most about
 * a / (a + b).
 */
function betaFraction(x: number, y: number, a: number, b: number): number {
  const front = (b / (a + b)) * binomialDensity(a, b, x, y)
  const tiny = 1e-300
  let c = 1
  let d = (a + 1) / nonZero(1 - b + (a + b) * y, tiny)
  let fraction = d
  for (let m = 1; m < 100_000; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / nonZero(1 + even * d, tiny)
    c = nonZero(1 + even / c, tiny)
    fraction *= c * d
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / nonZero(1 + odd * d, tiny)
    c = nonZero(1 + odd / c, tiny)
    const step = c * d
    fraction *= step
    if (Math.abs(step - 1) < 1e-16) break
  }
  return front * fraction
}

/** I_x(a, b) by its power series, all terms positive; x = 1 − y below about 1/2. */
function betaSeries(x: number, y: number, a: number, b: number): number {
  let term = (b / (a + b)) * binomialDensity(a, b, x, y)
  let sum = term
  for (let order = 1; term > sum * 1e-17; order += 1) {
    term *= ((a + b + order - 1) / (a + order)) * x
    sum += term
  }
  return sum
}

function nonZero(value: number, tiny: number): number {
  return Math.abs(value) < tiny ? tiny : value
}

/** P(Z > z) of the standard normal distribution. */
export function normalTail(z: number): number {
  return 0.5 * complementaryErrorFunction(z / Math.SQRT2)
}

function complementaryErrorFunction(x: number): number {
  if (x < 0) return 2 - complementaryErrorFunction(-x)
  if (x === Number.POSITIVE_INFINITY) return 0
  if (x < 2) {
    let term = (2 / Math.sqrt(Math.PI)) * x * Math.exp(-x * x)
    let sum = term
    for (let order = 1; term > sum * 1e-17; order += 1) {
      term *= (2 * x * x) / (2 * order + 1)
      sum += term
    }
    return 1 - sum
  }
  let fraction = x
  for (let order = 120; order >= 1; order -= 1) fraction = x + order / 2 / fraction
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction
}

/** The z with P(Z > z) = tail; tail in (0, 1). */
export function normalQuantileOfTail(tail: number): number {
  if (tail > 0.5) return -normalQuantileOfTail(1 - tail)
  // Abramowitz and Stegun 26.2.22 to start with, then Halley's method.
  const t = Math.sqrt(-2 * Math.log(tail))
  let z = t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t)
  for (let round = 0; round < 4; round += 1) {
    const excess = (normalTail(z) - tail) / Math.exp(-0.5 * z * z - logSqrtTwoPi)
    z += excess / (1 - (z * excess) / 2)
  }
  return z
}

/** P(|T| > |t|) of Student's distribution with `df` degrees of freedom, df above 0. */
export function studentTwoSidedTail(t: number, df: number): number {
  if (t === 0) return 1
  if (!Number.isFinite(t)) return 0
  const outer = df / (df + t * t)
  const inner = (t * t) / (df + t * t)
  // Near the centre the tail is large, and what is not in it is a short sum.
  const isCentral = inner < 0.5 && ((df + 1) / 2) * inner < 2
  if (isCentral) return 1 - betaSeries(inner, outer, 0.5, df / 2)
  return betaFraction(outer, inner, df / 2, 0.5)
}

/** The t above 0 with P(|T| > t) = tail; tail in (0, 1). */
export function studentQuantileOfTwoSidedTail(tail: number, df: number): number {
  let low = 0
  let high = normalQuantileOfTail(tail / 2)
  while (studentTwoSidedTail(high, df) > tail) {
    low = high
    high *= 2
  }
  for (let round = 0; round < 200; round += 1) {
    const middle = (low + high) / 2
    if (middle <= low || middle >= high) break
    if (studentTwoSidedTail(middle, df) > tail) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** P(X ≤ k) for n fair coins, 0 ≤ k < n/2: the sum from the largest term down. */
export function fairCoinLowerTail(k: number, n: number): number {
  if (k === 0) return 2 ** -n
  let term = binomialDensity(k, n - k, 0.5, 0.5)
  let sum = term
  for (let heads = k; heads > 0 && term > sum * 1e-18; heads -= 1) {
    term *= heads / (n - heads + 1)
    sum += term
  }
  return sum
}
