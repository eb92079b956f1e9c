import { seededRandom, ValueError } from '@agentrl/spec'
import type { ScriptedContext, ScriptedPlayer, ScriptedTurn } from './scripted-turn.ts'
import { seededHash } from './seeded-hash.ts'
import { readToolNames, readWorkingDirectory, type ToolAction, type ToolDialect, toolDialects } from './tool-dialect.ts'

/**
 * Plays weighted scripts: each attempt at a task draws one of the task's
 * scripts and plays it turn by turn.
 *
 * Attempts at one task have the same prompt, so an attempt is told apart by its
 * conversation (`rid` without the turn). The n-th attempt at a task gets the
 * n-th draw of a source that is seeded by task: conversations may have random
 * names and come in any order, and still a run of n attempts plays the same n
 * scripts.
 *
 * The place in the script is the number of assistant turns in the prompt. When
 * a client changes its history (drops a turn, compacts) the script goes on
 * where it was; when it sends the same prompt again, the same turn is played.
 * After the last turn, and to side requests without tools (titles), it answers
 * with a short text.
 */

/** A turn of a script, before a dialect gives its actions the names of tools. */
export interface ScriptStep extends Omit<ScriptedTurn, 'calls' | 'probability' | 'seedKey'> {
  /** One tool call each, in parallel. */
  readonly actions?: readonly ToolAction[]
}

export interface WeightedScript {
  readonly name: string
  /** Over 0. Shares are `weight^(1 / temperature)`, normalised; at temperature 0 the first heaviest is played. */
  readonly weight: number
  readonly steps: readonly ScriptStep[]
}

export interface TaskScripts {
  readonly task: string
  /** A text that stands in the prompts of this task only. */
  readonly marker: string
  readonly scripts: readonly WeightedScript[]
}

/** Which script an attempt plays. */
export interface ScriptedPlay {
  readonly conversationId: string
  readonly task: string
  readonly script: string
  readonly dialect: string
}

export interface WeightedPlayer {
  readonly play: ScriptedPlayer
  /** In the order in which the attempts began. The first 10000 are kept. */
  readonly plays: readonly ScriptedPlay[]
}

interface Attempt {
  readonly task: TaskScripts
  readonly script: WeightedScript
  readonly probability: number
  /** Among the attempts at its task, from 0. */
  readonly number: number
  readonly dialect: ToolDialect
  /** Of the last answer. */
  position: number
  turnIndex: number
  promptText: string
}

const maxAttempts = 10_000

/** Throws `value_invalid` for a task without scripts or a weight that is not over 0. */
export function createWeightedPlayer(options: {
  readonly tasks: readonly TaskScripts[]
  /** Default 0. */
  readonly seed?: number
}): WeightedPlayer {
  const { tasks, seed = 0 } = options
  for (const { task, scripts } of tasks) {
    if (scripts.length === 0 || scripts.some(({ weight }) => !(weight > 0))) {
      throw new ValueError('value_invalid', `Task "${task}" needs at least one script, and weights over 0`)
    }
  }
  const attempts = new Map<string, Attempt>()
  const attemptCounts = new Map<TaskScripts, number>()
  const plays: ScriptedPlay[] = []

  const begin = (context: ScriptedContext, toolNames: ReadonlySet<string>): Attempt => {
    const { conversationId, headText, temperature } = context
    const task = tasks.find(({ marker }) => headText.includes(marker))
    if (!task) throw new Error(`the prompt belongs to none of the tasks ${tasks.map((each) => each.task).join(', ')}`)
    const dialect = toolDialects.find((each) => each.matches(toolNames))
    if (!dialect) throw new Error(`no dialect for the tools ${[...toolNames].join(', ')}`)
    const number = attemptCounts.get(task) ?? 0
    attemptCounts.set(task, number + 1)
    const draw = seededRandom(seededHash(seed, task.task, number))()
    const { script, probability } = drawScript(task.scripts, { temperature, draw })
    if (plays.length < maxAttempts) {
      plays.push({ conversationId, task: task.task, script: script.name, dialect: dialect.name })
    }
    return {
      task,
      script,
      probability,
      number,
      dialect,
      position: 0,
      turnIndex: context.turnIndex,
      promptText: context.promptText,
    }
  }

  const play: ScriptedPlayer = (context) => {
    const { conversationId, headText, turnIndex, promptText } = context
    const toolNames = readToolNames(headText)
    if (toolNames.size === 0) return { text: 'Understood.' }
    const attempt = attempts.get(conversationId) ?? begin(context, toolNames)
    if (promptText !== attempt.promptText) {
      attempt.position += Math.max(1, turnIndex - attempt.turnIndex)
      attempt.turnIndex = turnIndex
      attempt.promptText = promptText
    }
    attempts.set(conversationId, attempt)
    const [oldest] = attempts.keys()
    if (attempts.size > maxAttempts && oldest !== undefined) attempts.delete(oldest)

    const { actions, ...step } = attempt.script.steps[attempt.position] ?? { text: 'Done.' }
    const dialectContext = { toolNames, workingDirectory: readWorkingDirectory(headText) }
    const calls = (actions ?? []).map((action) => ({
      ...attempt.dialect.toCall(action, dialectContext),
      ...(action.damage && { damage: action.damage }),
    }))
    return {
      ...step,
      calls,
      probability: attempt.position === 0 ? attempt.probability : 1,
      seedKey: `${attempt.task.task}/${attempt.number}/${attempt.position}`,
    }
  }
  return { play, plays }
}

/** The script at `draw`, in [0, 1), of the line of shares, and its share. */
function drawScript(
  scripts: readonly WeightedScript[],
  { temperature, draw }: { readonly temperature: number; readonly draw: number },
): { readonly script: WeightedScript; readonly probability: number } {
  const [first, ...others] = scripts
  if (first === undefined) throw new RangeError('a task has at least one script')
  const heaviest = others.reduce((best, script) => (script.weight > best.weight ? script : best), first)
  if (temperature === 0) return { script: heaviest, probability: 1 }
  const masses = scripts.map(({ weight }) => (weight / heaviest.weight) ** (1 / temperature))
  const total = masses.reduce((sum, mass) => sum + mass, 0)
  let left = draw * total
  const index = masses.findIndex((mass) => {
    left -= mass
    return left < 0
  })
  return { script: scripts[index] ?? heaviest, probability: (masses[index] ?? 1) / total }
}
