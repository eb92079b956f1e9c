import fc from 'fast-check'
import { expect, test } from 'vitest'
import { instructionText } from './instruction-text.ts'

test.each([
  [
    'canary comments and the blank lines after them go',
    '<!-- a CANARY b -->\n# canary GUID 1\n \n\nDo it.\n',
    'Do it.\n',
  ],
  ['blank lines at the head go without a canary too', '\n\t\nDo it.', 'Do it.'],
  ['a canary line below the text stays', 'Do it.\n# canary', 'Do it.\n# canary'],
  ['a canary line after a blank line stays', '# canary\n\n# canary\nDo it.', '# canary\nDo it.'],
  ['a comment that goes on after its end is text', '<!-- canary --> Do it.', '<!-- canary --> Do it.'],
  ['a line that only mentions a canary is text', 'Feed the canary.', 'Feed the canary.'],
  ['white space around a canary line does not hide it', '\u001c # canary \u0085\nDo it.', 'Do it.'],
  ['a byte order mark is no white space in Python', '\ufeff# canary\nDo it.', '\ufeff# canary\nDo it.'],
  ['CR LF and CR become LF', 'a\r\nb\rc\n\rd', 'a\nb\nc\n\nd'],
  ['the end is left as it is', 'Do it. \n\n', 'Do it. \n\n'],
  ['nothing but canaries is nothing', '# canary\n# canary', ''],
])('%s', (_, raw, expected) => {
  expect(instructionText(raw)).toBe(expected)
})

test('a text without a canary and without CR is its own end', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const plain = `x${text.replaceAll('\r', '')}`
      expect(instructionText(`<!-- canary -->\n\n${plain}`)).toBe(plain)
      expect(instructionText(plain)).toBe(plain)
    }),
  )
})
