import type { CallArguments, Expression, IfStatement, Statement, Target } from './syntax.ts'
import { TemplateSyntaxError } from './syntax.ts'

/**
 * Which variable a name means, decided before anything runs, as Jinja's
 * compiler decides it.
 *
 * A template becomes functions (the root, macros, bodies of call blocks,
 * recursive loops, loop conditions, blocks). A function has slots for its
 * variables; a nested function reads its parents' slots as they are at the time
 * of the read. Inside a function, scopes nest (loop bodies, `with`, captured
 * blocks): a name first stored in a scope gets a slot of that scope, which
 * starts as a copy of the outer variable of that name, so that assignments in a
 * loop don't leak. `if` opens no scope. A name that is never stored in reach is
 * looked up among the template's variables when its scope is entered.
 */

/** One function's slots, and the function that it is nested in. */
export class FunctionScope {
  readonly parent: FunctionScope | null
  private readonly slots = new Map<string, number>()

  constructor(parent: FunctionScope | null) {
    this.parent = parent
  }
  get slotCount(): number {
    return this.slots.size
  }
  slot(level: number, name: string): number {
    const key = `${level} ${name}`
    const known = this.slots.get(key)
    if (known !== undefined) return known
    this.slots.set(key, this.slots.size)
    return this.slots.size - 1
  }
}

export interface Reference {
  readonly scope: FunctionScope
  readonly slot: number
}

/** What a slot holds when its scope is entered. */
export type Load =
  | { readonly kind: 'parameter' }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'alias'; readonly reference: Reference }
  | { readonly kind: 'undefined' }

export class Symbols {
  readonly scope: FunctionScope
  readonly level: number
  readonly parent: Symbols | null
  private readonly references: Map<string, Reference>
  private readonly loadOf: Map<string, Load>
  private readonly storedNames: Set<string>

  constructor(scope: FunctionScope, parent: Symbols | null, copied?: Symbols) {
    this.scope = scope
    this.parent = parent
    this.level = parent === null ? 0 : parent.level + 1
    this.references = new Map(copied?.references)
    this.loadOf = new Map(copied?.loadOf)
    this.storedNames = new Set(copied?.storedNames)
  }

  private copy(): Symbols {
    return new Symbols(this.scope, this.parent, this)
  }

  /** The loads of this scope, to be done when it is entered. */
  *loads(): IterableIterator<{ readonly slot: number; readonly load: Load }> {
    for (const [name, load] of this.loadOf) {
      const reference = this.references.get(name)
      if (reference !== undefined) yield { slot: reference.slot, load }
    }
  }

  /** Every name stored in this scope or around it. */
  storedInReach(): Map<string, Reference> {
    const result = this.parent?.storedInReach() ?? new Map<string, Reference>()
    for (const name of this.storedNames) {
      const reference = this.find(name)
      if (reference !== null) result.set(name, reference)
    }
    return result
  }

  find(name: string): Reference | null {
    return this.references.get(name) ?? this.parent?.find(name) ?? null
  }

  /** Throws where Jinja's own compiler fails an assertion: a name that its analysis does not visit. */
  reference(name: string, line: number): Reference {
    const found = this.find(name)
    if (found === null) throw new TemplateSyntaxError(`'${name}' is unknown to the frame`, line)
    return found
  }

  private define(name: string, load: Load): Reference {
    const reference = { scope: this.scope, slot: this.scope.slot(this.level, name) }
    this.references.set(name, reference)
    this.loadOf.set(name, load)
    return reference
  }

  declareParameter(name: string): Reference {
    this.storedNames.add(name)
    return this.define(name, { kind: 'parameter' })
  }

  load(name: string): void {
    if (this.find(name) === null) this.define(name, { kind: 'variable', name })
  }

  store(name: string): void {
    this.storedNames.add(name)
    if (this.references.has(name)) return
    const outer = this.parent?.find(name) ?? null
    this.define(name, outer === null ? { kind: 'undefined' } : { kind: 'alias', reference: outer })
  }

