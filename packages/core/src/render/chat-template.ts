import { excerpt, TrajectoryError } from '@agentrl/spec'
import { compileTemplate, type Render } from './jinja/compile-template.ts'
import { templateGlobals } from './jinja/globals.ts'
import { Context, Run } from './jinja/run.ts'
import { TemplateSyntaxError } from './jinja/syntax.ts'
import { PythonError } from './python/python-error.ts'
import { joinAll } from './python/text.ts'
import type { Value } from './python/values.ts'
import { toTemplateValue } from './template-values.ts'

/**
 * Chat templates, rendered byte for byte as Python's jinja2 3.1.6 renders them
 * in the environment that transformers sets up: an immutable sandbox,
 * `trim_blocks`, `lstrip_blocks`, loop controls, the `generation` tag, `tojson`
 * that neither escapes nor sorts, `raise_exception` and `strftime_now`.
 *
 * source ──lexer, parser──▶ tree ──symbols, compile──▶ functions ──render──▶ text
 *
 * Not supported, and refused with an error that says so: `lipsum`, the filters
 * `random`, `pprint` and `urlize`, `autoescape true`, bytes, complex numbers,
 * `self`. Templates can't load other templates, as under transformers.
 */

/** The variables of a template: plain values, or values that are converted already. */
export type TemplateVariables = Readonly<Record<string, unknown>>

export interface RenderOptions {
  /** What `strftime_now` shows, in the machine's time zone. Default: the machine's clock. */
  readonly now?: () => Date
}

/** Rendered text that knows which of its characters came from marked variables. */
export interface RenderedText {
  readonly text: string
  /** `[start, end, start, end, …]` in UTF-16 units: sorted, disjoint. Everything else was written by the template. */
  readonly valueSpans: readonly number[]
}

/** A compiled chat template. */
export interface ChatTemplate {
  /**
   * The text. Throws TrajectoryError `trajectory_template` where Python raises; `details` are `line`, `pythonType`
   * (the name of Python's exception) and `isRaised` (the template itself called `raise_exception`). Linear in the output.
   */
  render(variables: TemplateVariables, options?: RenderOptions): string
  /** Like `render`, with the origin of every character; see control-tokens.ts. */
  renderTraced(variables: TemplateVariables, options?: RenderOptions): RenderedText
}

/** Compiles a template once, for any number of renderings. Throws TrajectoryError `trajectory_template`. */
export function compileChatTemplate(source: string): ChatTemplate {
  const render = compiled(source)
  const renderTraced = (variables: TemplateVariables, options: RenderOptions = {}): RenderedText =>
    run(render, variables, options)
  return { renderTraced, render: (variables, options) => renderTraced(variables, options).text }
}

/** Compiles and renders. Keep a compiled template where it is rendered more than once. */
export function renderChatTemplate(source: string, variables: TemplateVariables, options?: RenderOptions): string {
  return compileChatTemplate(source).render(variables, options)
}

function compiled(source: string): Render {
  try {
    return compileTemplate(source)
  } catch (error) {
    if (error instanceof TemplateSyntaxError) throw failure(error, error.line, 'TemplateSyntaxError')
    throw isStackOverflow(error) ? failure(error, 1, 'RecursionError') : error
  }
}

function run(render: Render, variables: TemplateVariables, { now = () => new Date() }: RenderOptions): RenderedText {
  const given = new Map<string, Value>(templateGlobals(now))
  for (const [name, value] of Object.entries(variables)) {
    if (value !== undefined) given.set(name, toTemplateValue(value))
  }
  const state = new Run(now)
  try {
    const text = joinAll(render(new Context(given), state))
    return typeof text === 'string' ? { text, valueSpans: [] } : { text: text.text, valueSpans: text.valueSpans }
  } catch (error) {
    if (error instanceof PythonError) throw failure(error, state.line, error.pythonType)
    if (isTooLarge(error)) throw failure(error, state.line, 'MemoryError')
    throw isStackOverflow(error) ? failure(error, state.line, 'RecursionError') : error
  }
}

function failure(cause: Error, line: number, pythonType: string): TrajectoryError {
  return new TrajectoryError(
    'trajectory_template',
    `chat template, line ${line}: ${excerpt(cause.message)} (${pythonType})`,
    {
      cause,
      details: { line, pythonType, isRaised: pythonType === 'TemplateError' },
    },
  )
}

/** A text or list that JavaScript can't hold. */
function isTooLarge(error: unknown): error is RangeError {
  return error instanceof RangeError && /^Invalid (?:string length|count value|array length)/.test(error.message)
}

function isStackOverflow(error: unknown): error is RangeError {
  return error instanceof RangeError && error.message.includes('call stack')
}
