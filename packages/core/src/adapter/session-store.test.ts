import { expect, test, vi } from 'vitest'
import type { Session } from './session.ts'
import { SessionStore } from './session-store.ts'

/** Whoever ends a session: its samples are handed out once, or thrown away, never both. */
const turn = {
  promptIds: Int32Array.of(1, 2),
  outputIds: Int32Array.of(3),
  outputLogprobs: Float32Array.of(-0.5),
  finishReason: 'stop',
  illFormed: false,
} as const

function openSession(): { readonly store: SessionStore; readonly session: Session } {
  const store = new SessionStore({ trajectory: {}, historyReasoning: 'keep' })
  const session = store.open()
  session.trajectory.recordTurn({ turn, promptMessages: [{ role: 'user', content: 'go' }], responseMessage: null })
  return { store, session }
}

test('a session that is finished twice at once gives its samples to the first', async () => {
  const { store, session } = openSession()
  const first = store.finish(session.id, { reward: 1 })
  await expect(store.finish(session.id, { reward: 1 })).rejects.toMatchObject({ code: 'wire_session_closed' })
  expect((await first).ledger.buckets.trained).toBe(1)
})

test('a session that is being dropped can not be finished', async () => {
  const { store, session } = openSession()
  const dropped = store.drop(session.id)
  await expect(store.finish(session.id, { reward: 1 })).rejects.toMatchObject({ code: 'wire_session_closed' })
  await dropped
})

test('a drop while a session is being finished takes nothing away', async () => {
  const { store, session } = openSession()
  const finished = store.finish(session.id, { reward: 1 })
  await store.drop(session.id)
  expect((await finished).samples).toHaveLength(1)
  expect(store.status().openSessions).toBe(0)
})

test('a finish that failed may be tried again', async () => {
  const { store, session } = openSession()
  vi.spyOn(session.trajectory, 'linearize').mockImplementationOnce(() => {
    throw new RangeError('out of memory')
  })
  await expect(store.finish(session.id, { reward: 1 })).rejects.toThrow('out of memory')
  expect((await store.finish(session.id, { reward: 1 })).samples).toHaveLength(1)
})
