#!/bin/bash
set -eu
cd "${AGENTRL_APP_DIR:-/app}"
node --input-type=module <<'EOF'
import { readFileSync, writeFileSync } from 'node:fs'

function edit(file, before, after) {
  const text = readFileSync(file, 'utf8')
  if (!text.includes(before)) throw new Error(`${file} does not hold ${before}`)
  writeFileSync(file, text.replace(before, () => after))
}

edit(
  'src/read-lines.mjs',
  `  const start = line.indexOf('#')
  return start === -1 ? line : line.slice(0, start)`,
  `  let isQuoted = false
  for (const [index, character] of [...line].entries()) {
    if (character === '"') isQuoted = !isQuoted
    if (character === '#' && !isQuoted) return [...line].slice(0, index).join('')
  }
  return line`,
)
edit(
  'src/parse-value.mjs',
  `  if (words[text]) return words[text]
  if (Number(text)) return Number(text)`,
  `  if (Object.hasOwn(words, text)) return words[text]
  if (/^[+-]?\\d+(\\.\\d+)?$/.test(text)) return Number(text)`,
)
edit(
  'src/merge-settings.mjs',
  `  return { ...base, ...override }
}`,
  `  const merged = { ...base }
  for (const [key, value] of Object.entries(override)) {
    merged[key] = isSection(base[key]) && isSection(value) ? mergeSettings(base[key], value) : value
  }
  return merged
}

function isSection(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}`,
)
edit('src/expand-references.mjs', '\\}/, (_, path)', '\\}/g, (_, path)')
EOF
