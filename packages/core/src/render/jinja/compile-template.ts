import { call, isTrue, iterate, toList, tryIterate } from '../python/operators.ts'
import { templateRuntimeError, typeError, valueError } from '../python/python-error.ts'
import { quote, str, typeName } from '../python/represent.ts'
import { joinAll } from '../python/text.ts'
import { noKeywords, PythonIterator, type Str, type Value } from '../python/values.ts'
import {
  compileArguments,
  compileExpression,
  compileFilter,
  compileOutput,
  type Evaluate,
  type Place,
  slotReader,
  soften,
} from './compile-expression.ts'
import { LoopContext, Macro, Namespace } from './objects.ts'
import { parseTemplate } from './parser.ts'
import { type Context, Frame, type Run } from './run.ts'
import { blocksOf, FunctionScope, Symbols, storesName, undeclaredNames } from './symbols.ts'
import {
  type CallBlock,
  type ForStatement,
  type IfStatement,
  type MacroBody,
  type Statement,
  type Target,
  TemplateSyntaxError,
} from './syntax.ts'

/**
 * Statements to functions that write into a list of strings.
 *
 * A statement returns how its sequence goes on: `next`, or `break` or
 * `continue` for the loop around it. Scopes are entered by doing their loads
 * (symbols.ts); a loop body enters its scope at every item.
 */
type Completion = 'next' | 'break' | 'continue'
type Execute = (frame: Frame, out: Str[]) => Completion
type Recurse = (items: Value, depth: number) => Value
type Assign = (frame: Frame, value: Value) => void

/** A compiled template: renders the variables of a context into pieces of text. */
export type Render = (context: Context, run: Run) => Str[]

/** Throws TemplateSyntaxError. */
export function compileTemplate(source: string): Render {
  return new Compiler(parseTemplate(source)).compile()
}

class Compiler {
  private readonly statements: readonly Statement[]
  private readonly blocks = new Map<string, Execute>()
  private readonly hasBlocks: boolean

  constructor(statements: readonly Statement[]) {
    this.statements = statements
    this.hasBlocks = !blocksOf(statements).next().done
  }

  compile(): Render {
    if (undeclaredNames(this.statements, ['self']).size > 0) throw new TemplateSyntaxError('self is not supported', 1)
    const scope = new FunctionScope(null)
    const symbols = new Symbols(scope, null)
    symbols.visitStatements(this.statements)
    const place = { symbols, isSoft: false, isTop: true, isInLoop: false }
    this.compileBlocks()
    const enter = this.entry(place)
    const body = this.sequence(this.statements, place)
    return (context, run) => {
      const frame = new Frame(scope.slotCount, null, context, run)
      const out: Str[] = []
      enter(frame)
      body(frame, out)
      return out
    }
  }

  /** A block runs in a function of its own that sees only the template's variables. */
  private compileBlocks(): void {
    const seen = new Set<string>()
    for (const block of blocksOf(this.statements)) {
      if (seen.has(block.name)) throw new TemplateSyntaxError(`block ${quote(block.name)} defined twice`, block.line)
      seen.add(block.name)
      const scope = new FunctionScope(null)
      const symbols = new Symbols(scope, null)
      symbols.visitStatements(block.body)
      const place = { symbols, isSoft: false, isTop: false, isInLoop: false }
      const enter = this.entry(place)
      const body = this.sequence(block.body, place)
      this.blocks.set(block.name, (frame, out) => {
        const inner = new Frame(scope.slotCount, null, frame.context, frame.run)
        enter(inner)
        return body(inner, out)
      })
    }
  }

