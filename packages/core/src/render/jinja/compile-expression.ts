import { getAttribute, getItem, isDictAttribute } from '../python/attributes.ts'
import { binary, call, contains, equals, isTrue, order, slice, toList, unary } from '../python/operators.ts'
import { templateRuntimeError, typeError } from '../python/python-error.ts'
import { quote, repr, str, typeName } from '../python/represent.ts'
import { isStr, joinAll, textOf } from '../python/text.ts'
import {
  Dict,
  dictOf,
  type KeywordArguments,
  noKeywords,
  type Str,
  Tuple,
  Undefined,
  type Value,
} from '../python/values.ts'
import type { FilterFunction } from './filter-signature.ts'
import { filters } from './filters.ts'
import type { Frame } from './run.ts'
import type { Reference, Symbols } from './symbols.ts'
import {
  type CallArguments,
  type CompareOperator,
  type Expression,
  type FilterExpression,
  TemplateSyntaxError,
} from './syntax.ts'
import { type TestFunction, tests } from './tests.ts'

/** Expressions to functions of a frame. */
export type Evaluate = (frame: Frame) => Value

/** Where an expression or statement stands. */
export interface Place {
  readonly symbols: Symbols
  /** Inside an `if` or a conditional expression: an unknown filter fails only when it is reached. */
  readonly isSoft: boolean
  /** At the top of the template: assignments are visible to blocks. */
  readonly isTop: boolean
  /** Inside a loop of the same function, where `break` and `continue` may stand. */
  readonly isInLoop: boolean
}

export function soften(place: Place): Place {
  return place.isSoft ? place : { ...place, isSoft: true }
}

/** How many functions out a variable lives. */
function hops(place: Place, reference: Reference): number {
  let count = 0
  for (let scope = place.symbols.scope; scope !== reference.scope; count += 1) {
    if (scope.parent === null) throw new TypeError('a variable of a function that is not around')
    scope = scope.parent
  }
  return count
}

function frameAt(frame: Frame, distance: number): Frame {
  let found = frame
  for (let left = distance; left > 0 && found.parent !== null; left -= 1) found = found.parent
  return found
}

/** Reads a slot; undefined while nothing is assigned. */
export function slotReader(place: Place, reference: Reference): (frame: Frame) => Value | undefined {
  const { slot } = reference
  const distance = hops(place, reference)
  if (distance === 0) return (frame) => frame.slots[slot]
  return (frame) => frameAt(frame, distance).slots[slot]
}

export function compileExpression(expression: Expression, place: Place): Evaluate {
  switch (expression.kind) {
    case 'constant': {
      const { value } = expression
      return () => value
    }
    case 'name':
      return compileName(expression.name, expression.line, place)
    case 'tuple': {
      const items = compileAll(expression.items, place)
      return (frame) => new Tuple(items.map((item) => item(frame)))
    }
    case 'list': {
      const items = compileAll(expression.items, place)
      return (frame) => items.map((item) => item(frame))
    }
    case 'dict':
      return compileDict(expression.entries, place)
    case 'sign': {
      const { operator } = expression
      const operand = compileExpression(expression.operand, place)
      return (frame) => unary(operator, operand(frame))
    }
    case 'not': {
      const operand = compileExpression(expression.operand, place)
      return (frame) => !isTrue(operand(frame))
    }
    case 'logical':
      return compileLogical(expression, place)
    case 'arithmetic': {
      const { operator } = expression
      const left = compileExpression(expression.left, place)
      const right = compileExpression(expression.right, place)
      return (frame) => binary(operator, left(frame), right(frame))
    }
    case 'concat': {
      const items = compileAll(expression.items, place)
      return (frame) => joinAll(items.map((item) => str(item(frame))))
    }
    case 'compare':
      return compileComparison(expression, place)
    case 'conditional':
      return compileConditional(expression, place)
    case 'attribute':
      return compileAttribute(expression.object, expression.name, place)
    case 'item':
      return compileItem(expression, place)
    case 'call':
      return compileCall(expression.callee, expression.arguments, place)
    case 'filter':
      return compileFilter(expression, place)
    case 'test':
      return compileTest(expression, place)
    default:
      throw new TemplateSyntaxError(`unexpected ${expression.kind} in an expression`, expression.line)
  }
}

