import { describe, expect, test } from 'vitest'
import { encodeHermesTurn } from './encode-hermes-turn.ts'
import type { ScriptedContext } from './scripted-turn.ts'
import { createWeightedPlayer, type TaskScripts, type WeightedScript } from './weighted-player.ts'

const miniHead = 'system {"type": "function", "function": {"name": "bash", "description": "x"}} user Fix the slug.'
const claudeTools = ['Bash', 'Read', 'Write'].map((name) => `{"name": "${name}"}`).join('')
const claudeHead = `system Primary working directory: /home/app\n ${claudeTools} user Fix the slug.`

const script = (name: string, weight: number): WeightedScript => ({
  name,
  weight,
  steps: [
    {
      reasoning: 'Look.',
      actions: [
        { kind: 'bash', command: 'ls' },
        { kind: 'read', path: "it's.mjs" },
      ],
    },
    { actions: [{ kind: 'write', path: 'a.mjs', content: 'x\n', damage: 'raw-newline' }] },
    { text: `${name} is done.` },
  ],
})
const slug: TaskScripts = { task: 'slug', marker: 'Fix the slug.', scripts: [script('right', 3), script('wrong', 1)] }

function contextOf(changes: Partial<ScriptedContext> = {}): ScriptedContext {
  const { headText = miniHead, turnIndex = 0 } = changes
  const promptText = `${headText}${' turn'.repeat(turnIndex)}`
  return { promptText, headText, turnIndex, conversationId: 'c', temperature: 1, random: () => 0, ...changes }
}

describe('tools', () => {
  test('of the embedded agent: everything is a bash command, paths quoted', () => {
    const { play, plays } = createWeightedPlayer({ tasks: [slug] })
    expect(play(contextOf())).toMatchObject({
      reasoning: 'Look.',
      calls: [
        { name: 'bash', arguments: { command: 'ls' } },
        { name: 'bash', arguments: { command: "cat 'it'\\''s.mjs'" } },
      ],
    })
    expect(play(contextOf({ turnIndex: 1 })).calls).toEqual([
      {
        name: 'bash',
        arguments: { command: "cat > 'a.mjs' <<'END_OF_FILE'\nx\nEND_OF_FILE" },
        damage: 'raw-newline',
      },
    ])
    expect(plays).toMatchObject([{ conversationId: 'c', task: 'slug', dialect: 'mini' }])
  })

  test('of Claude Code: file tools with absolute paths, and a description for Bash', () => {
    const { play, plays } = createWeightedPlayer({ tasks: [slug] })
    expect(play(contextOf({ headText: claudeHead })).calls).toEqual([
      { name: 'Bash', arguments: { command: 'ls', description: 'Run a command' } },
      { name: 'Read', arguments: { file_path: "/home/app/it's.mjs" } },
    ])
    expect(play(contextOf({ headText: claudeHead, turnIndex: 1 })).calls).toEqual([
      { name: 'Write', arguments: { file_path: '/home/app/a.mjs', content: 'x\n' }, damage: 'raw-newline' },
    ])
    expect(plays[0]?.dialect).toBe('claude_code')
  })

  test('of Claude Code without file tools: its shell', () => {
    const { play } = createWeightedPlayer({ tasks: [slug] })
    expect(play(contextOf({ headText: 'user {"name": "Bash"} Fix the slug.' })).calls?.[1]).toEqual({
      name: 'Bash',
      arguments: { command: "cat 'it'\\''s.mjs'", description: "Read it's.mjs" },
    })
  })

  test('that no dialect knows are an error that names them', () => {
    const { play } = createWeightedPlayer({ tasks: [slug] })
    expect(() => play(contextOf({ headText: '{"name": "shell"} Fix the slug.' }))).toThrow(/no dialect.*shell/)
  })
})

