import { expect, test } from 'vitest'
import { expectExample, readDocExamples, withoutExample } from '../../../tests/doc-examples.ts'
import * as exports from './index.ts'

const examples = readDocExamples('metrics')

test.each(examples)('$name: $code gives $expected', (example) => {
  expectExample(example, exports)
})

test('every exported function has an example that is run', () => {
  expect(withoutExample(examples, exports)).toEqual([])
})