  /** Joins the branches of an `if`: what only a branch stores starts as the variable of that name. */
  private joinBranches(branches: readonly Symbols[]): void {
    const stored = new Set(branches.flatMap((branch) => [...branch.storedNames]))
    for (const name of this.storedNames) stored.delete(name)
    for (const branch of branches) {
      for (const [name, reference] of branch.references) this.references.set(name, reference)
      for (const [name, load] of branch.loadOf) this.loadOf.set(name, load)
      for (const name of branch.storedNames) this.storedNames.add(name)
    }
    for (const name of stored) {
      const outer = this.parent?.find(name) ?? null
      this.loadOf.set(name, outer === null ? { kind: 'variable', name } : { kind: 'alias', reference: outer })
    }
  }

  visitTarget(target: Target, isParameter = false): void {
    if (target.kind === 'tuple') for (const item of target.items) this.visitTarget(item, isParameter)
    else if (target.kind === 'namespace-target') this.load(target.name)
    else if (isParameter) this.declareParameter(target.name)
    else this.store(target.name)
  }

  visitExpression(expression: Expression | null): void {
    if (expression === null) return
    if (expression.kind === 'name') this.load(expression.name)
    else for (const child of childExpressions(expression)) this.visitExpression(child)
  }

  visitStatements(statements: readonly Statement[]): void {
    for (const statement of statements) this.visitStatement(statement)
  }

  /** Names that a statement reads and writes in the scope it stands in; not those of the scopes that it opens. */
  private visitStatement(statement: Statement): void {
    switch (statement.kind) {
      case 'output':
        for (const item of statement.items) if (item.kind !== 'data') this.visitExpression(item)
        break
      case 'if':
        this.visitIf(statement.branches, statement.otherwise)
        break
      case 'for':
        this.visitExpression(statement.iterable)
        break
      case 'macro':
        this.store(statement.name)
        break
      case 'call-block':
        this.visitExpression(statement.call)
        break
      case 'filter-block':
        this.visitExpression(statement.filter)
        break
      case 'with':
        for (const { value } of statement.assignments) this.visitExpression(value)
        break
      case 'assign':
        this.visitExpression(statement.value)
        this.visitTarget(statement.target)
        break
      case 'assign-block':
        this.visitTarget(statement.target)
        break
      case 'other-template':
        this.visitExpression(statement.reference)
        for (const name of statement.targets) this.store(name)
        break
      default:
        break
    }
  }

  private visitIf(branches: IfStatement['branches'], otherwise: readonly Statement[]): void {
    const [first, ...rest] = branches
    if (first === undefined) return
    this.visitExpression(first.test)
    const body = this.copy()
    body.visitStatements(first.body)
    const alternatives = this.copy()
    for (const branch of rest) alternatives.visitIf([branch], [])
    const last = this.copy()
    last.visitStatements(otherwise)
    this.joinBranches([body, alternatives, last])
  }
}

function argumentExpressions(given: CallArguments): Expression[] {
  const spreads = [given.spreadPositional, given.spreadKeywords].filter((spread) => spread !== null)
  return [...given.positional, ...given.keywords.map(({ value }) => value), ...spreads]
}

/** The direct parts of an expression, in the order in which Jinja's tree lists them. */
function childExpressions(expression: Expression): Expression[] {
  switch (expression.kind) {
    case 'tuple':
    case 'list':
    case 'concat':
      return [...expression.items]
    case 'dict':
      return expression.entries.flat()
    case 'sign':
    case 'not':
      return [expression.operand]
    case 'logical':
    case 'arithmetic':
      return [expression.left, expression.right]
    case 'compare':
      return [expression.first, ...expression.rest.map(({ operand }) => operand)]
    case 'conditional':
      return [expression.test, expression.whenTrue, ...(expression.otherwise === null ? [] : [expression.otherwise])]
    case 'attribute':
      return [expression.object]
    case 'item':
      return [expression.object, expression.key]
    case 'slice':
      return [expression.start, expression.stop, expression.step].filter((part) => part !== null)
    case 'call':
      return [expression.callee, ...argumentExpressions(expression.arguments)]
    case 'filter':
      return [
        ...(expression.operand === null ? [] : [expression.operand]),
        ...argumentExpressions(expression.arguments),
      ]
    case 'test':
      return [expression.operand, ...argumentExpressions(expression.arguments)]
    default:
      return []
  }
}

