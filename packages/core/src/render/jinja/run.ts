import type { Value } from '../python/values.ts'

/** What one rendering carries around. */
export class Run {
  /** The line of the statement that is being executed, for messages. */
  line = 1
  /** The text that a filter without an operand applies to, while it is being called. */
  blockText: Value = ''
  readonly now: () => Date
  constructor(now: () => Date) {
    this.now = now
  }
}

/** The variables that names resolve to: what the template exported, then what it was given. */
export class Context {
  private readonly given: ReadonlyMap<string, Value>
  private readonly exported = new Map<string, Value>()
  constructor(given: ReadonlyMap<string, Value>) {
    this.given = given
  }
  resolve(name: string): Value | undefined {
    const exported = this.exported.get(name)
    return exported === undefined ? this.given.get(name) : exported
  }
  export(name: string, value: Value | undefined): void {
    if (value !== undefined) this.exported.set(name, value)
  }
  /** A context of its own in which `locals` are given too. */
  derive(locals: Iterable<readonly [string, Value]>): Context {
    return new Context(new Map([...this.given, ...this.exported, ...locals]))
  }
}

/** The variables of one call of a function of the template. */
export class Frame {
  readonly slots: (Value | undefined)[]
  readonly parent: Frame | null
  readonly context: Context
  readonly run: Run
  constructor(slotCount: number, parent: Frame | null, context: Context, run: Run) {
    this.slots = new Array<Value | undefined>(slotCount).fill(undefined)
    this.parent = parent
    this.context = context
    this.run = run
  }
}
