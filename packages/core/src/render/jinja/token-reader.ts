import type { Token } from './lexer.ts'
import { TemplateSyntaxError } from './syntax.ts'

/** Looks at tokens and takes them, one after the other. */
export class TokenReader {
  private readonly tokens: readonly Token[]
  protected position = 0

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens
  }

  protected get current(): Token {
    return this.tokens[this.position] ?? { kind: 'end', line: this.tokens.at(-1)?.line ?? 1 }
  }

  protected get following(): Token {
    return this.tokens[this.position + 1] ?? this.current
  }

  protected next(): Token {
    const token = this.current
    if (token.kind !== 'end') this.position += 1
    return token
  }

  protected fail(message: string, line: number = this.current.line): never {
    throw new TemplateSyntaxError(message, line)
  }

  protected describe(token: Token): string {
    if (token.kind === 'end') return 'end of template'
    if (token.kind === 'name' || token.kind === 'operator' || token.kind === 'string') return token.text
    return token.kind === 'integer' || token.kind === 'float' ? String(token.value) : token.kind
  }

  protected isOperator(text: string, token: Token = this.current): boolean {
    return token.kind === 'operator' && token.text === text
  }

  protected isName(text: string, token: Token = this.current): boolean {
    return token.kind === 'name' && token.text === text
  }

  protected skipOperator(text: string): boolean {
    if (!this.isOperator(text)) return false
    this.position += 1
    return true
  }

  protected skipName(text: string): boolean {
    if (!this.isName(text)) return false
    this.position += 1
    return true
  }

  protected expectOperator(text: string): Token {
    if (!this.isOperator(text)) this.fail(`expected token '${text}', got '${this.describe(this.current)}'`)
    return this.next()
  }

  protected expectKind(kind: Token['kind']): Token {
    if (this.current.kind !== kind) this.fail(`expected token '${kind}', got '${this.describe(this.current)}'`)
    return this.next()
  }

  protected expectName(text?: string): { text: string; line: number } {
    const token = this.current
    if (token.kind !== 'name' || (text !== undefined && token.text !== text)) {
      this.fail(`expected token '${text ?? 'name'}', got '${this.describe(token)}'`)
    }
    this.position += 1
    return token
  }
}
