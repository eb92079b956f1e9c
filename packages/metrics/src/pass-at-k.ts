import { ValueError } from '@agentrl/spec'

/**
 * What k attempts drawn from n without replacement do, c of the n being
 * correct. All three are unbiased for k independent attempts.
 *
 *     pass@k      at least one of k is correct   1 − C(n−c, k) / C(n, k)
 *     pass^k      all k are correct              C(c, k) / C(n, k)
 *     majority@k  the plurality of k answers is correct
 *
 * Sources: pass@k, Chen et al. 2021 (arXiv 2107.03374), equation 1; pass^k, Yao
 * et al. 2024 (τ-bench, arXiv 2406.12045), section 3; majority voting, Wang et
 * al. 2022 (arXiv 2203.11171), here as an expectation over subsets instead of
 * one vote over the first k.
 */

/**
 * The unbiased estimate of pass@k: the chance that k of n attempts, drawn
 * without replacement, hold at least one of the c correct ones.
 *
 * Summed as Σ_j P(the first correct one is draw j), all terms positive: no
 * cancellation, where 1 − Π loses the digits of a small result. C(n−c, k) / C(n, k)
 * is symmetric in c and k, so the cost is O(min(c, k)); n up to 10⁶ and beyond.
 * Throws `value_invalid` unless 0 ≤ c ≤ n and 1 ≤ k ≤ n, all integers.
 *
 * @example
 * passAtK(4, 2, 2) // → 5 / 6
 * // of six pairs, one holds no correct attempt
 */
export function passAtK(n: number, c: number, k: number): number {
  checkDraw(n, c, k)
  if (c === 0) return 0
  if (n - c < k) return 1
  const draws = Math.min(c, k)
  const hits = Math.max(c, k)
  let passed = 0
  let failedSoFar = 1
  for (let draw = 0; draw < draws && failedSoFar > 0; draw += 1) {
    passed += (failedSoFar * hits) / (n - draw)
    failedSoFar *= (n - hits - draw) / (n - draw)
  }
  return Math.min(1, passed)
}

/**
 * The unbiased estimate of pass^k: the chance that k of n attempts, drawn
 * without replacement, are all correct. O(k). Throws `value_invalid` as `passAtK`.
 *
 * @example
 * passHatK(4, 2, 2) // → 1 / 6
 */
export function passHatK(n: number, c: number, k: number): number {
  checkDraw(n, c, k)
  let allCorrect = 1
  for (let draw = 0; draw < k && allCorrect > 0; draw += 1) allCorrect *= (c - draw) / (n - draw)
  return Math.max(0, allCorrect)
}

function checkDraw(n: number, c: number, k: number): void {
  if (Number.isSafeInteger(n) && Number.isInteger(c) && Number.isInteger(k) && c >= 0 && c <= n && k >= 1 && k <= n) {
    return
  }
  throw new ValueError('value_invalid', `Expected integers 0 ≤ c ≤ n and 1 ≤ k ≤ n, found n ${n}, c ${c}, k ${k}`, {
    details: { n, c, k },
  })
}
