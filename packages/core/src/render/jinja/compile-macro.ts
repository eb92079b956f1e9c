import { joinAll } from '../python/text.ts'
import type { Str } from '../python/values.ts'
import { compileExpression, type Place } from './compile-expression.ts'
import { Macro } from './objects.ts'
import { Frame } from './run.ts'
import { type CompileBody, enterScope } from './scopes.ts'
import { FunctionScope, Symbols, undeclaredNames } from './symbols.ts'
import { type MacroBody, TemplateSyntaxError } from './syntax.ts'

/** A function that makes the macro in the frame where it is defined; `name` is null for the body of a call block. */
export function compileMacro(
  statement: MacroBody,
  name: string | null,
  place: Place,
  compileBody: CompileBody,
): (frame: Frame) => Macro {
  const scope = new FunctionScope(place.symbols.scope)
  const symbols = new Symbols(scope, place.symbols)
  const names = statement.parameters.map((parameter) => parameter.name)
  const analyze = (): void => {
    for (const parameter of names) symbols.declareParameter(parameter)
    for (const value of statement.defaults) symbols.visitExpression(value)
    symbols.visitStatements(statement.body)
  }
  analyze()
  const undeclared = undeclaredNames(statement.body, ['caller', 'kwargs', 'varargs'])
  const callerAt = names.indexOf('caller')
  if (undeclared.has('caller') && callerAt !== -1 && callerAt < names.length - statement.defaults.length) {
    const message =
      'When defining macros or call blocks the special "caller" argument must be omitted or be given a default.'
    throw new TemplateSyntaxError(message, statement.line)
  }
  const accepts = {
    caller: undeclared.has('caller'),
    keywords: undeclared.has('kwargs') && !names.includes('kwargs'),
    positional: undeclared.has('varargs') && !names.includes('varargs'),
  }
  const slots = names.map((parameter) => symbols.reference(parameter, statement.line).slot)
  if (accepts.caller && callerAt === -1) slots.push(symbols.declareParameter('caller').slot)
  if (accepts.keywords) slots.push(symbols.declareParameter('kwargs').slot)
  if (accepts.positional) slots.push(symbols.declareParameter('varargs').slot)
  analyze()
  const inner = { symbols, isSoft: false, isTop: false, isInLoop: false }
  const enter = enterScope(inner)
  const defaults = parameterDefaults(statement, slots, inner)
  const body = compileBody(statement.body, inner)
  return (defining) =>
    new Macro(name, names, accepts, (values) => {
      const { run, context } = defining
      const { line } = run
      const frame = new Frame(scope.slotCount, defining, context, run)
      for (const [index, slot] of slots.entries()) frame.slots[slot] = values[index]
      enter(frame)
      for (const fill of defaults) fill(frame)
      const out: Str[] = []
      body(frame, out)
      run.line = line
      return joinAll(out)
    })
}

/** Parameters that got no argument: their default, or undefined. */
function parameterDefaults(statement: MacroBody, slots: readonly number[], place: Place): ((frame: Frame) => void)[] {
  const firstDefault = statement.parameters.length - statement.defaults.length
  return statement.defaults.map((expression, index) => {
    const value = compileExpression(expression, place)
    const slot = slots[firstDefault + index] ?? 0
    return (frame) => {
      if (frame.slots[slot] === undefined) frame.slots[slot] = value(frame)
    }
  })
}
