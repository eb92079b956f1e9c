import { constants, ExpressionParser } from './expression-parser.ts'
import { tokenize } from './lexer.ts'
import type {
  CallBlock,
  Expression,
  ForStatement,
  IfStatement,
  MacroStatement,
  Name,
  Statement,
  Target,
  TemplateData,
} from './syntax.ts'

/**
 * Tokens to a syntax tree, by recursive descent. The grammar is Jinja 3.1's with
 * the tags that transformers adds: `break`, `continue` and `generation`.
 */

/** Throws TemplateSyntaxError. */
export function parseTemplate(source: string): Statement[] {
  return new TemplateParser(tokenize(source)).parse()
}

const otherTemplateTags: ReadonlySet<string> = new Set(['extends', 'include', 'import', 'from'])

class TemplateParser extends ExpressionParser {
  parse(): Statement[] {
    return this.statements(null)
  }

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
}

function isBlank(statement: Statement): boolean {
  return statement.kind === 'output' && statement.items.every((item) => item.kind === 'data' && item.text.trim() === '')
}
