import { toList, tryIterate } from '../python/operators.ts'
import { templateRuntimeError, typeError, valueError } from '../python/python-error.ts'
import { typeName } from '../python/represent.ts'
import type { Str, Value } from '../python/values.ts'
import { type Place, slotReader } from './compile-expression.ts'
import { Namespace } from './objects.ts'
import type { Frame } from './run.ts'
import { Symbols } from './symbols.ts'
import type { Statement, Target } from './syntax.ts'

/** Entering and leaving scopes, and assigning to what stands in them. */

/** How the sequence that a statement stands in goes on: to the next one, or out of the loop around it. */
export type Completion = 'next' | 'break' | 'continue'

/** A compiled statement: writes into a list of strings. */
export type Execute = (frame: Frame, out: Str[]) => Completion

/** Compiles statements in a row. */
export type CompileBody = (statements: readonly Statement[], place: Place) => Execute

export type Assign = (frame: Frame, value: Value) => void

/** Does the loads of a scope. */
export function enterScope(place: Place): (frame: Frame) => void {
  const loads: ((frame: Frame) => void)[] = []
  for (const { slot, load } of place.symbols.loads()) {
    if (load.kind === 'variable') {
      const { name } = load
      loads.push((frame) => {
        frame.slots[slot] = frame.context.resolve(name)
      })
    } else if (load.kind === 'alias') {
      const read = slotReader(place, load.reference)
      loads.push((frame) => {
        frame.slots[slot] = read(frame)
      })
    } else if (load.kind === 'undefined') {
      loads.push((frame) => {
        frame.slots[slot] = undefined
      })
    }
  }
  return (frame) => {
    for (const load of loads) load(frame)
  }
}

/** Empties the slots of a scope of the same function, so that functions made in it see them empty. */
export function leaveScope(place: Place): (frame: Frame) => void {
  const slots = [...place.symbols.loads()].map(({ slot }) => slot)
  return (frame) => {
    for (const slot of slots) frame.slots[slot] = undefined
  }
}

/** Jinja looks at the namespaces before it evaluates what is assigned. */
export function checkNamespaces(target: Target, place: Place): (frame: Frame) => void {
  if (target.kind === 'tuple') {
    const checks = target.items.map((item) => checkNamespaces(item, place))
    return (frame) => {
      for (const check of checks) check(frame)
    }
  }
  if (target.kind === 'name') return () => undefined
  const read = slotReader(place, place.symbols.reference(target.name, target.line))
  return (frame) => {
    namespaceOf(read(frame))
  }
}

export function compileTarget(target: Target, place: Place): Assign {
  if (target.kind === 'tuple') {
    const targets = target.items.map((item) => compileTarget(item, place))
    return (frame, value) => {
      const values = unpack(value, targets.length)
      for (const [index, assign] of targets.entries()) assign(frame, values[index] ?? null)
    }
  }
  const reference = place.symbols.reference(target.name, target.line)
  if (target.kind === 'namespace-target') {
    const read = slotReader(place, reference)
    const { attribute } = target
    return (frame, value) => namespaceOf(read(frame)).set(attribute, value)
  }
  const { slot } = reference
  return (frame, value) => {
    frame.slots[slot] = value
  }
}

function namespaceOf(value: Value | undefined): Namespace {
  if (value instanceof Namespace) return value
  throw templateRuntimeError('cannot assign attribute on non-namespace object')
}

function unpack(value: Value, count: number): Value[] {
  if (tryIterate(value) === null) throw typeError(`cannot unpack non-iterable ${typeName(value)} object`)
  const values = toList(value)
  if (values.length > count) throw valueError(`too many values to unpack (expected ${count})`)
  if (values.length < count) throw valueError(`not enough values to unpack (expected ${count}, got ${values.length})`)
  return values
}

/** A scope of the same function whose names `visit` finds; `run` enters it before a body and leaves it after. */
export function inScope(
  place: Place,
  visit: (symbols: Symbols) => void,
): { readonly inner: Place; readonly run: (body: Execute) => Execute } {
  const symbols = new Symbols(place.symbols.scope, place.symbols)
  visit(symbols)
  const inner = { symbols, isSoft: false, isTop: false, isInLoop: place.isInLoop }
  const enter = enterScope(inner)
  const leave = leaveScope(inner)
  const run = (body: Execute): Execute => {
    return (frame, out) => {
      enter(frame)
      const completion = body(frame, out)
      if (completion === 'next') leave(frame)
      return completion
    }
  }
  return { inner, run }
}
