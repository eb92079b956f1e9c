import { execFileSync } from 'node:child_process'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { announcedArgv, readAnnouncement } from './announced-command.ts'

const line = 'agentrl-started t0 42\n'

test.each(Array.from({ length: line.length + 5 }, (_, index) => index))(
  'an announcement that is cut after %i bytes is read, and the rest comes whole',
  async (at) => {
    const bytes = Buffer.from(`${line}rest\n`)
    const announcement = await readAnnouncement(Readable.from([bytes.subarray(0, at), bytes.subarray(at)]), 't0')
    expect(announcement).toMatchObject({ kind: 'started', processId: 42 })
    if (announcement.kind !== 'started') return
    expect((await buffer(Readable.from(announcement.rest))).toString()).toBe('rest\n')
  },
)

test('a line of another token, another line and no line are no announcement', async () => {
  const read = (text: string) => readAnnouncement(Readable.from([Buffer.from(text)]), 't0')
  expect(await read('agentrl-started t1 42\n')).toMatchObject({ kind: 'missing' })
  expect(await read('no such user\nmore')).toEqual({ kind: 'missing', written: 'no such user' })
  expect(await read('')).toEqual({ kind: 'missing', written: '' })
  expect(await read('x'.repeat(10_000))).toMatchObject({ kind: 'missing' })
  expect(await read('agentrl-refused t0\n')).toEqual({ kind: 'refused' })
})

test('the shell enters the folder and becomes the command', () => {
  const [program = '', ...args] = announcedArgv('t0', '/usr', ['sh', '-c', 'pwd; echo "$1"', 'sh', "it's"])
  expect(execFileSync(program, args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString()).toBe("/usr\nit's\n")
})
