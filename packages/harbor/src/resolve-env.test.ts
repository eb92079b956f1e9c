import { expect, test } from 'vitest'
import { missingEnvVariables, resolveEnvTemplates } from './resolve-env.ts'

test.each([
  ['a variable is put in', '${A}', 'host a'],
  ['an empty variable is a value', '${EMPTY:-x}', ''],
  ['a default stands in for a missing variable', '${NO:-a}b}', 'a}b'],
  ['a default may be empty', '${NO:-}', ''],
  ['a template inside other text is text', 'prefix-${A}', 'prefix-${A}'],
  ['two templates are text', '${A}${A}', '${A}${A}'],
  ['an operator that Harbor does not know is text', '${A:+x}', '${A:+x}'],
])('%s', (_, value, expected) => {
  expect(resolveEnvTemplates({ KEY: value }, { A: 'host a', EMPTY: '' })).toEqual({ KEY: expected })
})

test('all missing variables are named at once', () => {
  const env = { ONE: '${NO_1}', TWO: '${NO_2}', THREE: '${NO_3:-x}', FOUR: 'text ${NO_4}' }
  expect(missingEnvVariables(env, {})).toEqual(['NO_1', 'NO_2'])
  expect(() => resolveEnvTemplates(env, {})).toThrow(
    expect.objectContaining({
      code: 'task_unsupported',
      message: 'The task reads NO_1, NO_2 from the host: set it and try again',
      details: { reasons: ['unresolved_env'], variables: ['NO_1', 'NO_2'] },
    }),
  )
})
