#!/bin/bash
set -eu
cd "${AGENTRL_APP_DIR:-/app}"
cat > lines.mjs <<'EOF'
import { readFileSync } from 'node:fs'

const [file, ...bounds] = process.argv.slice(2)
const [from, to] = bounds.map(Number)
if (!(from >= 1 && to >= from)) {
  console.error('lines: expected 1 <= FROM <= TO')
  process.exit(2)
}

const lines = readFileSync(file, 'utf8').split('\n')
if (lines.at(-1) === '') lines.pop()
for (const [index, line] of lines.slice(from - 1, to).entries()) {
  console.log(`${from + index}: ${line}`)
}
EOF
