import type { ArithmeticOperator } from '../python/numbers.ts'
import { Float } from '../python/values.ts'
import type { CallArguments, CallExpression, CompareOperator, Expression, FilterExpression } from './syntax.ts'
import { TokenReader } from './token-reader.ts'

/**
 * Expressions. Precedence, loosest first: `x if y else z`, or, and, not,
 * comparisons (they chain), + -, ~, * / // %, ** (to the left), sign, then
 * postfix and filters.
 */

const compareOperators: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>='])

const noArguments: CallArguments = { positional: [], keywords: [], spreadPositional: null, spreadKeywords: null }

/** Names that are values, and that nothing may be assigned to. */
export const constants: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
])

export class ExpressionParser extends TokenReader {
  protected isTupleEnd(endName: string | null): boolean {
    const { kind } = this.current
    if (kind === 'variable-end' || kind === 'block-end' || this.isOperator(')')) return true
    return endName !== null && this.isName(endName)
  }

  /** One expression, or a tuple where commas stand. */
  protected tuple(
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

  protected expression(): Expression {
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

  protected or(): Expression {
    const { line } = this.current
    let left = this.and()
    while (this.skipName('or')) left = { kind: 'logical', operator: 'or', left, right: this.and(), line }
    return left
  }

  protected and(): Expression {
    const { line } = this.current
    let left = this.not()
    while (this.skipName('and')) left = { kind: 'logical', operator: 'and', left, right: this.not(), line }
    return left
  }

  protected not(): Expression {
    const { line } = this.current
    return this.skipName('not') ? { kind: 'not', operand: this.not(), line } : this.comparison()
  }

  protected comparison(): Expression {
    const { line } = this.current
    const first = this.sum()
    const rest: { operator: CompareOperator; operand: Expression }[] = []
    for (let operator = this.compareOperator(); operator !== null; operator = this.compareOperator()) {
      rest.push({ operator, operand: this.sum() })
    }
    return rest.length === 0 ? first : { kind: 'compare', first, rest, line }
  }

  protected compareOperator(): CompareOperator | null {
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

  protected sum(): Expression {
    return this.leftAssociative(['+', '-'], () => this.concatenation())
  }

  protected concatenation(): Expression {
    const { line } = this.current
    const first = this.product()
    const items = [first]
    while (this.skipOperator('~')) items.push(this.product())
    return items.length === 1 ? first : { kind: 'concat', items, line }
  }

  protected product(): Expression {
    return this.leftAssociative(['*', '/', '//', '%'], () => this.power())
  }

  protected power(): Expression {
    return this.leftAssociative(['**'], () => this.signed(true))
  }

  protected leftAssociative(operators: readonly ArithmeticOperator[], operand: () => Expression): Expression {
    const { line } = this.current
    let left = operand()
    for (;;) {
      const operator = operators.find((candidate) => this.isOperator(candidate))
      if (operator === undefined) return left
      this.position += 1
      left = { kind: 'arithmetic', operator, left, right: operand(), line }
    }
  }

  protected signed(withFilters: boolean): Expression {
    const { line } = this.current
    let result: Expression
    if (this.skipOperator('-')) result = { kind: 'sign', operator: '-', operand: this.signed(false), line }
    else if (this.skipOperator('+')) result = { kind: 'sign', operator: '+', operand: this.signed(false), line }
    else result = this.primary()
    result = this.postfix(result)
    return withFilters ? this.filtersAndTests(result) : result
  }

  protected primary(): Expression {
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

  protected listItems(): Expression[] {
    const items: Expression[] = []
    while (!this.isOperator(']')) {
      if (items.length > 0) this.expectOperator(',')
      if (this.isOperator(']')) break
      items.push(this.expression())
    }
    this.expectOperator(']')
    return items
  }

  protected dictEntries(): (readonly [Expression, Expression])[] {
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

  protected postfix(start: Expression): Expression {
    let result = start
    for (;;) {
      if (this.isOperator('.')) result = this.attribute(result)
      else if (this.isOperator('[')) result = this.subscript(result)
      else if (this.isOperator('(')) result = this.call(result)
      else return result
    }
  }

  protected filtersAndTests(start: Expression): Expression {
    let result = start
    for (;;) {
      if (this.isOperator('|')) result = this.filters(result) ?? result
      else if (this.isName('is')) result = this.test(result)
      else if (this.isOperator('(')) result = this.call(result)
      else return result
    }
  }

  protected attribute(object: Expression): Expression {
    const { line } = this.next()
    const token = this.next()
    if (token.kind === 'name') return { kind: 'attribute', object, name: token.text, line }
    if (token.kind !== 'integer') return this.fail('expected name or number', token.line)
    return { kind: 'item', object, key: { kind: 'constant', value: token.value, line }, line }
  }

  protected subscript(object: Expression): Expression {
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

  protected subscriptPart(): Expression {
    const { line } = this.current
    const start = this.isOperator(':') ? null : this.expression()
    if (!this.skipOperator(':')) return start ?? this.fail('expected subscript expression')
    const stop = this.slicePart()
    const step = this.skipOperator(':') ? this.slicePart() : null
    return { kind: 'slice', start, stop, step, line }
  }

  protected slicePart(): Expression | null {
    return this.isOperator(':') || this.isOperator(']') || this.isOperator(',') ? null : this.expression()
  }

  protected call(callee: Expression): CallExpression {
    const { line } = this.current
    return { kind: 'call', callee, arguments: this.callArguments(), line }
  }

  protected callArguments(): CallArguments {
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

  protected dottedName(): string {
    let { text } = this.expectName()
    while (this.skipOperator('.')) text += `.${this.expectName().text}`
    return text
  }

  /** A chain of filters; null where none stands. */
  protected filters(operand: null, startsInline?: boolean): FilterExpression | null
  protected filters(operand: Expression): Expression
  protected filters(operand: Expression | null, startsInline = false): Expression | null {
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

  protected test(operand: Expression): Expression {
    const { line } = this.next()
    const isNegated = this.skipName('not')
    const name = this.dottedName()
    const given = this.isOperator('(') ? this.callArguments() : this.bareTestArgument()
    const test: Expression = { kind: 'test', operand, name, arguments: given, line }
    return isNegated ? { kind: 'not', operand: test, line } : test
  }

  /** `x is divisibleby 3`: one argument without parentheses. */
  protected bareTestArgument(): CallArguments {
    const token = this.current
    const isLiteral = token.kind === 'string' || token.kind === 'integer' || token.kind === 'float'
    const isOpening = this.isOperator('[') || this.isOperator('{')
    const isOperand = token.kind === 'name' && !['else', 'or', 'and'].includes(token.text)
    if (!isLiteral && !isOpening && !isOperand) return noArguments
    if (this.isName('is')) this.fail('You cannot chain multiple tests with is')
    return { ...noArguments, positional: [this.postfix(this.primary())] }
  }
}
