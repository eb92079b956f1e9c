import type { Departure } from '@agentrl/core'
import { emptyLedger } from '@agentrl/core'
import { groupId, rolloutId } from '@agentrl/spec'
import { expect, test } from 'vitest'
import type { AttemptResult } from './attempt-result.ts'
import { reportDrifts } from './report-drifts.ts'

function attempt(id: string, drifts: readonly Departure[]): AttemptResult {
  return {
    groupId: groupId('g0'),
    rolloutId: rolloutId(id),
    instanceId: 'task',
    groupIndex: 0,
    attemptIndex: 0,
    abortReason: null,
    reward: 1,
    samples: [],
    ledger: emptyLedger(),
    counts: {},
    drifts,
    turns: 1,
    patch: '',
    agentEnd: 'finished',
    agentExitCode: 0,
    elapsedMs: 1,
    message: null,
  }
}

const resend: Departure = { cause: 'resend', where: 'messages[2]', held: 'no', found: '' }

test('causes are ordered by departures, and each has its first example', () => {
  const edited: Departure = { cause: 'edited_history', where: 'messages[1].content', held: 'a', found: 'b' }
  const results = [attempt('a0', [resend]), attempt('a1', [edited, { ...resend, where: 'messages[9]' }])]
  const drifts = reportDrifts(results, {
    'drift.edited_history': 2,
    'drift.resend': 5,
    'drift_absorbed.arguments_reserialized': 7,
    'engine_retry.engine_timeout': 1,
  })
  expect(drifts.map(({ cause, departures, absorbed }) => [cause, departures, absorbed])).toEqual([
    ['resend', 5, 0],
    ['edited_history', 2, 0],
    ['arguments_reserialized', 0, 7],
  ])
  expect(drifts.map(({ example }) => example)).toEqual([
    { ...resend, rolloutId: 'a0' },
    { ...edited, rolloutId: 'a1' },
    null,
  ])
})

test('a run without drift has no causes', () => {
  expect(reportDrifts([attempt('a0', [])], { 'engine_retry.engine_timeout': 1 })).toEqual([])
})
