// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the scripts write programs
/**
 * What the scripted engine plays on the four quickstart tasks: a stand-in for
 * a model, with right and wrong fixes in the shares that a learning policy
 * might have.
 *
 * A script says what to do (run, read, write); the player turns that into the
 * tools of the client, so that the embedded agent and Claude Code play the same
 * scripts. Files are read before they are written, as Claude Code demands.
 */

const run = (command, damage) => ({ kind: 'bash', command, ...(damage && { damage }) })
const read = (path) => ({ kind: 'read', path })
const write = (path, lines, damage) => ({
  kind: 'write',
  path,
  content: `${lines.join('\n')}\n`,
  ...(damage && { damage }),
})

const slugHead = [
  '/** Makes a URL slug of at most `maxLength` characters out of a title. */',
  'export function slug(title, { maxLength = 40 } = {}) {',
  '  return title',
  "    .normalize('NFD')",
  "    .replace(/[\\u0300-\\u036f]/g, '')",
  '    .toLowerCase()',
]
const lookAtSlug = {
  reasoning: 'Two tests fail. I need the function and its tests before I change anything.',
  text: 'I will read the function and run its tests.',
  actions: [read('src/slug.mjs'), run('node --test')],
}

const fixSlug = {
  task: 'fix-slug',
  marker: 'The function `slug` in `src/slug.mjs` makes URL slugs out of titles',
  scripts: [
    {
      name: 'right',
      weight: 5,
      steps: [
        lookAtSlug,
        {
          reasoning:
            'Each other character becomes a dash of its own, so the pattern needs a plus. Dashes at the start go before the cut, a dash at the end goes after it, because cutting can leave one.',
          actions: [
            write('src/slug.mjs', [
              ...slugHead,
              "    .replace(/[^a-z0-9]+/g, '-')",
              "    .replace(/^-/, '')",
              '    .slice(0, maxLength)',
              "    .replace(/-$/, '')",
              '}',
            ]),
          ],
        },
        { reasoning: 'Now the tests again.', actions: [run('node --test')] },
        { text: 'Runs of other characters now become one dash, and a slug neither starts nor ends with one.' },
      ],
    },
    {
      name: 'wrong',
      weight: 3,
      steps: [
        lookAtSlug,
        {
          reasoning: 'A run of other characters should be one dash: the pattern lacks a plus.',
          text: 'The pattern needs a plus.',
          actions: [
            write('src/slug.mjs', [...slugHead, "    .replace(/[^a-z0-9]+/g, '-')", '    .slice(0, maxLength)', '}']),
          ],
        },
        { reasoning: 'That is the whole change.', text: 'A run of other characters now becomes one dash.' },
      ],
    },
    {
      name: 'no change',
      weight: 1,
      steps: [
        lookAtSlug,
        { reasoning: 'The function looks as the comment says.', text: 'The function does what its comment says.' },
      ],
    },
    {
      name: 'malformed call',
      weight: 1,
      steps: [
        lookAtSlug,
        {
          reasoning: 'One plus in the pattern should do.',
          actions: [run("sed -i 's/0-9]/0-9]+/' src/slug.mjs", 'bare-word')],
        },
      ],
    },
  ],
}

const lookAtLines = {
  reasoning: 'First the program, and what it prints for the example.',
  actions: [read('lines.mjs'), run('node lines.mjs poem.txt 2 3')],
}
const linesProgram = [
  "import { readFileSync } from 'node:fs'",
  '',
  'const [file, ...bounds] = process.argv.slice(2)',
  'const [from, to] = bounds.map(Number)',
  'if (!(from >= 1 && to >= from)) {',
  "  console.error('lines: expected 1 <= FROM <= TO')",
  '  process.exit(2)',
  '}',
  '',
  "const lines = readFileSync(file, 'utf8').split('\\n')",
  "if (lines.at(-1) === '') lines.pop()",
  'for (const [index, line] of lines.slice(from - 1, to).entries()) {',
  '  console.log(`${from + index}: ${line}`)',
  '}',
]