  /** Does the loads of a scope. */
  private entry(place: Place): (frame: Frame) => void {
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
  private exit(place: Place): (frame: Frame) => void {
    const slots = [...place.symbols.loads()].map(({ slot }) => slot)
    return (frame) => {
      for (const slot of slots) frame.slots[slot] = undefined
    }
  }

  private sequence(statements: readonly Statement[], place: Place): Execute {
    const compiled = statements.map((statement) => this.statement(statement, place))
    const [only] = compiled
    if (compiled.length === 1 && only !== undefined) return only
    return (frame, out) => {
      for (const execute of compiled) {
        const completion = execute(frame, out)
        if (completion !== 'next') return completion
      }
      return 'next'
    }
  }

  private statement(statement: Statement, place: Place): Execute {
    const execute = this.compileStatement(statement, place)
    const { line } = statement
    return (frame, out) => {
      frame.run.line = line
      return execute(frame, out)
    }
  }

  private compileStatement(statement: Statement, place: Place): Execute {
    switch (statement.kind) {
      case 'output':
        return this.output(statement, place)
      case 'for':
        return this.for(statement, place)
      case 'if':
        return this.if(statement, place)
      case 'macro':
        return this.macroStatement(statement, place)
      case 'call-block':
        return this.callBlock(statement, place)
      case 'filter-block':
        return this.filterBlock(statement, place)
      case 'with':
        return this.with(statement, place)
      case 'assign':
        return this.assign(statement, place)
      case 'assign-block':
        return this.assignBlock(statement, place)
      case 'scope':
        return this.scope(statement.body, place)
      case 'block':
        return this.block(statement, place)
      case 'other-template':
        return this.otherTemplate(statement, place)
      default:
        if (!place.isInLoop) throw new TemplateSyntaxError(`'${statement.kind}' outside loop`, statement.line)
        return () => statement.kind
    }
  }

  private output(statement: Extract<Statement, { kind: 'output' }>, place: Place): Execute {
    const items = statement.items.map((item) => {
      if (item.kind === 'data') {
        const { text } = item
        return { line: item.line, write: (): Str => text }
      }
      return { line: item.line, write: compileOutput(item, place) }
    })
    return (frame, out) => {
      for (const { line, write } of items) {
        frame.run.line = line
        out.push(write(frame))
      }
      return 'next'
    }
  }

  private if(statement: IfStatement, place: Place): Execute {
    const soft = soften(place)
    const branches = statement.branches.map(({ test, body, line }) => ({
      test: compileExpression(test, soft),
      body: this.sequence(body, soft),
      line,
    }))
    const otherwise = this.sequence(statement.otherwise, soft)
    return (frame, out) => {
      for (const { test, body, line } of branches) {
        frame.run.line = line
        if (isTrue(test(frame))) return body(frame, out)
      }
      return otherwise(frame, out)
    }
  }

  // Loops

  private for(statement: ForStatement, place: Place): Execute {
    if (storesName(statement, 'loop')) {
      throw new TemplateSyntaxError("Can't assign to special loop variable in for-loop target", statement.line)
    }
    const iterable = compileExpression(statement.iterable, place)
    const condition = statement.test === null ? null : this.loopCondition(statement, statement.test, place)
    if (!statement.isRecursive) {
      const loop = this.loop(statement, place, place.symbols.scope)
      const filtered: Evaluate = condition === null ? iterable : (frame) => condition(frame, iterable(frame))
      return (frame, out) => loop(frame, out, filtered(frame), null, 0)
    }
    const scope = new FunctionScope(place.symbols.scope)
    const loop = this.loop(statement, place, scope)
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
  private loop(
    statement: ForStatement,
    place: Place,
    scope: FunctionScope,
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
    const assign = this.target(statement.target, inner)
    const enter = this.entry(inner)
    const exit = this.exit(inner)
    const body = this.sequence(statement.body, inner)
    const otherwise = this.loopElse(statement, place, scope)
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

  private loopElse(statement: ForStatement, place: Place, scope: FunctionScope): Execute {
    if (statement.otherwise.length === 0) return () => 'next'
    const symbols = new Symbols(scope, place.symbols)
    symbols.visitStatements(statement.otherwise)
    const isInLoop = place.isInLoop && !statement.isRecursive
    const inner = { symbols, isSoft: false, isTop: false, isInLoop }
    const enter = this.entry(inner)
    const exit = this.exit(inner)
    const body = this.sequence(statement.otherwise, inner)
    return (frame, out) => {
      enter(frame)
      const completion = body(frame, out)
      exit(frame)
      return completion
    }
  }

  /** `for x in items if test`: a lazy filter in a function of its own. */
  private loopCondition(
    statement: ForStatement,
    test: Parameters<typeof compileExpression>[0],
    place: Place,
  ): (frame: Frame, items: Value) => Value {
    const scope = new FunctionScope(place.symbols.scope)
    const symbols = new Symbols(scope, place.symbols)
    symbols.visitTarget(statement.target, true)
    symbols.visitExpression(test)
    const inner = { symbols, isSoft: false, isTop: false, isInLoop: false }
    const enter = this.entry(inner)
    const assign = this.target(statement.target, inner)
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

  // Functions

  private macroStatement(statement: Extract<Statement, { kind: 'macro' }>, place: Place): Execute {
    const make = this.macro(statement, statement.name, place)
    const assign = this.target({ kind: 'name', name: statement.name, line: statement.line }, place)
    const isExported = place.isTop && this.hasBlocks
    return (frame) => {
      const macro = make(frame)
      assign(frame, macro)
      if (isExported) frame.context.export(statement.name, macro)
      return 'next'
    }
  }

  private macro(statement: MacroBody, name: string | null, place: Place): (frame: Frame) => Macro {
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
    const enter = this.entry(inner)
    const defaults = this.parameterDefaults(statement, slots, inner)
    const body = this.sequence(statement.body, inner)
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
  private parameterDefaults(statement: MacroBody, slots: readonly number[], place: Place): ((frame: Frame) => void)[] {
    const firstDefault = statement.parameters.length - statement.defaults.length
    return statement.defaults.map((expression, index) => {
      const value = compileExpression(expression, place)
      const slot = slots[firstDefault + index] ?? 0
      return (frame) => {
        if (frame.slots[slot] === undefined) frame.slots[slot] = value(frame)
      }
    })
  }

  private callBlock(statement: CallBlock, place: Place): Execute {
    const make = this.macro(statement, null, place)
    if (statement.call === null) {
      return (frame, out) => {
        out.push(str(make(frame).call([], noKeywords)))
        return 'next'
      }
    }
    if (statement.call.arguments.keywords.some((keyword) => keyword.name === 'caller')) {
      throw new TemplateSyntaxError('keyword argument repeated: caller', statement.line)
    }
    const callee = compileExpression(statement.call.callee, place)
    const given = compileArguments(statement.call.arguments, place)
    return (frame, out) => {
      const caller = make(frame)
      const called = callee(frame)
      const { positional, keywords } = given(frame)
      if (keywords.has('caller')) throw typeError("got multiple values for keyword argument 'caller'")
      out.push(str(call(called, positional, new Map([...keywords, ['caller', caller]]))))
      return 'next'
    }
  }

  // Captured text

  private filterBlock(statement: Extract<Statement, { kind: 'filter-block' }>, place: Place): Execute {
    const symbols = new Symbols(place.symbols.scope, place.symbols)
    symbols.visitStatements(statement.body)
    symbols.visitExpression(statement.filter)
    const inner = { ...place, symbols, isSoft: false, isTop: false }
    const enter = this.entry(inner)
    const exit = this.exit(inner)
    const body = this.sequence(statement.body, inner)
    const filter = compileFilter(statement.filter, inner)
    return (frame, out) => {
      enter(frame)
      const written: Str[] = []
      const completion = body(frame, written)
      if (completion !== 'next') return completion
      frame.run.blockText = joinAll(written)
      out.push(str(filter(frame)))
      exit(frame)
      return 'next'
    }
  }

  private assignBlock(statement: Extract<Statement, { kind: 'assign-block' }>, place: Place): Execute {
    const symbols = new Symbols(place.symbols.scope, place.symbols)
    symbols.visitStatements(statement.body)
    const inner = { ...place, symbols, isSoft: false, isTop: false }
    const enter = this.entry(inner)
    const exit = this.exit(inner)
    const body = this.sequence(statement.body, inner)
    const filter = statement.filter === null ? null : compileFilter(statement.filter, inner)
    const assign = this.checkedTarget(statement.target, place)
    return (frame) => {
      enter(frame)
      const written: Str[] = []
      const completion = body(frame, written)
      if (completion !== 'next') return completion
      const text = joinAll(written)
      frame.run.blockText = text
      assign(frame, filter === null ? text : filter(frame))
      exit(frame)
      return 'next'
    }
  }

  // Scopes and assignments

  private with(statement: Extract<Statement, { kind: 'with' }>, place: Place): Execute {
    const symbols = new Symbols(place.symbols.scope, place.symbols)
    for (const { target } of statement.assignments) symbols.visitTarget(target, true)
    symbols.visitStatements(statement.body)
    const inner = { ...place, symbols, isSoft: false, isTop: false }
    const assignments = statement.assignments.map(({ target, value }) => ({
      assign: this.target(target, inner),
      value: compileExpression(value, place),
    }))
    const enter = this.entry(inner)
    const exit = this.exit(inner)
    const body = this.sequence(statement.body, inner)
    return (frame, out) => {
      enter(frame)
      for (const { assign, value } of assignments) assign(frame, value(frame))
      const completion = body(frame, out)
      if (completion === 'next') exit(frame)
      return completion
    }
  }

  private scope(statements: readonly Statement[], place: Place): Execute {
    const symbols = new Symbols(place.symbols.scope, place.symbols)
    symbols.visitStatements(statements)
    const inner = { ...place, symbols, isSoft: false, isTop: false }
    const enter = this.entry(inner)
    const exit = this.exit(inner)
    const body = this.sequence(statements, inner)
    return (frame, out) => {
      enter(frame)
      const completion = body(frame, out)
      if (completion === 'next') exit(frame)
      return completion
    }
  }

  private assign(statement: Extract<Statement, { kind: 'assign' }>, place: Place): Execute {
    const assign = this.checkedTarget(statement.target, place)
    const value = compileExpression(statement.value, place)
    const check = this.namespaceCheck(statement.target, place)
    return (frame) => {
      check(frame)
      assign(frame, value(frame))
      return 'next'
    }
  }

  /** Assigns, and at the top of the template also shows the names to its blocks. */
  private checkedTarget(target: Target, place: Place): Assign {
    const assign = this.target(target, place)
    if (!place.isTop || !this.hasBlocks) return assign
    const exports = namesOf(target).map((name) => ({
      name,
      read: slotReader(place, place.symbols.reference(name, target.line)),
    }))
    return (frame, value) => {
      assign(frame, value)
      for (const { name, read } of exports) frame.context.export(name, read(frame))
    }
  }

  /** Jinja looks at the namespaces before it evaluates what is assigned. */
  private namespaceCheck(target: Target, place: Place): (frame: Frame) => void {
    if (target.kind === 'tuple') {
      const checks = target.items.map((item) => this.namespaceCheck(item, place))
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

  private target(target: Target, place: Place): Assign {
    if (target.kind === 'tuple') {
      const targets = target.items.map((item) => this.target(item, place))
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

  // Blocks and other templates

  private block(statement: Extract<Statement, { kind: 'block' }>, place: Place): Execute {
    const { name, isRequired, isScoped } = statement
    const locals = isScoped
      ? [...place.symbols.storedInReach()].map(([local, reference]) => [local, slotReader(place, reference)] as const)
      : []
    return (frame, out) => {
      if (isRequired) throw templateRuntimeError(`Required block ${quote(name)} not found`)
      const values = locals.flatMap(([local, read]) => {
        const value = read(frame)
        return value === undefined ? [] : [[local, value] as const]
      })
      const outer = isScoped ? new Frame(0, null, frame.context.derive(values), frame.run) : frame
      this.blocks.get(name)?.(outer, out)
      return 'next'
    }
  }

  private otherTemplate(
    { statement, line, reference }: Extract<Statement, { kind: 'other-template' }>,
    place: Place,
  ): Execute {
    if (statement === 'extends' && !place.isTop) {
      throw new TemplateSyntaxError('cannot use extend from a non top-level scope', line)
    }
    const evaluate = compileExpression(reference, place)
    return (frame) => {
      evaluate(frame)
      throw typeError('no loader for this environment specified')
    }
  }
}

function nextOf(iterator: Iterator<Value> | null): Value | undefined {
  const step = iterator?.next()
  return step === undefined || step.done === true ? undefined : step.value
}

function namesOf(target: Target): string[] {
  if (target.kind === 'tuple') return target.items.flatMap(namesOf)
  return target.kind === 'name' ? [target.name] : []
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
