import { lowestBit, MarkerFilter, mayEnd } from '../marker-filter.ts'
import { needMore } from '../source.ts'

/**
 * The tags of a dialect that looks like XML and is not: nothing is escaped,
 * names stand in their own ways, and a tag in a value is content unless it is
 * exactly spelt and stands where structure can.
 */
export type TagKind =
  | 'wrapper-open'
  | 'wrapper-close'
  | 'call-open'
  | 'call-close'
  | 'parameter-open'
  | 'parameter-close'

export interface Tag {
  readonly kind: TagKind
  /** The tool or the parameter; empty where the tag has none. */
  readonly name: string
  readonly length: number
  /** Whether it is spelt as the format spells it. */
  readonly isExact: boolean
  /** Whether the tag is complete: what is not may still be a sign of what was meant. */
  readonly isComplete: boolean
  /** Whether the tag says that its value is text, or that it is JSON; null where it says nothing. */
  readonly isText: boolean | null
  /** Whether a space stands between the tag and its name. */
  readonly isSpaced: boolean
}

export interface PlainTag {
  readonly kind: TagKind
  readonly text: string
  /** A spelling of another version, or without a marker. */
  readonly isVariant?: boolean
}

/** How a tag is read that has a name, from behind its prefix on. `nameless`: nothing of it follows the prefix. */
export type NameReader = (
  text: string,
  from: number,
  isEnded: boolean,
) => NamePart | 'nameless' | null | typeof needMore

export interface NamePart {
  readonly name: string
  /** Where the tag ends in the text. */
  readonly end: number
  readonly isExact: boolean
  readonly isComplete?: boolean
  readonly isText?: boolean | null
}

export interface NamedTag {
  readonly kind: TagKind
  readonly prefix: string
  readonly read: NameReader
  readonly isVariant?: boolean
}

export interface TagGrammar {
  readonly plain: readonly (PlainTag & { readonly tag: Tag })[]
  readonly named: readonly (NamedTag & { readonly nameless: Tag })[]
  /** Finds where a tag may start: the plain ones first, then the named ones. */
  readonly filter: MarkerFilter
}

/** A grammar of some tags. */
export function tagGrammar(plain: readonly PlainTag[], named: readonly NamedTag[]): TagGrammar {
  const starts = [...plain.map(({ text }) => text), ...named.map(({ prefix }) => prefix)]
  return {
    plain: plain.map((tag) => ({ ...tag, tag: plainTag(tag) })),
    named: named.map((tag) => ({ ...tag, nameless: namelessTag(tag) })),
    filter: new MarkerFilter(starts),
  }
}

function plainTag({ kind, text, isVariant }: PlainTag): Tag {
  return {
    kind,
    name: '',
    length: text.length,
    isExact: isVariant !== true,
    isComplete: true,
    isText: null,
    isSpaced: false,
  }
}

function namelessTag({ kind, prefix }: NamedTag): Tag {
  return { ...plainTag({ kind, text: prefix }), isExact: false, isComplete: false }
}

/** The longest name, with what surrounds it in its tag. */
const maxNameLength = 300

/** The longest text that starts a tag. */
const maxStartLength = 64

/** The tag at a place of a text: null if there is none, `needMore` if the text ends before that is sure. */
export function readTag(
  { plain, named: namedTags, filter }: TagGrammar,
  text: string,
  index: number,
  isEnded: boolean,
): Tag | null | typeof needMore {
  const isTail = !isEnded && text.length - index < maxStartLength
  for (let left = filter.at(text, index); left !== 0; left &= left - 1) {
    const place = lowestBit(left)
    const named = place < plain.length ? undefined : namedTags[place - plain.length]
    const start = named?.prefix ?? plain[place]?.text ?? ''
    if (!isTail && !mayEnd(start, text, index)) continue
    if (!text.startsWith(start, index)) {
      if (isTail && start.startsWith(text.slice(index))) return needMore
      continue
    }
    const tag = named === undefined ? plain[place]?.tag : readName(named, text, index, isEnded)
    if (tag) return tag
  }
  return null
}