const printLines = {
  task: 'print-lines',
  marker: '`node lines.mjs FILE FROM TO` prints lines FROM to TO of a file',
  scripts: [
    {
      name: 'right, with a repaired call',
      weight: 4,
      steps: [
        lookAtLines,
        {
          reasoning:
            'The bounds are texts and count from 0. I convert them, check them, drop the empty text after the last newline, and count from FROM.',
          text: 'I will write the program anew.',
          actions: [write('lines.mjs', linesProgram, 'raw-newline')],
        },
        {
          reasoning: 'The example, the whole file, and a range that is wrong.',
          actions: [
            run('node lines.mjs poem.txt 2 3'),
            run('node lines.mjs poem.txt 1 99'),
            run('node lines.mjs poem.txt 3 2; echo "exit code $?"'),
          ],
        },
        { text: 'It counts from 1, includes both ends, and refuses ranges that make no sense.' },
      ],
    },
    {
      name: 'wrong',
      weight: 3,
      steps: [
        lookAtLines,
        {
          reasoning: 'Off by one: the range starts at FROM - 1.',
          actions: [run("sed -i 's/slice(from, to)/slice(from - 1, to)/' lines.mjs && node lines.mjs poem.txt 1 2")],
        },
        { reasoning: 'These are the first two lines.', text: 'The range started one line too late; it is fixed.' },
      ],
    },
    {
      name: 'cut in a call',
      weight: 2,
      steps: [
        lookAtLines,
        {
          reasoning: 'I will write the program anew, with every line that the file may have.',
          actions: [write('lines.mjs', [...linesProgram, '', '// and again, and again, and again, and again'])],
          finish: 'length',
        },
      ],
    },
    {
      name: 'no change',
      weight: 1,
      steps: [{ reasoning: 'The task only describes the program.', text: 'It prints lines FROM to TO, as described.' }],
    },
  ],
}

const lookAtRotate = {
  reasoning: 'Read the script and try it on three backups and another file.',
  text: 'I will try the script first.',
  actions: [
    read('rotate.sh'),
    run(
      'd=$(mktemp -d) && touch "$d"/backup-2025-11-0{1,2,3}.tar "$d/my notes.txt" && bash rotate.sh "$d" 2; ls "$d"; rm -r "$d"',
    ),
  ],
}
const rotateHead = [
  '#!/bin/bash',
  '# Keeps the newest KEEP backups of FOLDER and deletes the older ones.',
  '# Usage: rotate.sh FOLDER KEEP',
  'set -eu',
  '',
  'folder=$1',
  'keep=$2',
  '',
]

const rotateBackups = {
  task: 'rotate-backups',
  marker: '`rotate.sh FOLDER KEEP` is to keep the newest KEEP backups of a folder',
  scripts: [
    {
      name: 'right',
      weight: 3,
      steps: [
        lookAtRotate,
        {
          reasoning:
            'It sorts the oldest first, takes every file for a backup, and splits names at spaces. A glob of the exact form finds the backups; newest first, all after the first KEEP go.',
          actions: [
            write('rotate.sh', [
              ...rotateHead,
              'cd "$folder"',
              'for backup in backup-[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].tar; do',
              '  if [ -e "$backup" ]; then echo "$backup"; fi',
              'done | sort -r | tail -n +$((keep + 1)) | while IFS= read -r backup; do',
              '  rm -- "$backup"',
              '  echo "deleted $backup"',
              'done',
            ]),
          ],
        },
        {
          reasoning: 'Again, with spaces, with too few backups, and with an empty folder.',
          actions: [
            run(
              'd=$(mktemp -d) && touch "$d"/backup-2025-11-0{1,2,3}.tar "$d/my notes.txt" && bash rotate.sh "$d" 2; ls "$d"; rm -r "$d"',
            ),
            run('d=$(mktemp -d) && bash rotate.sh "$d" 3; echo "exit code $?"; rm -r "$d"'),
          ],
        },
        { text: 'The newest KEEP backups stay, and nothing but backups is deleted.' },
      ],
    },
    {
      name: 'wrong',
      weight: 4,
      steps: [
        lookAtRotate,
        {
          reasoning: 'The order is wrong: newest first, then skip KEEP.',
          actions: [
            write('rotate.sh', [
              ...rotateHead,
              'ls "$folder" | sort -r | tail -n +$((keep + 1)) | while IFS= read -r backup; do',
              '  rm -- "$folder/$backup"',
              '  echo "deleted $backup"',
              'done',
            ]),
          ],
        },
        { reasoning: 'The newest stay now.', text: 'It keeps the newest KEEP files of the folder.' },
      ],
    },
    {
      name: 'malformed call',
      weight: 2,
      steps: [
        lookAtRotate,
        { reasoning: 'Sort the other way round.', actions: [run('sed -i s/sort/sort\\ -r/ rotate.sh', 'bare-word')] },
      ],
    },
    {
      name: 'cut in reasoning',
      weight: 2,
      steps: [
        lookAtRotate,
        {
          reasoning: 'Newest first, or oldest first? If the newest come first, the oldest come last. But wait,',
          finish: 'length',
        },
      ],
    },
  ],
}

