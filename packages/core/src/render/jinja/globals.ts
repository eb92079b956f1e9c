import { bind, signature } from '../python/arguments.ts'
import { dictFromArguments, dictFromKeys } from '../python/attributes.ts'
import { PythonError, unsupported } from '../python/python-error.ts'
import { str, typeName } from '../python/represent.ts'
import { derive, isStr, textOf } from '../python/text.ts'
import { BuiltinFunction, type KeywordArguments, PythonObject, type Value } from '../python/values.ts'
import { Cycler, Joiner, Namespace, safeRange } from './objects.ts'
import { formatTime } from './strftime.ts'

/** The functions that every chat template can call: Jinja's globals, and those that transformers adds or replaces. */

/** transformers' `dict`: callable, with `fromkeys`, and nothing else of the type. */
class TemplateDict extends PythonObject {
  readonly typeName = 'TemplateDict'
  override call(positional: readonly Value[], keywords: KeywordArguments): Value {
    return dictFromArguments(positional, keywords)
  }
  override attribute(name: string): Value | undefined {
    if (name !== 'fromkeys') return undefined
    const declared = signature('fromkeys', '/', 'iterable', 'value?')
    return new BuiltinFunction(name, (positional, keywords) => {
      const [keys, value] = bind(declared, positional, keywords)
      return dictFromKeys(keys ?? null, value ?? null)
    })
  }
  represent(): string {
    return '<TemplateDict object>'
  }
}

/** The globals of one rendering; `now` is the clock of `strftime_now`. */
export function templateGlobals(now: () => Date): ReadonlyMap<string, Value> {
  const define = (
    name: string,
    implementation: (positional: readonly Value[], keywords: KeywordArguments) => Value,
  ): [string, Value] => [name, new BuiltinFunction(name, implementation, 'function')]
  return new Map<string, Value>([
    define('range', safeRange),
    ['dict', new TemplateDict()],
    define('namespace', (positional, keywords) => new Namespace(positional, keywords)),
    define('cycler', (items) => new Cycler(items)),
    define('joiner', (positional, keywords) => {
      const [separator = ', '] = bind(signature('Joiner', 'sep?'), positional, keywords)
      return new Joiner(separator)
    }),
    define('lipsum', () => {
      throw unsupported('lipsum')
    }),
    define('raise_exception', (positional, keywords) => {
      const [message] = bind(signature('raise_exception', 'message'), positional, keywords)
      throw new PythonError('TemplateError', textOf(str(message ?? null)))
    }),
    define('strftime_now', (positional, keywords) => {
      const [format = null] = bind(signature('strftime_now', 'format'), positional, keywords)
      if (!isStr(format))
        throw new PythonError('TypeError', `strftime() argument 1 must be str, not ${typeName(format)}`)
      return derive(formatTime(now(), textOf(format)), format)
    }),
  ])
}