function compileAll(expressions: readonly Expression[], place: Place): Evaluate[] {
  return expressions.map((expression) => compileExpression(expression, place))
}

function compileName(name: string, line: number, place: Place): Evaluate {
  const read = slotReader(place, place.symbols.reference(name, line))
  return (frame) => {
    const value = read(frame)
    return value === undefined ? new Undefined(() => `${quote(name)} is undefined`) : value
  }
}

function compileDict(entries: readonly (readonly [Expression, Expression])[], place: Place): Evaluate {
  const compiled = entries.map(
    ([key, value]) => [compileExpression(key, place), compileExpression(value, place)] as const,
  )
  return (frame) => {
    const dict = new Dict()
    for (const [key, value] of compiled) dict.set(key(frame), value(frame))
    return dict
  }
}

function compileLogical(expression: Extract<Expression, { kind: 'logical' }>, place: Place): Evaluate {
  const left = compileExpression(expression.left, place)
  const right = compileExpression(expression.right, place)
  const stopsAt = expression.operator === 'or'
  return (frame) => {
    const value = left(frame)
    return isTrue(value) === stopsAt ? value : right(frame)
  }
}

const comparisons: Readonly<Record<CompareOperator, (left: Value, right: Value) => boolean>> = {
  '==': equals,
  '!=': (left, right) => !equals(left, right),
  '<': (left, right) => order('<', left, right),
  '<=': (left, right) => order('<=', left, right),
  '>': (left, right) => order('>', left, right),
  '>=': (left, right) => order('>=', left, right),
  in: (left, right) => contains(right, left),
  'not in': (left, right) => !contains(right, left),
}

/** `a < b < c` is `a < b and b < c`, with b evaluated once. */
function compileComparison(expression: Extract<Expression, { kind: 'compare' }>, place: Place): Evaluate {
  const first = compileExpression(expression.first, place)
  const rest = expression.rest.map(({ operator, operand }) => ({
    compare: comparisons[operator],
    operand: compileExpression(operand, place),
  }))
  return (frame) => {
    let left = first(frame)
    for (const { compare, operand } of rest) {
      const right = operand(frame)
      if (!compare(left, right)) return false
      left = right
    }
    return true
  }
}

function compileConditional(expression: Extract<Expression, { kind: 'conditional' }>, place: Place): Evaluate {
  const soft = soften(place)
  const test = compileExpression(expression.test, soft)
  const whenTrue = compileExpression(expression.whenTrue, soft)
  const { line } = expression
  const otherwise: Evaluate =
    expression.otherwise === null
      ? () =>
          new Undefined(
            () => `the inline if-expression on line ${line} evaluated to false and no else section was defined.`,
          )
      : compileExpression(expression.otherwise, soft)
  return (frame) => (isTrue(test(frame)) ? whenTrue(frame) : otherwise(frame))
}

function compileAttribute(objectExpression: Expression, name: string, place: Place): Evaluate {
  const object = compileExpression(objectExpression, place)
  if (isDictAttribute(name)) return (frame) => getAttribute(object(frame), name)
  return (frame) => {
    const value = object(frame)
    const found = value instanceof Dict ? value.getText(name) : undefined
    return found === undefined ? getAttribute(value, name) : found
  }
}

function compileItem(expression: Extract<Expression, { kind: 'item' }>, place: Place): Evaluate {
  const object = compileExpression(expression.object, place)
  const { key } = expression
  if (key.kind !== 'slice') {
    const compiledKey = compileExpression(key, place)
    return (frame) => getItem(object(frame), compiledKey(frame))
  }
  const [start, stop, step] = [key.start, key.stop, key.step].map((part): Evaluate => {
    return part === null ? () => null : compileExpression(part, place)
  })
  const none: Evaluate = () => null
  return (frame) => slice(object(frame), (start ?? none)(frame), (stop ?? none)(frame), (step ?? none)(frame))
}