const configModules = ['read-lines', 'parse-value', 'merge-settings', 'expand-references']
const lookAtConfig = [
  {
    reasoning: 'A project of several modules. First what there is, and the format that it should follow.',
    text: 'I will look at the project first.',
    actions: [run('find . -name "*.mjs" -not -path "*/node_modules/*" | sort'), read('README.md')],
  },
  {
    reasoning: 'Four modules have a bug each. I read all four together.',
    actions: configModules.map((name) => read(`src/${name}.mjs`)),
  },
]
const stripComment = [
  'function stripComment(line) {',
  '  let isQuoted = false',
  '  for (const [index, character] of [...line].entries()) {',
  "    if (character === '\"') isQuoted = !isQuoted",
  "    if (character === '#' && !isQuoted) return [...line].slice(0, index).join('')",
  '  }',
  '  return line',
  '}',
]
const readLinesModule = [
  "/** Splits a configuration text into `{ section, key, raw }` entries; `section` is '' before the first header. */",
  'export function readLines(text) {',
  '  const entries = []',
  "  let section = ''",
  "  for (const [index, line] of text.split('\\n').entries()) {",
  '    const content = stripComment(line).trim()',
  "    if (content === '') continue",
  '    const header = /^\\[([\\w.-]+)\\]$/.exec(content)',
  '    const setting = /^([\\w-]+)\\s*=\\s*(.*)$/.exec(content)',
  '    if (header) section = header[1]',
  '    else if (setting) entries.push({ section, key: setting[1], raw: setting[2] })',
  '    else throw new Error(`line ${index + 1}: expected [section] or key = value, found ${content}`)',
  '  }',
  '  return entries',
  '}',
  '',
  ...stripComment,
]
const mergeSettingsModule = [
  '/** Gives new settings in which `override` wins over `base`. */',
  'export function mergeSettings(base, override) {',
  '  const merged = { ...base }',
  '  for (const [key, value] of Object.entries(override)) {',
  '    merged[key] = isSection(base[key]) && isSection(value) ? mergeSettings(base[key], value) : value',
  '  }',
  '  return merged',
  '}',
  '',
  'function isSection(value) {',
  "  return typeof value === 'object' && value !== null && !Array.isArray(value)",
  '}',
]
const fixValues =
  "sed -i -e 's/if (words\\[text\\]) return/if (Object.hasOwn(words, text)) return/' -e 's/if (Number(text)) return/if (text !== \"\" \\&\\& Number.isFinite(Number(text))) return/' src/parse-value.mjs"
const fixReferences = "sed -i 's|}/, (_, path)|}/g, (_, path)|' src/expand-references.mjs"

const repairConfig = {
  task: 'repair-config',
  marker: 'This project reads configuration files.',
  scripts: [
    {
      name: 'right, long, with failing and repaired calls',
      weight: 5,
      steps: [
        ...lookAtConfig,
        {
          reasoning: 'The error message of a line may be made elsewhere; is there a module for it?',
          actions: [read('src/parse-line.mjs')],
        },
        {
          reasoning: 'There is none. Now the tests as they are.',
          text: 'There is no such file. I will run the tests.',
          actions: [run('node --test 2>&1 | tail -n 60')],
        },
        {
          reasoning: 'A # between quotes starts a comment. The scan has to know whether it is inside quotes.',
          text: 'First the lines.',
          actions: [write('src/read-lines.mjs', readLinesModule, 'raw-newline')],
        },
        {
          reasoning: 'Did that help? And where are false values and zeros lost?',
          actions: [
            run('node --test test/read-lines.test.mjs'),
            run("grep -n 'words\\[text\\]\\|Number(text)' src/parse-value.mjs", 'single-backslash'),
          ],
        },
        {
          reasoning:
            'Values are tested by their truth, so off and 0 stay text. Sections have to be merged at any depth.',
          actions: [run(fixValues), write('src/merge-settings.mjs', mergeSettingsModule)],
        },
        {
          reasoning: 'Only the first reference of a text is replaced: the pattern needs the flag g.',
          text: 'Now the references.',
          actions: [run(fixReferences)],
        },
        { reasoning: 'All tests once more.', actions: [run('node --test 2>&1 | tail -n 12')] },
        { text: 'All four modules are fixed: comments, values, merging and references. All tests pass.' },
      ],
    },
    {
      name: 'wrong, one module forgotten',
      weight: 3,
      steps: [
        ...lookAtConfig,
        {
          reasoning: 'Comments, values and references are plain. I fix these.',
          actions: [write('src/read-lines.mjs', readLinesModule), run(fixValues), run(fixReferences)],
        },
        { reasoning: 'That should be all of them.', text: 'The modules are fixed.' },
      ],
    },
    {
      name: 'no change',
      weight: 1,
      steps: [...lookAtConfig, { reasoning: 'This is a lot.', text: 'The modules follow the format of README.md.' }],
    },
    {
      name: 'cut in reasoning',
      weight: 1,
      steps: [
        lookAtConfig[0],
        { reasoning: 'Let me list every way in which a line can be read. One way is', finish: 'length' },
      ],
    },
  ],
}

/** @type {import('@agentrl/core/testing').TaskScripts[]} */
export default [fixSlug, rotateBackups, printLines, repairConfig]
