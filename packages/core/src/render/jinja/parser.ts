import type { ArithmeticOperator } from '../python/numbers.ts'
import { Float } from '../python/values.ts'
import { type Token, tokenize } from './lexer.ts'
import {
  type CallArguments,
  type CallBlock,
  type CallExpression,
  type CompareOperator,
  type Expression,
  type FilterExpression,
  type ForStatement,
  type IfStatement,
  type MacroStatement,
  type Name,
  type Statement,
  type Target,
  type TemplateData,
  TemplateSyntaxError,
} from './syntax.ts'

/**
 * Tokens to a syntax tree, by recursive descent. The grammar is Jinja 3.1's with
 * the tags that transformers adds: `break`, `continue` and `generation`.
 *
 * Precedence, loosest first: `x if y else z`, or, and, not, comparisons (they
 * chain), + -, ~, * / // %, ** (to the left), sign, then postfix and filters.
 */

/** Throws TemplateSyntaxError. */
export function parseTemplate(source: string): Statement[] {
  return new Parser(tokenize(source)).parse()
}

const compareOperators: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>='])
const otherTemplateTags: ReadonlySet<string> = new Set(['extends', 'include', 'import', 'from'])

class Parser {
  private readonly tokens: readonly Token[]
  private position = 0

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens
  }

  parse(): Statement[] {
    return this.statements(null)
  }

  // Tokens

  private get current(): Token {
    return this.tokens[this.position] ?? { kind: 'end', line: this.tokens.at(-1)?.line ?? 1 }
  }

  private get following(): Token {
    return this.tokens[this.position + 1] ?? this.current
  }

  private next(): Token {
    const token = this.current
    if (token.kind !== 'end') this.position += 1
    return token
  }

  private fail(message: string, line = this.current.line): never {
    throw new TemplateSyntaxError(message, line)
  }

  private describe(token: Token): string {
    if (token.kind === 'end') return 'end of template'
    if (token.kind === 'name' || token.kind === 'operator' || token.kind === 'string') return token.text
    return token.kind === 'integer' || token.kind === 'float' ? String(token.value) : token.kind
  }

  private isOperator(text: string, token: Token = this.current): boolean {
    return token.kind === 'operator' && token.text === text
  }

  private isName(text: string, token: Token = this.current): boolean {
    return token.kind === 'name' && token.text === text
  }

  private skipOperator(text: string): boolean {
    if (!this.isOperator(text)) return false
    this.position += 1
    return true
  }

  private skipName(text: string): boolean {
    if (!this.isName(text)) return false
    this.position += 1
    return true
  }

  private expectOperator(text: string): Token {
    if (!this.isOperator(text)) this.fail(`expected token '${text}', got '${this.describe(this.current)}'`)
    return this.next()
  }

  private expectKind(kind: Token['kind']): Token {
    if (this.current.kind !== kind) this.fail(`expected token '${kind}', got '${this.describe(this.current)}'`)
    return this.next()
  }

  private expectName(text?: string): { text: string; line: number } {
    const token = this.current
    if (token.kind !== 'name' || (text !== undefined && token.text !== text)) {
      this.fail(`expected token '${text ?? 'name'}', got '${this.describe(token)}'`)
    }
    this.position += 1
    return token
  }

  // Statements

  /** Statements up to one of the end tags, which stays the current token; null: up to the end of the template. */
  private statements(endTags: readonly string[] | null): Statement[] {
    const body: Statement[] = []
    let output: (Expression | TemplateData)[] = []
    const flush = (): void => {
      if (output.length > 0) body.push({ kind: 'output', items: output, line: output[0]?.line ?? 1 })
      output = []
    }
    while (this.current.kind !== 'end') {
      const token = this.next()
      if (token.kind === 'data') output.push({ kind: 'data', text: token.text, line: token.line })
      else if (token.kind === 'variable-begin') {
        output.push(this.tuple())
        this.expectKind('variable-end')
      } else {
        flush()
        const tag = this.current
        if (tag.kind === 'name' && endTags?.includes(tag.text)) return body
        body.push(this.statement())
        this.expectKind('block-end')
      }
    }
    flush()
    if (endTags !== null) this.fail(`Unexpected end of template. Jinja was looking for: ${endTags.join(' or ')}`)
    return body
  }

  /** The body of a tag: an optional colon, the end of the tag, statements, and the end tag, whose name is returned. */
  private body(...endTags: readonly string[]): { statements: Statement[]; endTag: string } {
    this.skipOperator(':')
    this.expectKind('block-end')
    const statements = this.statements(endTags)
    return { statements, endTag: this.expectName().text }
  }

  private statement(): Statement {
    const token = this.current
    if (token.kind !== 'name') this.fail('tag name expected')
    const { text: tag, line } = token
    if (otherTemplateTags.has(tag)) return this.otherTemplate()
    switch (tag) {
      case 'for':
        return this.forStatement()
      case 'if':
        return this.ifStatement()
      case 'macro':
        return this.macro()
      case 'call':
        return this.callBlock()
      case 'set':
        return this.set()
      case 'with':
        return this.with()
      case 'filter':
        return this.filterBlock()
      case 'print':
        return this.print()
      case 'block':
        return this.block()
      case 'autoescape':
        return this.autoescape()
      case 'generation':
        this.position += 1
        return {
          kind: 'call-block',
          call: null,
          parameters: [],
          defaults: [],
          body: this.body('endgeneration').statements,
          line,
        }
      case 'break':
      case 'continue':
        this.position += 1
        return { kind: tag, line }
      default:
        return this.fail(`Encountered unknown tag '${tag}'`)
    }
  }

  private forStatement(): ForStatement {
    const { line } = this.next()
    const target = this.target({ endsAtIn: true })
    this.expectName('in')
    const iterable = this.tuple({ withConditional: false, endName: 'recursive' })
    const test = this.skipName('if') ? this.expression() : null
    const isRecursive = this.skipName('recursive')
    const { statements, endTag } = this.body('endfor', 'else')
    const otherwise = endTag === 'else' ? this.body('endfor').statements : []
    return { kind: 'for', target, iterable, body: statements, otherwise, test, isRecursive, line }
  }

  private ifStatement(): IfStatement {
    const { line } = this.next()
    const branches: IfStatement['branches'][number][] = []
    for (;;) {
      const branchLine = this.current.line
      const test = this.tuple({ withConditional: false })
      const { statements, endTag } = this.body('elif', 'else', 'endif')
      branches.push({ test, body: statements, line: branchLine })
      if (endTag === 'elif') continue
      return { kind: 'if', branches, otherwise: endTag === 'else' ? this.body('endif').statements : [], line }
    }
  }

  private set(): Statement {
    const { line } = this.next()
    const target = this.target({ withNamespace: true })
    if (this.skipOperator('=')) return { kind: 'assign', target, value: this.tuple(), line }
    const filter = this.filters(null)
    return { kind: 'assign-block', target, filter, body: this.body('endset').statements, line }
  }

  private with(): Statement {
    const { line } = this.next()
    const assignments: { target: Target; value: Expression }[] = []
    while (this.current.kind !== 'block-end') {
      if (assignments.length > 0) this.expectOperator(',')
      const target = this.target({})
      this.expectOperator('=')
      assignments.push({ target, value: this.expression() })
    }
    return { kind: 'with', assignments, body: this.body('endwith').statements, line }
  }

  private parameterList(): { parameters: Name[]; defaults: Expression[] } {
    const parameters: Name[] = []
    const defaults: Expression[] = []
    this.expectOperator('(')
    while (!this.isOperator(')')) {
      if (parameters.length > 0) this.expectOperator(',')
      const parameter = this.nameTarget()
      if (this.skipOperator('=')) defaults.push(this.expression())
      else if (defaults.length > 0) this.fail('non-default argument follows default argument')
      parameters.push(parameter)
    }
    this.expectOperator(')')
    return { parameters, defaults }
  }

  private macro(): MacroStatement {
    const { line } = this.next()
    const { name } = this.nameTarget()
    return { kind: 'macro', name, ...this.parameterList(), body: this.body('endmacro').statements, line }
  }

  private callBlock(): CallBlock {
    const { line } = this.next()
    const list = this.isOperator('(') ? this.parameterList() : { parameters: [], defaults: [] }
    const call = this.expression()
    if (call.kind !== 'call') this.fail('expected call', line)
    return { kind: 'call-block', call, ...list, body: this.body('endcall').statements, line }
  }

  private filterBlock(): Statement {
    const { line } = this.next()
    const filter = this.filters(null, true)
    if (filter === null) this.fail('expected a filter', line)
    return { kind: 'filter-block', filter, body: this.body('endfilter').statements, line }
  }

  private print(): Statement {
    const { line } = this.next()
    const items: Expression[] = []
    while (this.current.kind !== 'block-end') {
      if (items.length > 0) this.expectOperator(',')
      items.push(this.expression())
    }
    return { kind: 'output', items, line }
  }

  private block(): Statement {
    const { line } = this.next()
    const { text: name } = this.expectName()
    const isScoped = this.skipName('scoped')
    const isRequired = this.skipName('required')
    const { statements } = this.body('endblock')
    if (isRequired && statements.some((statement) => !isBlank(statement))) {
      this.fail('Required blocks can only contain comments or whitespace')
    }
    this.skipName(name)
    return { kind: 'block', name, isScoped, isRequired, body: statements, line }
  }

  private autoescape(): Statement {
    const { line } = this.next()
    const value = this.expression()
    if (value.kind !== 'constant' || value.value !== false) {
      this.fail('{% autoescape %} is not supported with anything but false', line)
    }
    return { kind: 'scope', body: this.body('endautoescape').statements, line }
  }

  /** `extends`, `include`, `import` and `from`: chat templates have no loader, so these parse and then fail when they are reached. */
  private otherTemplate(): Statement {
    const { text: statement, line } = this.expectName()
    const reference = this.expression()
    const targets: string[] = []
    if (statement === 'import') {
      this.expectName('as')
      targets.push(this.nameTarget().name)
    } else if (statement === 'from') {
      this.expectName('import')
      this.importedNames(targets)
    } else if (statement === 'include' && this.isName('ignore') && this.isName('missing', this.following)) {
      this.position += 2
    }
    if (statement !== 'extends') this.skipContextClause()
    return { kind: 'other-template', statement, targets, reference, line }
  }

  private importedNames(targets: string[]): void {
    for (;;) {
      if (targets.length > 0) this.expectOperator(',')
      if (this.skipContextClause()) return
      const { name, line } = this.nameTarget()
      if (name.startsWith('_')) this.fail('names starting with an underline can not be imported', line)
      targets.push(this.skipName('as') ? this.nameTarget().name : name)
      if (this.skipContextClause() || !this.isOperator(',')) return
    }
  }

  private skipContextClause(): boolean {
    const isClause = (this.isName('with') || this.isName('without')) && this.isName('context', this.following)
    if (isClause) this.position += 2
    return isClause
  }

  // Targets

  private nameTarget(): Name {
    const { text, line } = this.expectName()
    if (constants.has(text)) this.fail(`can't assign to '${text}'`, line)
    return { kind: 'name', name: text, line }
  }

  private target(options: { readonly withNamespace?: boolean; readonly endsAtIn?: boolean }): Target {
    const { line } = this.current
    const items: Target[] = []
    let isTuple = false
    for (;;) {
      if (items.length > 0) this.expectOperator(',')
      if (this.isTupleEnd(options.endsAtIn ? 'in' : null)) break
      items.push(this.singleTarget(options.withNamespace ?? false))
      if (!this.isOperator(',')) break
      isTuple = true
    }
    const [first] = items
    if (first === undefined) this.fail(`Expected an expression, got '${this.describe(this.current)}'`)
    return isTuple ? { kind: 'tuple', items, line } : first
  }

  private singleTarget(withNamespace: boolean): Target {
    const { line } = this.current
    if (this.isOperator('(')) {
      const parsed = this.primary()
      return this.asTarget(parsed, line)
    }
    if (withNamespace && this.current.kind === 'name' && this.isOperator('.', this.following)) {
      const { text: name } = this.expectName()
      if (!constants.has(name)) {
        this.position += 1
        return { kind: 'namespace-target', name, attribute: this.expectName().text, line }
      }
      this.fail("can't assign to 'const'", line)
    }
    return this.asTarget(this.primary(), line)
  }

  /** A parenthesised tuple of names is a target as well. */
  private asTarget(parsed: Expression, line: number): Target {
    if (parsed.kind === 'name') return parsed
    if (parsed.kind === 'tuple') {
      return { kind: 'tuple', items: parsed.items.map((item) => this.asTarget(item, line)), line }
    }
    return this.fail(`can't assign to '${parsed.kind}'`, line)
  }

  // Expressions

  private isTupleEnd(endName: string | null): boolean {
    const { kind } = this.current
    if (kind === 'variable-end' || kind === 'block-end' || this.isOperator(')')) return true
    return endName !== null && this.isName(endName)
  }

  /** One expression, or a tuple where commas stand. */
  private tuple(
    options: { readonly withConditional?: boolean; readonly endName?: string; readonly isParenthesized?: boolean } = {},
  ): Expression {
    let { line } = this.current
    const items: Expression[] = []
    let isTuple = false
    for (;;) {
      if (items.length > 0) this.expectOperator(',')
      if (this.isTupleEnd(options.endName ?? null)) break
      items.push(options.withConditional === false ? this.or() : this.expression())
      if (!this.isOperator(',')) break
      isTuple = true
      ;({ line } = this.current)
    }
    const [first] = items
    if (!isTuple && first !== undefined) return first
    if (!isTuple && options.isParenthesized !== true) {
      this.fail(`Expected an expression, got '${this.describe(this.current)}'`)
    }
    return { kind: 'tuple', items, line }
  }

  private expression(): Expression {
    let { line } = this.current
    let result = this.or()
    while (this.skipName('if')) {
      const test = this.or()
      const otherwise = this.skipName('else') ? this.expression() : null
      result = { kind: 'conditional', test, whenTrue: result, otherwise, line }
      ;({ line } = this.current)
    }
    return result
  }

  private or(): Expression {
    const { line } = this.current
    let left = this.and()
    while (this.skipName('or')) left = { kind: 'logical', operator: 'or', left, right: this.and(), line }
    return left
  }

  private and(): Expression {
    const { line } = this.current
    let left = this.not()
    while (this.skipName('and')) left = { kind: 'logical', operator: 'and', left, right: this.not(), line }
    return left
  }

  private not(): Expression {
    const { line } = this.current
    return this.skipName('not') ? { kind: 'not', operand: this.not(), line } : this.comparison()
  }

  private comparison(): Expression {
    const { line } = this.current
    const first = this.sum()
    const rest: { operator: CompareOperator; operand: Expression }[] = []
    for (let operator = this.compareOperator(); operator !== null; operator = this.compareOperator()) {
      rest.push({ operator, operand: this.sum() })
    }
    return rest.length === 0 ? first : { kind: 'compare', first, rest, line }
  }

  private compareOperator(): CompareOperator | null {
    const token = this.current
    if (token.kind === 'operator' && compareOperators.has(token.text)) {
      this.position += 1
      return token.text as CompareOperator
    }
    if (this.skipName('in')) return 'in'
    if (!this.isName('not') || !this.isName('in', this.following)) return null
    this.position += 2
    return 'not in'
  }

  private sum(): Expression {
    return this.leftAssociative(['+', '-'], () => this.concatenation())
  }

  private concatenation(): Expression {
    const { line } = this.current
    const first = this.product()
    const items = [first]
    while (this.skipOperator('~')) items.push(this.product())
    return items.length === 1 ? first : { kind: 'concat', items, line }
  }

  private product(): Expression {
    return this.leftAssociative(['*', '/', '//', '%'], () => this.power())
  }

  private power(): Expression {
    return this.leftAssociative(['**'], () => this.signed(true))
  }

  private leftAssociative(operators: readonly ArithmeticOperator[], operand: () => Expression): Expression {
    const { line } = this.current
    let left = operand()
    for (;;) {
      const operator = operators.find((candidate) => this.isOperator(candidate))
      if (operator === undefined) return left
      this.position += 1
      left = { kind: 'arithmetic', operator, left, right: operand(), line }
    }
  }

  private signed(withFilters: boolean): Expression {
    const { line } = this.current
    let result: Expression
    if (this.skipOperator('-')) result = { kind: 'sign', operator: '-', operand: this.signed(false), line }
    else if (this.skipOperator('+')) result = { kind: 'sign', operator: '+', operand: this.signed(false), line }
    else result = this.primary()
    result = this.postfix(result)
    return withFilters ? this.filtersAndTests(result) : result
  }

  private primary(): Expression {
    const token = this.next()
    const { line } = token
    switch (token.kind) {
      case 'name': {
        const constant = constants.get(token.text)
        return constant === undefined
          ? { kind: 'name', name: token.text, line }
          : { kind: 'constant', value: constant, line }
      }
      case 'string': {
        let value = token.text
        for (let more = this.current; more.kind === 'string'; more = this.current) {
          value += more.text
          this.position += 1
        }
        return { kind: 'constant', value, line }
      }
      case 'integer':
        return { kind: 'constant', value: token.value, line }
      case 'float':
        return { kind: 'constant', value: new Float(token.value), line }
      case 'operator':
        if (token.text === '(') {
          const inner = this.tuple({ isParenthesized: true })
          this.expectOperator(')')
          return inner
        }
        if (token.text === '[') return { kind: 'list', items: this.listItems(), line }
        if (token.text === '{') return { kind: 'dict', entries: this.dictEntries(), line }
        return this.fail(`unexpected '${token.text}'`, line)
      default:
        return this.fail(`unexpected '${this.describe(token)}'`, line)
    }
  }

  private listItems(): Expression[] {
    const items: Expression[] = []
    while (!this.isOperator(']')) {
      if (items.length > 0) this.expectOperator(',')
      if (this.isOperator(']')) break
      items.push(this.expression())
    }
    this.expectOperator(']')
    return items
  }

  private dictEntries(): (readonly [Expression, Expression])[] {
    const entries: (readonly [Expression, Expression])[] = []
    while (!this.isOperator('}')) {
      if (entries.length > 0) this.expectOperator(',')
      if (this.isOperator('}')) break
      const key = this.expression()
      this.expectOperator(':')
      entries.push([key, this.expression()])
    }
    this.expectOperator('}')
    return entries
  }

  private postfix(start: Expression): Expression {
    let result = start
    for (;;) {
      if (this.isOperator('.')) result = this.attribute(result)
      else if (this.isOperator('[')) result = this.subscript(result)
      else if (this.isOperator('(')) result = this.call(result)
      else return result
    }
  }

  private filtersAndTests(start: Expression): Expression {
    let result = start
    for (;;) {
      if (this.isOperator('|')) result = this.filters(result) ?? result
      else if (this.isName('is')) result = this.test(result)
      else if (this.isOperator('(')) result = this.call(result)
      else return result
    }
  }

  private attribute(object: Expression): Expression {
    const { line } = this.next()
    const token = this.next()
    if (token.kind === 'name') return { kind: 'attribute', object, name: token.text, line }
    if (token.kind !== 'integer') return this.fail('expected name or number', token.line)
    return { kind: 'item', object, key: { kind: 'constant', value: token.value, line }, line }
  }

  private subscript(object: Expression): Expression {
    const { line } = this.next()
    const keys: Expression[] = []
    while (!this.isOperator(']')) {
      if (keys.length > 0) this.expectOperator(',')
      keys.push(this.subscriptPart())
    }
    this.expectOperator(']')
    const [only] = keys
    const key: Expression = keys.length === 1 && only !== undefined ? only : { kind: 'tuple', items: keys, line }
    return { kind: 'item', object, key, line }
  }

  private subscriptPart(): Expression {
    const { line } = this.current
    const start = this.isOperator(':') ? null : this.expression()
    if (!this.skipOperator(':')) return start ?? this.fail('expected subscript expression')
    const stop = this.slicePart()
    const step = this.skipOperator(':') ? this.slicePart() : null
    return { kind: 'slice', start, stop, step, line }
  }

  private slicePart(): Expression | null {
    return this.isOperator(':') || this.isOperator(']') || this.isOperator(',') ? null : this.expression()
  }

  private call(callee: Expression): CallExpression {
    const { line } = this.current
    return { kind: 'call', callee, arguments: this.callArguments(), line }
  }

  private callArguments(): CallArguments {
    const { line } = this.expectOperator('(')
    const positional: Expression[] = []
    const keywords: { name: string; value: Expression }[] = []
    let spreadPositional: Expression | null = null
    let spreadKeywords: Expression | null = null
    const ensure = (isValid: boolean): void => {
      if (!isValid) this.fail('invalid syntax for function call expression', line)
    }
    let isFirst = true
    while (!this.isOperator(')')) {
      if (!isFirst) this.expectOperator(',')
      if (!isFirst && this.isOperator(')')) break
      isFirst = false
      if (this.skipOperator('*')) {
        ensure(spreadPositional === null && spreadKeywords === null)
        spreadPositional = this.expression()
      } else if (this.skipOperator('**')) {
        ensure(spreadKeywords === null)
        spreadKeywords = this.expression()
      } else if (this.current.kind === 'name' && this.isOperator('=', this.following)) {
        ensure(spreadKeywords === null)
        const { text: name } = this.expectName()
        this.position += 1
        if (keywords.some((keyword) => keyword.name === name)) this.fail(`keyword argument repeated: ${name}`, line)
        keywords.push({ name, value: this.expression() })
      } else {
        ensure(spreadPositional === null && spreadKeywords === null && keywords.length === 0)
        positional.push(this.expression())
      }
    }
    this.expectOperator(')')
    return { positional, keywords, spreadPositional, spreadKeywords }
  }

  private dottedName(): string {
    let { text } = this.expectName()
    while (this.skipOperator('.')) text += `.${this.expectName().text}`
    return text
  }

  /** A chain of filters; null where none stands. */
  private filters(operand: null, startsInline?: boolean): FilterExpression | null
  private filters(operand: Expression): Expression
  private filters(operand: Expression | null, startsInline = false): Expression | null {
    let result = operand
    let isInline = startsInline
    while (isInline || this.isOperator('|')) {
      if (!isInline) this.position += 1
      isInline = false
      const { line } = this.current
      const name = this.dottedName()
      const given = this.isOperator('(') ? this.callArguments() : noArguments
      result = { kind: 'filter', operand: result, name, arguments: given, line }
    }
    return result
  }

  private test(operand: Expression): Expression {
    const { line } = this.next()
    const isNegated = this.skipName('not')
    const name = this.dottedName()
    const given = this.isOperator('(') ? this.callArguments() : this.bareTestArgument()
    const test: Expression = { kind: 'test', operand, name, arguments: given, line }
    return isNegated ? { kind: 'not', operand: test, line } : test
  }

  /** `x is divisibleby 3`: one argument without parentheses. */
  private bareTestArgument(): CallArguments {
    const token = this.current
    const isLiteral = token.kind === 'string' || token.kind === 'integer' || token.kind === 'float'
    const isOpening = this.isOperator('[') || this.isOperator('{')
    const isOperand = token.kind === 'name' && !['else', 'or', 'and'].includes(token.text)
    if (!isLiteral && !isOpening && !isOperand) return noArguments
    if (this.isName('is')) this.fail('You cannot chain multiple tests with is')
    return { ...noArguments, positional: [this.postfix(this.primary())] }
  }
}

const noArguments: CallArguments = { positional: [], keywords: [], spreadPositional: null, spreadKeywords: null }

const constants: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
])

function isBlank(statement: Statement): boolean {
  return statement.kind === 'output' && statement.items.every((item) => item.kind === 'data' && item.text.trim() === '')
}
