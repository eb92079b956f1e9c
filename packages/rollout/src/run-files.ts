import { type FileHandle, mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { requireOneHistoryReasoning } from '@agentrl/core'
import type { PromptRow } from '@agentrl/harbor'
import type { Sample } from '@agentrl/spec'
import type { AttemptResult } from './attempt-result.ts'
import { slimeLine, slimePlaceholderLine } from './export/slime.ts'
import type { RunFilePaths, RunReport } from './run-report.ts'

/**
 * The files of a run. Lines are appended whole as attempts end, so whatever
 * stops the run, what has finished is there:
 *
 *   samples.jsonl    one training sample a line, slime's Sample.to_dict
 *   attempts.jsonl   one attempt a line: reward, reason, ledger, counts
 *   patches/         what each attempt changed
 *   sandboxes/       what each sandbox did
 *   report.json      the whole run, written at its end
 */
export interface RunFiles extends AsyncDisposable {
  readonly paths: RunFilePaths
  writeAttempt(
    result: AttemptResult,
    parts: { readonly row: PromptRow; readonly responses: readonly string[] },
  ): Promise<void>
  writeReport(report: RunReport): Promise<void>
}

export async function openRunFiles(directory: string): Promise<RunFiles> {
  await mkdir(join(directory, 'patches'), { recursive: true })
  const paths: RunFilePaths = {
    directory,
    samples: join(directory, 'samples.jsonl'),
    attempts: join(directory, 'attempts.jsonl'),
    report: join(directory, 'report.json'),
  }
  const samples = await open(paths.samples, 'w')
  const attempts = await open(paths.attempts, 'w')
  let sampleCount = 0
  // The file is one batch to a trainer.
  let firstSample: Pick<Sample, 'id' | 'metadata'> | null = null
  return {
    paths,
    async writeAttempt(result, { row, responses }) {
      requireOneHistoryReasoning(firstSample === null ? result.samples : [firstSample, ...result.samples])
      const [first] = result.samples
      if (first !== undefined) firstSample ??= { id: first.id, metadata: first.metadata }
      const base = {
        groupIndex: result.groupIndex,
        // Unique within the run without knowing its size: a trainer only compares them.
        rolloutIndex: pairIndex(result.groupIndex, result.attemptIndex),
        prompt: row.prompt,
        label: row.label,
        metadata: attemptMetadata(result),
      }
      const lines = result.samples.map((sample, position) =>
        slimeLine(sample, { ...base, index: sampleCount + position, response: responses[position] ?? '' }),
      )
      if (lines.length === 0) {
        lines.push(
          slimePlaceholderLine({ ...base, index: sampleCount, response: '' }, result.abortReason ?? 'no_samples'),
        )
      }
      sampleCount += lines.length
      await append(samples, lines)
      if (result.patch !== '') await writeFile(join(directory, 'patches', `${result.rolloutId}.patch`), result.patch)
      await append(attempts, [JSON.stringify(attemptLine(result))])
    },
    async writeReport(report) {
      await writeFile(paths.report, `${JSON.stringify(report, null, 2)}\n`)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([samples.close(), attempts.close()])
    },
  }
}

async function append(file: FileHandle, lines: readonly string[]): Promise<void> {
  await file.appendFile(`${lines.join('\n')}\n`)
}

/** Cantor's pairing: one natural number for each pair. */
function pairIndex(left: number, right: number): number {
  return ((left + right) * (left + right + 1)) / 2 + right
}

function attemptMetadata(result: AttemptResult): Record<string, unknown> {
  return {
    instance_id: result.instanceId,
    grading_solved: result.reward === 1,
    agent_end: result.agentEnd,
    agent_exit_code: result.agentExitCode,
    turns: result.turns,
    elapsed_ms: result.elapsedMs,
    empty_patch: result.patch === '',
  }
}

function attemptLine(result: AttemptResult): object {
  const { samples, patch, ...fields } = result
  return {
    version: 1,
    ...fields,
    sampleLengths: samples.map((sample) => sample.tokens.length),
    patchCharacters: patch.length,
  }
}
