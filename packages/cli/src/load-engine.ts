import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connectSglang, type SglangEngine } from '@agentrl/core/engines'
import type { Tokenizer } from '@agentrl/core/render'
import { createWeightedPlayer, startScriptedEngine, type TaskScripts } from '@agentrl/core/testing'
import { ConfigError, isAgentRlError } from '@agentrl/spec'

export interface EngineChoice {
  /** An address, or `scripted`. */
  readonly engine: string
  /** A module whose default export is a list of task scripts. */
  readonly scripts: string | undefined
  readonly seed: number
  readonly tokenizer: Tokenizer
}

/** The engine of a run. Disposing it ends the stand-in too. Throws `config_invalid`, `engine_unreachable`. */
export async function loadEngine(choice: EngineChoice, signal: AbortSignal): Promise<SglangEngine> {
  if (choice.engine !== 'scripted') return connectSglang({ url: choice.engine }, { signal })
  const player = createWeightedPlayer({ tasks: await loadScripts(choice.scripts), seed: choice.seed })
  const standIn = await startScriptedEngine({ tokenizer: choice.tokenizer, player: player.play, seed: choice.seed })
  const engine = await connectSglang({ url: standIn.url }, { signal })
  return {
    ...engine,
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]()
      await standIn.close()
    },
  }
}

async function loadScripts(path: string | undefined): Promise<readonly TaskScripts[]> {
  if (path === undefined) {
    throw new ConfigError(
      'config_invalid',
      'The scripted engine needs scripts to play: pass --scripts FILE, a module whose default export lists them ' +
        '(examples/quickstart/scripts.mjs is one)',
    )
  }
  try {
    const loaded: unknown = await import(pathToFileURL(resolve(path)).href)
    const scripts = (loaded as { default?: unknown }).default
    if (Array.isArray(scripts) && scripts.length > 0) return scripts as TaskScripts[]
  } catch (cause) {
    if (isAgentRlError(cause)) throw cause
    throw new ConfigError('config_invalid', `The scripts in ${path} could not be loaded: ${(cause as Error).message}`, {
      cause,
    })
  }
  throw new ConfigError('config_invalid', `${path} has no default export that lists task scripts`)
}
