import type { ArithmeticOperator } from '../python/numbers.ts'
import type { Value } from '../python/values.ts'

/** The syntax tree of a template. Lines count from 1. */

export type Expression =
  | { readonly kind: 'constant'; readonly value: Value; readonly line: number }
  | Name
  | NamespaceTarget
  | { readonly kind: 'tuple'; readonly items: readonly Expression[]; readonly line: number }
  | { readonly kind: 'list'; readonly items: readonly Expression[]; readonly line: number }
  | { readonly kind: 'dict'; readonly entries: readonly (readonly [Expression, Expression])[]; readonly line: number }
  | { readonly kind: 'sign'; readonly operator: '+' | '-'; readonly operand: Expression; readonly line: number }
  | { readonly kind: 'not'; readonly operand: Expression; readonly line: number }
  | {
      readonly kind: 'logical'
      readonly operator: 'and' | 'or'
      readonly left: Expression
      readonly right: Expression
      readonly line: number
    }
  | {
      readonly kind: 'arithmetic'
      readonly operator: ArithmeticOperator
      readonly left: Expression
      readonly right: Expression
      readonly line: number
    }
  | { readonly kind: 'concat'; readonly items: readonly Expression[]; readonly line: number }
  | {
      readonly kind: 'compare'
      readonly first: Expression
      readonly rest: readonly { readonly operator: CompareOperator; readonly operand: Expression }[]
      readonly line: number
    }
  | {
      readonly kind: 'conditional'
      readonly test: Expression
      readonly whenTrue: Expression
      readonly otherwise: Expression | null
      readonly line: number
    }
  | { readonly kind: 'attribute'; readonly object: Expression; readonly name: string; readonly line: number }
  | { readonly kind: 'item'; readonly object: Expression; readonly key: Expression; readonly line: number }
  | SliceExpression
  | CallExpression
  | FilterExpression
  | {
      readonly kind: 'test'
      readonly operand: Expression
      readonly name: string
      readonly arguments: CallArguments
      readonly line: number
    }

export type CompareOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in'

export interface Name {
  readonly kind: 'name'
  readonly name: string
  readonly line: number
}

/** `namespace.attribute` as the target of an assignment. */
interface NamespaceTarget {
  readonly kind: 'namespace-target'
  readonly name: string
  readonly attribute: string
  readonly line: number
}

interface SliceExpression {
  readonly kind: 'slice'
  readonly start: Expression | null
  readonly stop: Expression | null
  readonly step: Expression | null
  readonly line: number
}

export interface CallArguments {
  readonly positional: readonly Expression[]
  readonly keywords: readonly { readonly name: string; readonly value: Expression }[]
  readonly spreadPositional: Expression | null
  readonly spreadKeywords: Expression | null
}

export interface CallExpression {
  readonly kind: 'call'
  readonly callee: Expression
  readonly arguments: CallArguments
  readonly line: number
}

/** `operand` is null where the filter applies to the text of a block. */
export interface FilterExpression {
  readonly kind: 'filter'
  readonly operand: Expression | null
  readonly name: string
  readonly arguments: CallArguments
  readonly line: number
}

/** What can be assigned to. */
export type Target =
  | Name
  | NamespaceTarget
  | { readonly kind: 'tuple'; readonly items: readonly Target[]; readonly line: number }

export interface ForStatement {
  readonly kind: 'for'
  readonly target: Target
  readonly iterable: Expression
  readonly body: readonly Statement[]
  readonly otherwise: readonly Statement[]
  readonly test: Expression | null
  readonly isRecursive: boolean
  readonly line: number
}

export interface IfStatement {
  readonly kind: 'if'
  readonly branches: readonly {
    readonly test: Expression
    readonly body: readonly Statement[]
    readonly line: number
  }[]
  readonly otherwise: readonly Statement[]
  readonly line: number
}

/** What a macro and the body of a call block have in common. */
export interface MacroBody {
  readonly parameters: readonly Name[]
  /** Of the last parameters. */
  readonly defaults: readonly Expression[]
  readonly body: readonly Statement[]
  readonly line: number
}

export interface MacroStatement extends MacroBody {
  readonly kind: 'macro'
  readonly name: string
}

/** `call` is null for `{% generation %}`: its body is called and written as it is. */
export interface CallBlock extends MacroBody {
  readonly kind: 'call-block'
  readonly call: CallExpression | null
}

export type Statement =
  | { readonly kind: 'output'; readonly items: readonly (Expression | TemplateData)[]; readonly line: number }
  | ForStatement
  | IfStatement
  | MacroStatement
  | CallBlock
  | {
      readonly kind: 'filter-block'
      readonly filter: FilterExpression
      readonly body: readonly Statement[]
      readonly line: number
    }
  | {
      readonly kind: 'with'
      readonly assignments: readonly { readonly target: Target; readonly value: Expression }[]
      readonly body: readonly Statement[]
      readonly line: number
    }
  | { readonly kind: 'assign'; readonly target: Target; readonly value: Expression; readonly line: number }
  | {
      readonly kind: 'assign-block'
      readonly target: Target
      readonly filter: FilterExpression | null
      readonly body: readonly Statement[]
      readonly line: number
    }
  | { readonly kind: 'scope'; readonly body: readonly Statement[]; readonly line: number }
  | {
      readonly kind: 'block'
      readonly name: string
      readonly isScoped: boolean
      readonly isRequired: boolean
      readonly body: readonly Statement[]
      readonly line: number
    }
  | {
      readonly kind: 'other-template'
      readonly statement: string
      readonly targets: readonly string[]
      readonly reference: Expression
      readonly line: number
    }
  | { readonly kind: 'break'; readonly line: number }
  | { readonly kind: 'continue'; readonly line: number }

export interface TemplateData {
  readonly kind: 'data'
  readonly text: string
  readonly line: number
}

/** A template that does not parse or compile. */
export class TemplateSyntaxError extends Error {
  override readonly name = 'TemplateSyntaxError'
  readonly line: number
  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}
