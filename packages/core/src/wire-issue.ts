import type { z } from 'zod'

/** The first thing that is wrong with a body, on one line: where, and what was expected. */
export function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0]
  if (issue === undefined) return 'unknown issue'
  const where = issue.path.length === 0 ? 'the body' : issue.path.join('.')
  return `${where}: ${issue.message}`
}
