import { posix } from 'node:path'
import { readInstructions } from './dockerfile-instructions.ts'
import { expandWords, lookUp, type Variables } from './dockerfile-words.ts'

/**
 * What a task needs to know of its Dockerfile without building it: where the
 * agent will stand, which image lies below, and whether the whole file can be
 * replayed in a sandbox that builds no images.
 *
 * Follows Docker where Harbor's own reading is coarser: variables set by ENV
 * and ARG are expanded, and a stage built on an earlier stage starts in that
 * stage's folder. Does not evaluate RUN, ONBUILD, or what the base image says.
 */

/** A file or folder of the build context that the Dockerfile copies. */
export interface DockerfileCopy {
  /** Relative to the context. */
  readonly source: string
  /** Absolute; ends with `/` where the source is put into that folder. */
  readonly target: string
}

export interface DockerfileSummary {
  /** Image of the last stage. Null: `scratch`, or named by a variable without a default. */
  readonly base: string | null
  /** WORKDIR of the last stage. Null: that of the base image, or named by a variable that is not known here. */
  readonly workdir: string | null
  /** ENV of the last stage. */
  readonly env: Readonly<Record<string, string>>
  readonly copies: readonly DockerfileCopy[]
  /** The first instruction that only a build can carry out; null: FROM, WORKDIR, ENV and plain COPY say it all. */
  readonly buildInstruction: string | null
}

interface Stage {
  readonly base: string | null
  workdir: string | null
  /** A WORKDIR that could not be read makes relative ones unreadable too. */
  isWorkdirKnown: boolean
  readonly env: Record<string, string>
  readonly variables: Variables
  readonly copies: DockerfileCopy[]
  buildInstruction: string | null
}

/** Instructions that leave no trace in the files or the environment of a started container. */
const traceless = new Set(['LABEL', 'EXPOSE', 'MAINTAINER', 'CMD', 'STOPSIGNAL'])

function startStage(words: readonly string[], isResolved: boolean, stages: ReadonlyMap<string, Stage>): Stage {
  const image = isResolved ? words.find((word) => !word.startsWith('--')) : undefined
  const parent = image === undefined ? undefined : stages.get(image.toLowerCase())
  if (parent) {
    return { ...parent, env: { ...parent.env }, variables: { ...parent.env }, copies: [...parent.copies] }
  }
  return {
    base: image === undefined || image === 'scratch' ? null : image,
    workdir: null,
    isWorkdirKnown: true,
    env: {},
    variables: {},
    copies: [],
    buildInstruction: null,
  }
}

function readArguments(text: string, known: Variables): Variables {
  const declared: Variables = {}
  const { words } = expandWords(text, known)
  for (const word of words) {
    const [name = '', ...value] = word.split('=')
    const inherited = lookUp(known, name)
    if (value.length > 0) declared[name] = value.join('=')
    else if (inherited !== undefined) declared[name] = inherited
  }
  return declared
}

/** ENV in both spellings. Null: a value that depends on the base image. */
function readEnv(text: string, known: Variables): Record<string, string> | null {
  const [, legacyName, legacyValue = ''] = /^([A-Za-z_]\w*)[ \t]+([\s\S]*)$/.exec(text) ?? []
  if (legacyName !== undefined) {
    const { words, isResolved } = expandWords(legacyValue, known, { isOneWord: true })
    return isResolved ? { [legacyName]: words[0] ?? '' } : null
  }
  const { words, isResolved } = expandWords(text, known)
  if (!isResolved || words.some((word) => word.indexOf('=') < 1)) return null
  return Object.fromEntries(words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]))
}

/** COPY of plain paths of the context. Null: flags, patterns, inline files, more than a replay can do. */
function readCopies(text: string, stage: Stage): DockerfileCopy[] | null {
  const { words, isResolved } = readCopyWords(text, stage.variables)
  const target = words.at(-1)
  if (!isResolved || target === undefined || words.length < 2) return null
  const sources = words.slice(0, -1)
  if (sources.some((source) => /^--|[*?[\]\\]|<</.test(source) || posix.normalize(source).startsWith('..'))) return null
  if (!posix.isAbsolute(target) && stage.workdir === null) return null
  const absolute = posix.join(stage.workdir ?? '/', target)
  const endsInFolder = /(^|\/)\.{0,2}$/.test(target) || sources.length > 1
  const folderTarget = endsInFolder && !absolute.endsWith('/') ? `${absolute}/` : absolute
  return sources.map((source) => ({ source: posix.normalize(source).replace(/^\/+/, ''), target: folderTarget }))
}

function readCopyWords(text: string, known: Variables): { words: readonly string[]; isResolved: boolean } {
  if (!text.startsWith('[')) return expandWords(text, known)
  try {
    const words: unknown = JSON.parse(text)
    const isText = Array.isArray(words) && words.every((word) => typeof word === 'string' && !word.includes('$'))
    return { words: isText ? (words as string[]) : [], isResolved: isText }
  } catch {
    return expandWords(text, known)
  }
}

function enterFolder(stage: Stage, text: string): void {
  const { words, isResolved } = expandWords(text, stage.variables, { isOneWord: true })
  const folder = words[0]
  stage.isWorkdirKnown = isResolved && folder !== undefined && (posix.isAbsolute(folder) || stage.isWorkdirKnown)
  stage.workdir = stage.isWorkdirKnown ? posix.resolve('/', stage.workdir ?? '/', folder ?? '') : null
}

/** Carries an instruction out on a stage. False: only a build can. */
function applyInstruction(stage: Stage, name: string, text: string, globals: Variables): boolean {
  if (name === 'WORKDIR') enterFolder(stage, text)
  else if (name === 'ARG') Object.assign(stage.variables, readArguments(text, { ...globals, ...stage.variables }))
  else if (name === 'ENV') {
    const env = readEnv(text, stage.variables)
    Object.assign(stage.env, env)
    Object.assign(stage.variables, env)
    return env !== null
  } else if (name === 'COPY') {
    const copies = readCopies(text, stage)
    stage.copies.push(...(copies ?? []))
    return copies !== null
  } else return traceless.has(name)
  return true
}

/** Reads a Dockerfile. Gives null for a file without FROM. Throws nothing. Linear in its length. */
export function parseDockerfile(source: string): DockerfileSummary | null {
  const stages = new Map<string, Stage>()
  let globals: Variables = {}
  let stage: Stage | null = null
  for (const { name, text } of readInstructions(source)) {
    if (name === 'FROM') {
      const { words, isResolved } = expandWords(text, globals)
      stage = startStage(words, isResolved, stages)
      const label = /\sas\s+(\S+)\s*$/i.exec(text)?.[1]
      stages.set(label === undefined ? `#${stages.size}` : label.toLowerCase(), stage)
    } else if (stage === null) {
      if (name === 'ARG') globals = { ...globals, ...readArguments(text, globals) }
    } else if (!applyInstruction(stage, name, text, globals)) stage.buildInstruction ??= `${name} ${text}`.trim()
  }
  if (stage === null) return null
  const { base, workdir, env, copies, buildInstruction } = stage
  return { base, workdir, env, copies, buildInstruction }
}
