import { emptyLedger } from '@agentrl/core'
import type { RunReport } from '@agentrl/rollout'
import { expect, test } from 'vitest'
import { formatReport } from './print-report.ts'

const report: RunReport = {
  version: 1,
  runId: 'r1',
  agent: 'mini',
  engine: { name: 'sglang', isStandIn: false },
  attemptsPerTask: 1,
  plannedAttempts: 1,
  finishedAttempts: 1,
  tasks: [{ instanceId: 'task', rewards: [1], turns: [3], abortReasons: [] }],
  passRates: { 'pass@1': 1 },
  samples: 1,
  sampleLengths: [{ rolloutId: 'g0-a0', tokens: 100 }],
  ledger: emptyLedger(),
  ledgerProblem: null,
  counts: { 'drift.cache_buster': 3, 'drift_absorbed.arguments_reserialized': 4, 'engine_retry.engine_timeout': 1 },
  segmentCache: { hits: 30, misses: 10 },
  drifts: [
    {
      cause: 'cache_buster',
      meaning: 'the head changes',
      hint: 'Switch it off.',
      departures: 3,
      absorbed: 0,
      example: {
        cause: 'cache_buster',
        where: 'messages[0].content',
        held: 'Today is\u001b[31m Monday',
        found: 'Today is Tuesday',
        rolloutId: 'g0-a0',
      },
    },
    {
      cause: 'arguments_reserialized',
      meaning: 'another spelling',
      hint: 'Harmless.',
      departures: 0,
      absorbed: 4,
      example: null,
    },
  ],
  zeroGradientGroups: [],
  elapsedMs: 1,
  files: { directory: 'd', samples: 's', attempts: 'a', report: 'r' },
}

const sectionOf = (text: string, title: string): string | undefined =>
  text.split('\n\n').find((section) => section.startsWith(title))

test('drifts have a section of their own, with a hint and the first place', () => {
  const text = formatReport(report, { dataParallel: 1, maxTokensPerGpu: 1000 })
  expect(sectionOf(text, 'Where prompts departed')).toBe(
    [
      'Where prompts departed from what was sampled',
      'cause                   departures  absorbed  meaning',
      '──────────────────────  ──────────  ────────  ────────────────',
      'cache_buster                     3         0  the head changes',
      'arguments_reserialized           0         4  another spelling',
      'cache_buster: Switch it off.',
      '  first in g0-a0, messages[0].content: "Today is [31m Monday" became "Today is Tuesday"',
    ].join('\n'),
  )
  expect(sectionOf(text, 'What was counted')).not.toContain('drift')
})

test('a run without drift says so', () => {
  const text = formatReport({ ...report, drifts: [] }, { dataParallel: 1, maxTokensPerGpu: 1000 })
  expect(sectionOf(text, 'Where prompts departed')).toContain('nowhere')
})
