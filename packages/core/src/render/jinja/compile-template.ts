import { call, isTrue } from '../python/operators.ts'
import { templateRuntimeError, typeError } from '../python/python-error.ts'
import { quote, str } from '../python/represent.ts'
import { joinAll } from '../python/text.ts'
import { noKeywords, type Str } from '../python/values.ts'
import {
  compileArguments,
  compileExpression,
  compileFilter,
  compileOutput,
  type Place,
  slotReader,
  soften,
} from './compile-expression.ts'
import { compileFor } from './compile-loop.ts'
import { compileMacro } from './compile-macro.ts'
import { parseTemplate } from './parser.ts'
import { type Context, Frame, type Run } from './run.ts'
import {
  type Assign,
  type CompileBody,
  checkNamespaces,
  compileTarget,
  type Execute,
  enterScope,
  inScope,
} from './scopes.ts'
import { blocksOf, FunctionScope, Symbols, undeclaredNames } from './symbols.ts'
import { type CallBlock, type IfStatement, type Statement, type Target, TemplateSyntaxError } from './syntax.ts'

/**
 * Statements to functions that write into a list of strings.
 *
 * A statement returns how its sequence goes on: `next`, or `break` or
 * `continue` for the loop around it. Scopes are entered by doing their loads
 * (symbols.ts); a loop body enters its scope at every item.
 */

type StatementOf<Kind extends Statement['kind']> = Extract<Statement, { kind: Kind }>

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
    this.compileBlocks()
    const { scope, enter, body } = this.compileFunction(this.statements, true)
    return (context, run) => {
      const frame = new Frame(scope.slotCount, null, context, run)
      const out: Str[] = []
      enter(frame)
      body(frame, out)
      return out
    }
  }

  /** Statements in a function that has no function around it: the template itself, or a block. */
  private compileFunction(
    statements: readonly Statement[],
    isTop: boolean,
  ): { scope: FunctionScope; enter: (frame: Frame) => void; body: Execute } {
    const scope = new FunctionScope(null)
    const symbols = new Symbols(scope, null)
    symbols.visitStatements(statements)
    const place = { symbols, isSoft: false, isTop, isInLoop: false }
    return { scope, enter: enterScope(place), body: this.compileBody(statements, place) }
  }

  /** A block sees only the template's variables. */
  private compileBlocks(): void {
    const seen = new Set<string>()
    for (const block of blocksOf(this.statements)) {
      if (seen.has(block.name)) throw new TemplateSyntaxError(`block ${quote(block.name)} defined twice`, block.line)
      seen.add(block.name)
      const { scope, enter, body } = this.compileFunction(block.body, false)
      this.blocks.set(block.name, (frame, out) => {
        const inner = new Frame(scope.slotCount, null, frame.context, frame.run)
        enter(inner)
        return body(inner, out)
      })
    }
  }

  private readonly compileBody: CompileBody = (statements, place) => {
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
        return compileFor(statement, place, this.compileBody)
      case 'if':
        return this.if(statement, place)
      case 'macro':
        return this.macro(statement, place)
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
      case 'scope': {
        const { inner, run } = inScope(place, (symbols) => symbols.visitStatements(statement.body))
        return run(this.compileBody(statement.body, inner))
      }
      case 'block':
        return this.block(statement, place)
      case 'other-template':
        return this.otherTemplate(statement, place)
      default:
        if (!place.isInLoop) throw new TemplateSyntaxError(`'${statement.kind}' outside loop`, statement.line)
        return () => statement.kind
    }
  }

  private output(statement: StatementOf<'output'>, place: Place): Execute {
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
      body: this.compileBody(body, soft),
      line,
    }))
    const otherwise = this.compileBody(statement.otherwise, soft)
    return (frame, out) => {
      for (const { test, body, line } of branches) {
        frame.run.line = line
        if (isTrue(test(frame))) return body(frame, out)
      }
      return otherwise(frame, out)
    }
  }

  // Functions

  private macro(statement: StatementOf<'macro'>, place: Place): Execute {
    const make = compileMacro(statement, statement.name, place, this.compileBody)
    const assign = this.visibleTarget({ kind: 'name', name: statement.name, line: statement.line }, place)
    return (frame) => {
      assign(frame, make(frame))
      return 'next'
    }
  }

  private callBlock(statement: CallBlock, place: Place): Execute {
    const make = compileMacro(statement, null, place, this.compileBody)
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
      const withCaller = keywords.copy()
      withCaller.set('caller', caller)
      out.push(str(call(called, positional, withCaller)))
      return 'next'
    }
  }

  // Scopes

  private with(statement: StatementOf<'with'>, place: Place): Execute {
    const { inner, run } = inScope(place, (symbols) => {
      for (const { target } of statement.assignments) symbols.visitTarget(target, true)
      symbols.visitStatements(statement.body)
    })
    const assignments = statement.assignments.map(({ target, value }) => ({
      assign: compileTarget(target, inner),
      value: compileExpression(value, place),
    }))
    const body = this.compileBody(statement.body, inner)
    return run((frame, out) => {
      for (const { assign, value } of assignments) assign(frame, value(frame))
      return body(frame, out)
    })
  }

  private filterBlock(statement: StatementOf<'filter-block'>, place: Place): Execute {
    const { inner, run } = inScope(place, (symbols) => {
      symbols.visitStatements(statement.body)
      symbols.visitExpression(statement.filter)
    })
    const filter = compileFilter(statement.filter, inner)
    return run(
      this.captured(statement.body, inner, (frame, text, out) => {
        frame.run.blockText = text
        out.push(str(filter(frame)))
      }),
    )
  }

  private assignBlock(statement: StatementOf<'assign-block'>, place: Place): Execute {
    const { inner, run } = inScope(place, (symbols) => symbols.visitStatements(statement.body))
    const filter = statement.filter === null ? null : compileFilter(statement.filter, inner)
    const assign = this.visibleTarget(statement.target, place)
    return run(
      this.captured(statement.body, inner, (frame, text) => {
        frame.run.blockText = text
        assign(frame, filter === null ? text : filter(frame))
      }),
    )
  }

  /** Hands over what the statements write, unless they leave the loop around them. */
  private captured(
    statements: readonly Statement[],
    place: Place,
    take: (frame: Frame, text: Str, out: Str[]) => void,
  ): Execute {
    const body = this.compileBody(statements, place)
    return (frame, out) => {
      const written: Str[] = []
      const completion = body(frame, written)
      if (completion === 'next') take(frame, joinAll(written), out)
      return completion
    }
  }

  // Assignments

  private assign(statement: StatementOf<'assign'>, place: Place): Execute {
    const assign = this.visibleTarget(statement.target, place)
    const value = compileExpression(statement.value, place)
    const check = checkNamespaces(statement.target, place)
    return (frame) => {
      check(frame)
      assign(frame, value(frame))
      return 'next'
    }
  }

  /** Assigns, and at the top of the template also shows the names to its blocks. */
  private visibleTarget(target: Target, place: Place): Assign {
    const assign = compileTarget(target, place)
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

  // Blocks and other templates

  private block({ name, isRequired, isScoped }: StatementOf<'block'>, place: Place): Execute {
    const visible = isScoped ? [...place.symbols.storedInReach()] : []
    const locals = visible.map(([local, reference]) => [local, slotReader(place, reference)] as const)
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

  private otherTemplate({ statement, line, reference }: StatementOf<'other-template'>, place: Place): Execute {
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

function namesOf(target: Target): string[] {
  if (target.kind === 'tuple') return target.items.flatMap(namesOf)
  return target.kind === 'name' ? [target.name] : []
}