/** Reads a tag that has a name, at its prefix. */
function readName(
  tag: TagGrammar['named'][number],
  text: string,
  index: number,
  isEnded: boolean,
): Tag | null | typeof needMore {
  const part = tag.read(text, index + tag.prefix.length, isEnded)
  if (part === null || part === needMore) return part
  if (part === 'nameless') return tag.nameless
  const isComplete = part.isComplete ?? true
  const isExact = part.isExact && isComplete && tag.isVariant !== true
  const isSpaced = text.charCodeAt(index + tag.prefix.length) === 32
  const isText = part.isText ?? null
  return { kind: tag.kind, name: part.name, length: part.end - index, isExact, isComplete, isText, isSpaced }
}

/**
 * `=NAME>`, and the ways in which models miss it: ` NAME>`, `NAME>`, `="NAME">`,
 * ` name="NAME">`, the prefix again, and a line break instead of `>`.
 */
export function equalsName(repeated: string): NameReader {
  return (text, from, isEnded) => {
    const end = tagEnd(text, from)
    if (end === text.length && !isEnded && end - from < maxNameLength) return needMore
    const isComplete = text.charCodeAt(end) === 62
    const tagEnds = isComplete ? end + 1 : end
    if (isPlainName(text, from, end))
      return { name: text.slice(from + 1, end), end: tagEnds, isExact: true, isComplete }
    const inner = text.slice(from, end)
    const name = cleanName(inner, repeated)
    return { name, end: tagEnds, isExact: inner === `=${name}`, isComplete }
  }
}

/** Whether a text is `=` and letters, digits, underscores, dots, slashes or dashes: nothing in it needs cleaning. */
function isPlainName(text: string, from: number, end: number): boolean {
  if (text.charCodeAt(from) !== 61) return false
  for (let index = from + 1; index < end; index += 1) {
    const code = text.charCodeAt(index)
    const isPlain =
      (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 45 && code <= 57) || code === 95
    if (!isPlain) return false
  }
  return true
}

/** Where a tag ends: at `>`, or where it can't go on. */
function tagEnd(text: string, from: number): number {
  let end = from
  for (; end < text.length && end - from < maxNameLength; end += 1) {
    const code = text.charCodeAt(end)
    if (code === 62 || code === 60 || code === 10) break
  }
  return end
}

function cleanName(inner: string, repeated: string): string {
  let name = inner.trim()
  if (name.startsWith('=')) name = name.slice(1).trimStart()
  for (const prefix of [repeated, 'name']) {
    if (name.startsWith(`${prefix}=`)) name = name.slice(prefix.length + 1).trimStart()
  }
  return unquote(name)
}

function unquote(name: string): string {
  const quote = name.charAt(0)
  const isQuoted = name.length > 1 && (quote === '"' || quote === "'") && name.endsWith(quote)
  return isQuoted ? name.slice(1, -1) : name
}

const nameAttribute = /^ name="([^"]*)"$/
const looseNameAttribute = /^\s*(?:name\s*=\s*)?(?:"([^"]*)"|'([^']*)'|([^\s"'=]+))$/

/** ` name="NAME">`, with single quotes or none, and with ` string="true"` behind it where the dialect has that. */
export function attributeName(hasTextAttribute: boolean): NameReader {
  return (text, from, isEnded) => {
    const end = tagEnd(text, from)
    if (end === text.length && !isEnded && end - from < maxNameLength) return needMore
    const isComplete = text.charCodeAt(end) === 62
    const inner = text.slice(from, end)
    const [attribute, isText] = hasTextAttribute ? splitTextAttribute(inner) : [inner, null]
    const exact = nameAttribute.exec(attribute)
    const loose = exact ?? looseNameAttribute.exec(attribute)
    const name = loose?.[1] ?? loose?.[2] ?? loose?.[3]
    if (name === undefined && isComplete) return null
    const isExact = exact !== null && (!hasTextAttribute || isText !== null)
    return { name: name ?? '', end: isComplete ? end + 1 : end, isExact, isComplete, isText }
  }
}

function splitTextAttribute(inner: string): readonly [string, boolean | null] {
  for (const isText of [true, false]) {
    const attribute = ` string="${isText}"`
    if (inner.endsWith(attribute)) return [inner.slice(0, -attribute.length), isText]
  }
  return [inner, null]
}