/** What a call passes: evaluated positional and keyword arguments. */
interface EvaluatedArguments {
  readonly positional: Value[]
  readonly keywords: KeywordArguments
}

/** Evaluates arguments; `first` goes in front, `caller` among the keywords. */
export function compileArguments(given: CallArguments, place: Place): (frame: Frame) => EvaluatedArguments {
  const positional = compileAll(given.positional, place)
  if (given.keywords.length === 0 && given.spreadPositional === null && given.spreadKeywords === null) {
    return (frame) => ({ positional: positional.map((argument) => argument(frame)), keywords: noKeywords })
  }
  const keywords = given.keywords.map(({ name, value }) => [name, compileExpression(value, place)] as const)
  const spread = given.spreadPositional === null ? null : compileExpression(given.spreadPositional, place)
  const spreadKeywords = given.spreadKeywords === null ? null : compileExpression(given.spreadKeywords, place)
  return (frame) => {
    const values = positional.map((argument) => argument(frame))
    const named = dictOf(keywords.map(([name, value]) => [name, value(frame)] as const))
    if (spread !== null) values.push(...toList(spread(frame)))
    if (spreadKeywords !== null) addKeywords(named, spreadKeywords(frame))
    return { positional: values, keywords: named }
  }
}

function addKeywords(named: Dict, spread: Value): void {
  if (!(spread instanceof Dict)) throw typeError(`argument after ** must be a mapping, not ${typeName(spread)}`)
  for (const { key, value } of spread.entries()) {
    if (!isStr(key)) throw typeError('keywords must be strings')
    if (named.has(key)) throw typeError(`got multiple values for keyword argument ${textOf(repr(key))}`)
    named.set(key, value)
  }
}

function compileCall(calleeExpression: Expression, given: CallArguments, place: Place): Evaluate {
  const callee = compileExpression(calleeExpression, place)
  const compiled = compileArguments(given, place)
  return (frame) => {
    const called = callee(frame)
    const { positional, keywords } = compiled(frame)
    return call(called, positional, keywords)
  }
}

/** A filter; without an operand it applies to the text of the block that it belongs to. */
export function compileFilter(expression: FilterExpression, place: Place): Evaluate {
  const operand: Evaluate =
    expression.operand === null ? (frame) => frame.run.blockText : compileExpression(expression.operand, place)
  const given = compileArguments(expression.arguments, place)
  const apply = knownOrLate('filter', filters.get(expression.name), expression, place)
  return (frame) => {
    const value = operand(frame)
    const { positional, keywords } = given(frame)
    return apply([value, ...positional], keywords)
  }
}

function compileTest(expression: Extract<Expression, { kind: 'test' }>, place: Place): Evaluate {
  const operand = compileExpression(expression.operand, place)
  const given = compileArguments(expression.arguments, place)
  const decide = knownOrLate('test', tests.get(expression.name), expression, place)
  return (frame) => {
    const value = operand(frame)
    const { positional, keywords } = given(frame)
    return decide([value, ...positional], keywords)
  }
}

/** An unknown name is an error of the template at once, or when it is reached where a condition guards it. */
function knownOrLate<F extends FilterFunction | TestFunction>(
  what: 'filter' | 'test',
  found: F | undefined,
  { name, line }: { readonly name: string; readonly line: number },
  place: Place,
): F | (() => never) {
  if (found !== undefined) return found
  if (!place.isSoft) throw new TemplateSyntaxError(`No ${what} named ${quote(name)}.`, line)
  return () => {
    throw templateRuntimeError(`No ${what} named ${quote(name)} found.`)
  }
}

/** `str(value)` of an expression, as output writes it. */
export function compileOutput(expression: Expression, place: Place): (frame: Frame) => Str {
  const evaluate = compileExpression(expression, place)
  return (frame) => str(evaluate(frame))
}
