import { describe, expect, test } from 'vitest'
import { readHarborReward } from './read-harbor-reward.ts'

describe('reward.txt', () => {
  test.each([
    ['1', 1],
    [' 0.5\n', 0.5],
    ['-1e-3', -0.001],
    ['.5', 0.5],
    ['2.', 2],
    ['1_000', 1000],
    ['+1', 1],
  ])('%j is the reward %d, as for Python', (text, reward) => {
    expect(readHarborReward({ json: null, text })).toEqual({ kind: 'graded', reward, rewards: { reward } })
  })

  test.each(['nan', 'inf', '1e999', 'yes', '0x10', '1__0', '1 2', '-', '9'.repeat(500)])('%j is unreadable', (text) => {
    expect(readHarborReward({ json: null, text })).toMatchObject({ kind: 'failed', reason: 'unreadable' })
  })

  test('an empty file is told apart', () => {
    expect(readHarborReward({ json: null, text: ' \n' })).toMatchObject({ kind: 'failed', reason: 'empty' })
  })
})

describe('reward.json', () => {
  test.each([
    ['a number', '0.25', 0.25, { reward: 0.25 }],
    ['its reward key', '{"reward": 1, "style": 0.5}', 1, { reward: 1, style: 0.5 }],
    ['its only key', '{"accuracy": 0.75}', 0.75, { accuracy: 0.75 }],
    ['a truth value', '{"reward": true}', 1, { reward: 1 }],
  ])('%s is the reward', (_, json, reward, rewards) => {
    expect(readHarborReward({ json, text: null })).toEqual({ kind: 'graded', reward, rewards })
  })

  test.each([
    '{"a": 1, "b": 2}',
    '{}',
    '[1]',
    '"1"',
    '{"reward": "1"}',
    '{"reward": null}',
    '{"reward": 1e999}',
    'NaN',
    '',
  ])('%s is unreadable', (json) => {
    expect(readHarborReward({ json, text: null })).toMatchObject({ kind: 'failed', reason: 'unreadable' })
  })

  test('comes before reward.txt, readable or not', () => {
    expect(readHarborReward({ json: '0', text: '1' })).toMatchObject({ kind: 'graded', reward: 0 })
    expect(readHarborReward({ json: '{', text: '1' })).toMatchObject({ kind: 'failed', reason: 'unreadable' })
  })
})

test('no file is a failure of the grader, not a reward of 0', () => {
  expect(readHarborReward({ json: null, text: null })).toMatchObject({ kind: 'failed', reason: 'missing' })
})