describe('the place in the script', () => {
  const steps = (contexts: readonly Partial<ScriptedContext>[]): readonly (string | undefined)[] => {
    const { play } = createWeightedPlayer({ tasks: [slug] })
    return contexts.map((changes) => play(contextOf(changes)).seedKey)
  }

  test('is the number of assistant turns in the prompt', () => {
    expect(steps([{}, { turnIndex: 1 }, { turnIndex: 2 }])).toEqual(['slug/0/0', 'slug/0/1', 'slug/0/2'])
  })

  test('stays when the same prompt comes again', () => {
    expect(steps([{}, { turnIndex: 1 }, { turnIndex: 1 }])).toEqual(['slug/0/0', 'slug/0/1', 'slug/0/1'])
  })

  test('goes on when the client dropped a turn or compacted its history', () => {
    expect(steps([{}, { promptText: 'You said nothing.' }])).toEqual(['slug/0/0', 'slug/0/1'])
    expect(steps([{ turnIndex: 0 }, { turnIndex: 1 }, { promptText: 'summary' }])).toEqual([
      'slug/0/0',
      'slug/0/1',
      'slug/0/2',
    ])
  })

  test('is kept for each conversation alone', () => {
    expect(steps([{ conversationId: 'a' }, { conversationId: 'b' }, { conversationId: 'a', turnIndex: 1 }])).toEqual([
      'slug/0/0',
      'slug/1/0',
      'slug/0/1',
    ])
  })

  test('after the end is a short text', () => {
    const { play } = createWeightedPlayer({ tasks: [slug] })
    play(contextOf())
    expect(encodeHermesTurn(play(contextOf({ turnIndex: 3 })))).toBe('Done.<|im_end|>')
  })

  test('is not moved by a side request without tools, which gets a short text', () => {
    const { play, plays } = createWeightedPlayer({ tasks: [slug] })
    expect(play(contextOf({ headText: 'Write a title for: Fix the slug.' }))).toEqual({ text: 'Understood.' })
    expect(play(contextOf()).seedKey).toBe('slug/0/0')
    expect(plays).toHaveLength(1)
  })
})

describe('the draw', () => {
  const drawMany = (options: { readonly seed?: number; readonly temperature?: number; readonly ids?: string }) => {
    const { play, plays } = createWeightedPlayer({ tasks: [slug], seed: options.seed ?? 0 })
    const turns = Array.from({ length: 400 }, (_, index) =>
      play(contextOf({ conversationId: `${options.ids ?? 'c'}${index}`, temperature: options.temperature ?? 1 })),
    )
    return { scripts: plays.map((each) => each.script), turns }
  }
  const shareOf = (name: string, scripts: readonly string[]): number =>
    scripts.filter((each) => each === name).length / scripts.length

  test('gives each script its share of the weights, and says its probability at the first turn', () => {
    const { scripts, turns } = drawMany({})
    // Binomial(400, 3/4): standard deviation 0.022.
    expect(shareOf('right', scripts)).toBeGreaterThan(0.68)
    expect(shareOf('right', scripts)).toBeLessThan(0.82)
    expect(new Set(turns.map(({ probability }) => probability))).toEqual(new Set([0.75, 0.25]))
    expect(turns.map(({ probability }) => probability)).toEqual(scripts.map((name) => (name === 'right' ? 0.75 : 0.25)))
  })

  test('depends on the seed and on the order of arrival, not on the names of conversations', () => {
    expect(drawMany({ ids: 'x' }).scripts).toEqual(drawMany({ ids: 'y' }).scripts)
    expect(drawMany({ seed: 1 }).scripts).not.toEqual(drawMany({ seed: 2 }).scripts)
  })

  test('is sharpened by a low temperature, and greedy at 0', () => {
    // Weights 3 and 1 at temperature 1/2: 9 to 1.
    expect(new Set(drawMany({ temperature: 0.5 }).turns.map((turn) => turn.probability?.toFixed(6)))).toEqual(
      new Set(['0.900000', '0.100000']),
    )
    expect(new Set(drawMany({ temperature: 0 }).scripts)).toEqual(new Set(['right']))
    expect(new Set(drawMany({ temperature: 0 }).turns.map((turn) => turn.probability))).toEqual(new Set([1]))
  })

  test('is made once for an attempt: later turns have probability 1', () => {
    const { play } = createWeightedPlayer({ tasks: [slug] })
    play(contextOf())
    expect(play(contextOf({ turnIndex: 1 })).probability).toBe(1)
  })
})

test('a prompt of no task is an error that lists the tasks', () => {
  const { play } = createWeightedPlayer({ tasks: [slug] })
  expect(() => play(contextOf({ headText: '{"name": "bash"} Do something else.' }))).toThrow(/none of the tasks slug/)
})

test.each([
  ['no scripts', []],
  ['a weight of 0', [script('never', 0)]],
  ['a weight that is no number', [script('never', Number.NaN)]],
])('a task with %s is refused', (_, scripts) => {
  expect(() => createWeightedPlayer({ tasks: [{ ...slug, scripts }] })).toThrow(
    expect.objectContaining({ code: 'value_invalid' }),
  )
})
