import { isTrue, iterate } from '../python/operators.ts'
import { str } from '../python/represent.ts'
import { joinAll } from '../python/text.ts'
import { PythonIterator, type Str, type Value } from '../python/values.ts'
import { compileExpression, type Evaluate, type Place } from './compile-expression.ts'
import { LoopContext } from './objects.ts'
import { Frame } from './run.ts'
import { type CompileBody, type Completion, compileTarget, type Execute, enterScope, leaveScope } from './scopes.ts'
import { blocksOf, FunctionScope, Symbols, storesName, undeclaredNames } from './symbols.ts'
import { type Expression, type ForStatement, TemplateSyntaxError } from './syntax.ts'

/** `for`: plain, filtered by a condition, recursive, with an else branch. */

type Recurse = (items: Value, depth: number) => Value

export function compileFor(statement: ForStatement, place: Place, compileBody: CompileBody): Execute {
  if (storesName(statement, 'loop')) {
    throw new TemplateSyntaxError("Can't assign to special loop variable in for-loop target", statement.line)
  }
  const iterable = compileExpression(statement.iterable, place)
  const condition = statement.test === null ? null : compileCondition(statement, statement.test, place)
  if (!statement.isRecursive) {
    const loop = compileLoop(statement, place, place.symbols.scope, compileBody)
    const filtered: Evaluate = condition === null ? iterable : (frame) => condition(frame, iterable(frame))
    return (frame, out) => loop(frame, out, filtered(frame), null, 0)
  }
  const scope = new FunctionScope(place.symbols.scope)
  const loop = compileLoop(statement, place, scope, compileBody)
  return (frame, out) => {
    const recurse = (items: Value, depth: number): Value => {
      const inner = new Frame(scope.slotCount, frame, frame.context, frame.run)
      const written: Str[] = []
      loop(inner, written, condition === null ? items : condition(frame, items), recurse, depth)
      return joinAll(written)
    }
    const rendered = recurse(iterable(frame), 0)
    out.push(str(rendered))
    return 'next'
  }
}

/** The loop itself, in a frame of the function whose scope is given. */
function compileLoop(
  statement: ForStatement,
  place: Place,
  scope: FunctionScope,
  compileBody: CompileBody,
): (frame: Frame, out: Str[], items: Value, recurse: Recurse | null, depth: number) => Completion {
  const symbols = new Symbols(scope, place.symbols)
  const usesLoop =
    statement.isRecursive ||
    undeclaredNames(statement.body, ['loop']).size > 0 ||
    [...blocksOf([statement])].some((block) => block.isScoped)
  const loopSlot = usesLoop ? symbols.declareParameter('loop').slot : null
  symbols.visitTarget(statement.target, true)
  symbols.visitStatements(statement.body)
  const inner = { symbols, isSoft: false, isTop: false, isInLoop: true }
  const assign = compileTarget(statement.target, inner)
  const enter = enterScope(inner)
  const exit = leaveScope(inner)
  const body = compileBody(statement.body, inner)
  const otherwise = compileElse(statement, place, scope, compileBody)
  return (frame, out, items, recurse, depth) => {
    const context = loopSlot === null ? null : new LoopContext(items, recurse, depth)
    const iterator = context === null ? iterate(items) : null
    let isCompleted = false
    for (;;) {
      const value = context === null ? nextOf(iterator) : context.advance()
      if (value === undefined) break
      if (loopSlot !== null && context !== null) frame.slots[loopSlot] = context
      assign(frame, value)
      enter(frame)
      const completion = body(frame, out)
      // As in Jinja, only a body that ran to its end keeps the else branch away.
      if (completion === 'next') isCompleted = true
      else if (completion === 'break') break
    }
    exit(frame)
    return isCompleted ? 'next' : otherwise(frame, out)
  }
}

function compileElse(statement: ForStatement, place: Place, scope: FunctionScope, compileBody: CompileBody): Execute {
  if (statement.otherwise.length === 0) return () => 'next'
  const symbols = new Symbols(scope, place.symbols)
  symbols.visitStatements(statement.otherwise)
  const isInLoop = place.isInLoop && !statement.isRecursive
  const inner = { symbols, isSoft: false, isTop: false, isInLoop }
  const enter = enterScope(inner)
  const exit = leaveScope(inner)
  const body = compileBody(statement.otherwise, inner)
  return (frame, out) => {
    enter(frame)
    const completion = body(frame, out)
    exit(frame)
    return completion
  }
}

/** `for x in items if test`: a lazy filter in a function of its own. */
function compileCondition(
  statement: ForStatement,
  test: Expression,
  place: Place,
): (frame: Frame, items: Value) => Value {
  const scope = new FunctionScope(place.symbols.scope)
  const symbols = new Symbols(scope, place.symbols)
  symbols.visitTarget(statement.target, true)
  symbols.visitExpression(test)
  const inner = { symbols, isSoft: false, isTop: false, isInLoop: false }
  const enter = enterScope(inner)
  const assign = compileTarget(statement.target, inner)
  const decide = compileExpression(test, inner)
  return (frame, items) => {
    function* chosen(): IterableIterator<Value> {
      const own = new Frame(scope.slotCount, frame, frame.context, frame.run)
      enter(own)
      const iterator = iterate(items)
      for (let step = iterator.next(); step.done !== true; step = iterator.next()) {
        assign(own, step.value)
        if (isTrue(decide(own))) yield step.value
      }
    }
    return new PythonIterator(chosen())
  }
}

function nextOf(iterator: Iterator<Value> | null): Value | undefined {
  const step = iterator?.next()
  return step === undefined || step.done === true ? undefined : step.value
}
