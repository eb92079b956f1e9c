import type { RoutedExperts } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { ExpertRows } from './expert-rows.ts'

/** Rows of one layer and one expert: what is known of a row is its number. */
function rowsFrom(positionStart: number, indices: readonly number[], layers = 1): RoutedExperts {
  return { positionStart, layers, topK: 1, indices: Int32Array.from(indices) }
}

function stitched(...parts: readonly (RoutedExperts | number)[]): ExpertRows {
  const rows = new ExpertRows()
  for (const part of parts) {
    if (typeof part === 'number') rows.truncate(part)
    else rows.write(part)
  }
  return rows
}

describe('ExpertRows', () => {
  test.each([
    ['rows that follow', [rowsFrom(0, [1, 2]), rowsFrom(2, [3])], [1, 2, 3]],
    ['rows that overlap: the first stand', [rowsFrom(0, [1, 2]), rowsFrom(1, [9, 3])], [1, 2, 3]],
    ['rows that are all known', [rowsFrom(0, [1, 2, 3]), rowsFrom(0, [9])], [1, 2, 3]],
    ['rows behind a gap', [rowsFrom(0, [1]), rowsFrom(2, [3])], [1]],
    ['rows of another shape', [rowsFrom(0, [1, 2]), rowsFrom(2, [3, 4], 2)], [1, 2]],
    ['rows that were dropped', [rowsFrom(0, [1, 2, 3]), 1, rowsFrom(1, [8, 9])], [1, 8, 9]],
    ['no rows', [], []],
  ] as const)('%s', (_name, parts, expected) => {
    const rows = stitched(...parts)
    expect(rows.rows).toBe(expected.length)
    expect([...(rows.first(expected.length)?.indices ?? [])]).toEqual(expected)
    expect(rows.first(expected.length + 1)).toBeNull()
  })
})
