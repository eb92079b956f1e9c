import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCaptured } from './testing/run-captured.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentrl-plan-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** `agentrl plan` over a file with this text. */
async function plan(text: string, ...argv: string[]) {
  const file = join(folder, 'lengths')
  await writeFile(file, text)
  return runCaptured('plan', '--lengths', file, ...argv)
}

const fiveLong = '49000 49000 90000 90000 90000'

describe('agentrl plan', () => {
  test('shows bins, peak, waste and alternatives, and goes ahead with what fits', async () => {
    const { code, out, err } = await plan('900, 300\n500 800\n', '--dp', '2', '--max-tokens', '1000')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toBe(`4 samples of 4 rollouts, 2500 tokens, in 1 steps on 2 GPUs; 1000 tokens a micro-batch

Micro-batches
step  rank  micro-batch  samples  tokens  of cap
────  ────  ───────────  ───────  ──────  ──────
   0     0            0        1     900  90.0 %
   0     0            1        1     800  80.0 %
   0     1            0        1     500  50.0 %
   0     1            1        1     300  30.0 %

This plan and alternatives
                          micro-batches  peak tokens  peak / cap  over cap  padding waste  ranks idle
────────────────────────  ─────────────  ───────────  ──────────  ────────  ─────────────  ──────────
this plan                 4              900          0.90        0.0 %     11.2 %         26.5 %
strategy lpt              4              900          0.90        0.0 %     11.2 %         10.7 %
strategy karmarkar-karp   4              900          0.90        0.0 %     11.2 %         10.7 %
strategy best             4              900          0.90        0.0 %     11.2 %         10.7 %
ranks balanced by tokens  4              900          0.90        0.0 %     11.2 %         3.8 %
dp 1                      3              900          0.90        0.0 %     11.2 %         0.0 %
cp 2                      2              1700         0.85        0.0 %     11.2 %         26.5 %

Go ahead.
`)
  })

  test('refuses samples whose earlier reasoning was treated in two ways: they are no batch', async () => {
    const row = (historyReasoning: string) =>
      JSON.stringify({ tokens: [1, 2], rollout_id: 0, metadata: { history_reasoning: historyReasoning } })
    const mixed = await plan(`${row('keep')}\n${row('keep')}\n${row('template')}\n`, '--dp', '1', '--max-tokens', '10')
    expect(mixed).toMatchObject({ code: 1, out: '' })
    expect(mixed.err).toMatch(/line 1 has "keep", the sample in line 3 has "template".*trajectory_mixed_history/s)
  })

  test('refuses a peak over the cap with status 2 and the settings that would help', async () => {
    const { code, out, err } = await plan(fiveLong, '--dp', '3', '--cp', '8', '--max-tokens', '12000')
    expect(code).toBe(2)
    expect(err).toMatch(
      /^agentrl: the peak of 139000 tokens is 1.45 times the cap of 96000.*cpSize.*\[peak_over_cap\]\n$/,
    )
    expect(out).toContain('144.8 % over the cap')
    expect(out).toContain('REFUSED')
    const accepted = await plan(fiveLong, '--dp', '3', '--cp', '8', '--max-tokens', '12000', '--accept-over-cap', '1.5')
    expect({ code: accepted.code, err: accepted.err }).toEqual({ code: 0, err: '' })
  })

  test('refuses what can not be scheduled, and still says what could', async () => {
    const { code, out, err } = await plan('10 10 10', '--dp', '4', '--max-tokens', '100')
    expect(code).toBe(2)
    expect(err).toContain('[config_unschedulable]')
    expect(out).toMatch(/this plan +can not be scheduled/)
    expect(out).toMatch(/dp 2 +2 +20/)
  })

  test('reads the samples of a run, whose siblings stay in one step', async () => {
    const rows = [
      { rollout_id: 0, tokens: [1, 2, 3], response: 'x' },
      { rollout_id: 1, tokens: [1, 2] },
      { rollout_id: 0, tokens: [1] },
      { rollout_id: 'b', length: 4 },
    ]
    const text = rows.map((row) => JSON.stringify(row)).join('\n')
    const { out } = await plan(text, '--dp', '1', '--max-tokens', '6', '--global-batch', '2', '--json')
    expect(JSON.parse(out)).toMatchObject({
      version: 1,
      sampleCount: 4,
      rolloutCount: 3,
      microBatches: [{ samples: [0, 2, 1], tokens: 6 }],
      warnings: [{ code: 'rollouts_dropped', droppedSamples: [3] }],
      refusal: null,
    })
  })

  test('lengths without a rollout are rollouts of their own', async () => {
    const { out } = await plan('[3, 3, 4]\n{"length":5}\n{"length":5}', '--dp', '1', '--max-tokens', '6', '--json')
    expect(JSON.parse(out)).toMatchObject({ sampleCount: 5, rolloutCount: 5 })
  })

  test('many micro-batches are cut in the table and whole in JSON', async () => {
    const { out } = await plan('7 '.repeat(60), '--dp', '1', '--max-tokens', '7')
    expect(out).toContain('… and 12 more (--json shows all)')
  })

  test.each([
    ['', /holds no lengths: check --lengths/],
    ['12\nmany', /line 2: a length is a whole number of at least 1, found "many"/],
    ['{"tokens":7}', /line 1: a length is a whole number of at least 1, found nothing/],
    ['{"length":0}', /line 1: a length is a whole number.*found 0/],
    ['{"length":', /line 1: /],
  ])('a file with %j is refused in one line', async (text, message) => {
    const { code, err, out } = await plan(text, '--dp', '1', '--max-tokens', '7')
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(message)
    expect(err.trim().split('\n')).toHaveLength(1)
  })

  test('a file that is not there and missing settings are wrong usage', async () => {
    expect(await runCaptured('plan', '--lengths', '/nowhere', '--dp', '1', '--max-tokens', '7')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/\/nowhere.*\[config_invalid\]/),
    })
    expect(await plan('7', '--dp', '1')).toMatchObject({ code: 2, err: expect.stringContaining('--max-tokens') })
  })
})
