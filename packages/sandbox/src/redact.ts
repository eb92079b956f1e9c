const secretName = /key|token|secret|passw|credential|authorization|cookie|(^|_)(auth|pass|pat|dsn)(_|$)/i
const secretText = [
  /\b(Bearer|Basic)\s+[A-Za-z0-9+/=._~-]{8,}/g,
  /\b(sk|ark|e2b|ghp|gho|hf|xoxb)[-_][A-Za-z0-9_-]{8,}/g,
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:[^\s@/]+@/gi,
  /\b(x-api-key|authorization|cookie)(["']?\s*[:=]\s*["']?)[^\s"',;]+/gi,
]

/** Changes a text so that it holds no secret. */
export type Redact = (text: string) => string

/**
 * Makes a redactor that knows the values of environment variables whose names
 * speak of a secret (key, token, secret, password, credential, …), beside the
 * usual forms of keys and authorization headers. Values of fewer than six
 * characters are left: they would hide ordinary words.
 */
export function createRedactor(env: Readonly<Record<string, string>>): Redact {
  const values = Object.entries(env)
    .filter(([name, value]) => secretName.test(name) && value.length >= 6)
    .map(([, value]) => value)
    .sort((a, b) => b.length - a.length)
  return (text) => {
    let redacted = text
    // Forms first: a value that is only a part of a key would leave the rest of it.
    for (const pattern of secretText) redacted = redacted.replace(pattern, '[redacted]')
    for (const value of values) redacted = redacted.replaceAll(value, '[redacted]')
    return redacted
  }
}
