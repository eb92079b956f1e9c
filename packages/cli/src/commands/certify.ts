import { readFile } from 'node:fs/promises'
import type { HistoryReasoning } from '@agentrl/core'
import { type CertifiedCase, certifyTemplate, type TemplateCertificate } from '@agentrl/core/render'
import { ConfigError } from '@agentrl/spec'
import { Command, Option } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { loadModel } from '../load-model.ts'
import { jsonObjectOption } from '../read-option.ts'
import { formatTable, plain } from '../table.ts'

interface CertifyFlags {
  readonly tokenizer: string
  readonly template?: string
  readonly templateArguments: Readonly<Record<string, unknown>>
  readonly historyReasoning: HistoryReasoning
  readonly json: boolean
}

export function certifyCommand({ output, setExitCode }: CommandContext): Command {
  return new Command('certify')
    .description('Says for a tokenizer and a chat template whether prompts can be inherited exactly, turn after turn.')
    .requiredOption(
      '--tokenizer <dir>',
      "the model's folder: tokenizer.json, tokenizer_config.json, generation_config.json",
    )
    .option('--template <file>', "a chat template instead of the folder's own")
    .option(
      '--template-arguments <json>',
      'variables of the template, for example {"enable_thinking": false}',
      jsonObjectOption,
      {},
    )
    .addOption(
      new Option('--history-reasoning <policy>', 'earlier reasoning where the template rewrites it: as sampled, or not')
        .choices(['keep', 'template'])
        .default('keep'),
    )
    .option('--json', 'print the certificate as JSON', false)
    .addHelpText(
      'after',
      `
Verdicts:
  exact            inherited ids are those of the whole rendering
  kept             the template rewrites what stood there (reasoning, mostly); sampled ids stay
  followed         the template rewrites what stood there and is followed: the turn opens a new sample
  not_applicable   the template refuses this conversation, or does not show it
  not_inherited    the end of a reply can not be told: the turn opens a new sample
  different        inherited ids are others than those of the whole rendering

Exit status: 0 exact, 1 not exact (a case is different or not inherited).

Example:
  agentrl certify --tokenizer ./Qwen3-8B`,
    )
    .action(async (flags: CertifyFlags) => {
      const model = await loadModel(flags.tokenizer, false, await readTemplate(flags.template))
      requireStopTokens(model.stopTokenIds, flags.tokenizer)
      const { templateArguments, historyReasoning } = flags
      const certificate = await certifyTemplate({ ...model, templateArguments, historyReasoning })
      output.out(`${flags.json ? JSON.stringify(certificate, null, 2) : formatCertificate(certificate)}\n`)
      if (!certificate.isExact) setExitCode(1)
    })
}

async function readTemplate(path: string | undefined): Promise<string | null> {
  if (path === undefined) return null
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new ConfigError('config_invalid', `The template ${path} can't be read: ${(cause as Error).message}`, {
      cause,
    })
  }
}

function requireStopTokens(stopTokenIds: readonly number[], directory: string): void {
  if (stopTokenIds.length > 0) return
  throw new ConfigError(
    'config_invalid',
    `${directory} names no token that ends an output: add generation_config.json with eos_token_id`,
  )
}

function formatCertificate({ cases, isExact }: TemplateCertificate): string {
  const rows = cases.map(({ shape, verdict, reason }) => [shape, verdict, reason ?? ''])
  const isShown = ({ verdict }: CertifiedCase): boolean => verdict === 'different' || verdict === 'not_inherited'
  const [firstKept] = cases.filter(({ verdict }) => verdict === 'kept' || verdict === 'followed')
  const shown = [...cases.filter(isShown), ...(firstKept === undefined ? [] : [firstKept])]
  return [
    formatTable(['after the reply', 'verdict', ''], rows),
    ...shown.flatMap(formatDifference),
    isExact
      ? 'Inheritance is exact: a conversation without rewriting is one sample.'
      : 'Inheritance is NOT exact with this tokenizer and template.',
  ].join('\n\n')
}

function formatDifference({ shape, verdict, difference }: CertifiedCase): string[] {
  if (difference === null) return []
  const quoted = (text: string): string => plain(JSON.stringify(text))
  return [
    `First difference, "${shape}" (${verdict}), at token ${difference.tokenStart}:\n` +
      `  whole rendering  ${quoted(difference.expected)}\n  inherited        ${quoted(difference.found)}`,
  ]
}