interface Mention {
  readonly name: string
  readonly kind: 'load' | 'store' | 'parameter'
}

function* targetMentions(target: Target, kind: Mention['kind']): IterableIterator<Mention> {
  if (target.kind === 'tuple') for (const item of target.items) yield* targetMentions(item, kind)
  else if (target.kind === 'name') yield { name: target.name, kind }
}

function* expressionMentions(expression: Expression | null): IterableIterator<Mention> {
  if (expression === null) return
  if (expression.kind === 'name') yield { name: expression.name, kind: 'load' }
  for (const child of childExpressions(expression)) yield* expressionMentions(child)
}

/** Every mention of a name, in the order of Jinja's tree; blocks only where asked for. */
function* mentions(statements: readonly Statement[], withBlocks: boolean): IterableIterator<Mention> {
  for (const statement of statements) yield* statementMentions(statement, withBlocks)
}

function* statementMentions(statement: Statement, withBlocks: boolean): IterableIterator<Mention> {
  switch (statement.kind) {
    case 'output':
      for (const item of statement.items) if (item.kind !== 'data') yield* expressionMentions(item)
      return
    case 'for':
      yield* targetMentions(statement.target, 'store')
      yield* expressionMentions(statement.iterable)
      yield* mentions(statement.body, withBlocks)
      yield* mentions(statement.otherwise, withBlocks)
      return yield* expressionMentions(statement.test)
    case 'if':
      for (const { test, body } of statement.branches) {
        yield* expressionMentions(test)
        yield* mentions(body, withBlocks)
      }
      return yield* mentions(statement.otherwise, withBlocks)
    case 'macro':
    case 'call-block':
      if (statement.kind === 'call-block') yield* expressionMentions(statement.call)
      for (const { name } of statement.parameters) yield { name, kind: 'parameter' }
      for (const value of statement.defaults) yield* expressionMentions(value)
      return yield* mentions(statement.body, withBlocks)
    case 'filter-block':
      yield* mentions(statement.body, withBlocks)
      return yield* expressionMentions(statement.filter)
    case 'with':
      for (const { target } of statement.assignments) yield* targetMentions(target, 'parameter')
      for (const { value } of statement.assignments) yield* expressionMentions(value)
      return yield* mentions(statement.body, withBlocks)
    case 'assign':
      yield* targetMentions(statement.target, 'store')
      return yield* expressionMentions(statement.value)
    case 'assign-block':
      yield* targetMentions(statement.target, 'store')
      yield* expressionMentions(statement.filter)
      return yield* mentions(statement.body, withBlocks)
    case 'scope':
      return yield* mentions(statement.body, withBlocks)
    case 'block':
      if (withBlocks) yield* mentions(statement.body, withBlocks)
      return
    case 'other-template':
      return yield* expressionMentions(statement.reference)
    default:
      return
  }
}

/** Those of `names` that are read before anything stores them. */
export function undeclaredNames(statements: readonly Statement[], names: readonly string[]): Set<string> {
  const open = new Set(names)
  const undeclared = new Set<string>()
  for (const { name, kind } of mentions(statements, false)) {
    if (!open.has(name)) continue
    if (kind === 'load') undeclared.add(name)
    else open.delete(name)
  }
  return undeclared
}

/** Whether a statement, or anything in it, assigns to a name. */
export function storesName(statement: Statement, wanted: string): boolean {
  for (const { name, kind } of statementMentions(statement, true)) if (kind === 'store' && name === wanted) return true
  return false
}

/** Every block, however deep. */
export function* blocksOf(statements: readonly Statement[]): IterableIterator<Extract<Statement, { kind: 'block' }>> {
  for (const statement of statements) {
    if (statement.kind === 'block') yield statement
    if (statement.kind === 'if') {
      for (const { body } of statement.branches) yield* blocksOf(body)
      yield* blocksOf(statement.otherwise)
    } else if (statement.kind === 'for') {
      yield* blocksOf(statement.body)
      yield* blocksOf(statement.otherwise)
    } else if ('body' in statement) yield* blocksOf(statement.body)
  }
}
