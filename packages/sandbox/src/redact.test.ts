import { expect, test } from 'vitest'
import { createRedactor } from './redact.ts'

const redact = createRedactor({
  API_KEY: 'abcdefgh',
  LONG_TOKEN: 'abcdefgh-and-more',
  PLAIN: 'visible-value',
  SHORT_KEY: 'abc',
})

test.each([
  ['the key is abcdefgh.', 'the key is [redacted].'],
  ['abcdefgh-and-more', '[redacted]'],
  ['visible-value abc', 'visible-value abc'],
  ['Authorization: Bearer xyzxyzxyz1', '[redacted]'],
  ['curl -H "x-api-key: 12345"', 'curl -H "[redacted]"'],
  ['sk-ant-abcdefghijk and ark_0123456789 and e2b_0123456789', '[redacted] and [redacted] and [redacted]'],
  ['postgres://user:pass-word@host/db and http://host:80/x', '[redacted]host/db and http://host:80/x'],
  ['a bearer of news', 'a bearer of news'],
])('%j becomes %j', (text, redacted) => {
  expect(redact(text)).toBe(redacted)
})

test.each(['NPM_AUTH', 'DB_PASS', 'GITHUB_PAT', 'SENTRY_DSN', 'AWS_SECRET_ACCESS_KEY', 'PGPASSWORD'])(
  '%s is the name of a secret',
  (name) => {
    expect(createRedactor({ [name]: 'of-a-value' })('of-a-value')).toBe('[redacted]')
  },
)

test.each(['GIT_AUTHOR_NAME', 'PATH', 'PATTERN', 'COMPASS', 'PWD'])('%s is not', (name) => {
  expect(createRedactor({ [name]: 'of-a-value' })('of-a-value')).toBe('of-a-value')
})
