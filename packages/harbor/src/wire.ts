import { ConfigError, excerpt, type JsonObject, type JsonValue, TaskError } from '@agentrl/spec'
import { z } from 'zod'
import type { HarborConfig, HarborEnvironment, HarborMcpServer, NetworkPolicy } from './harbor-task.ts'
import { type NetworkKeys, readNetworkPolicy } from './network-policy.ts'

/**
 * task.toml, schema 1.0 to 1.4 and those to come: keys that we don't know are
 * left alone, and `schema_version` never decides how another key is read, as in
 * Harbor itself. Numbers may stand as text, as pydantic accepts them. A value of
 * the wrong kind is a problem of the file, with its place.
 */

/** What was met on the way: `problems` make the file invalid, `warnings` are told to the user. */
interface Findings {
  readonly problems: string[]
  readonly warnings: string[]
}

function numeric(expected: string, isAllowed: (value: number) => boolean): z.ZodType<number> {
  return z.unknown().transform((raw, context) => {
    const value = typeof raw === 'string' && /^\s*[+-]?[\d.]+(e[+-]?\d+)?\s*$/i.test(raw) ? Number(raw) : raw
    if (typeof value === 'number' && isAllowed(value)) return value
    context.addIssue({ code: 'custom', message: `expected ${expected}` })
    return z.NEVER
  })
}

const seconds = numeric('a number of seconds above 0', (value) => value > 0 && value < Number.POSITIVE_INFINITY)
const duration = numeric('a number of seconds, at least 0', (value) => value >= 0 && value < Number.POSITIVE_INFINITY)
const megabytes = numeric('a whole number of megabytes above 0', (value) => value > 0 && Number.isInteger(value))
const count = numeric('a whole number, at least 0', (value) => value >= 0 && Number.isSafeInteger(value))
const cpuCount = numeric('a number above 0', (value) => value > 0 && value < Number.POSITIVE_INFINITY)

const sizeUnits: Readonly<Record<string, number>> = { G: 1024, M: 1, K: 1 / 1024 }

/** Megabytes of a text such as `4G`; null: no such text. */
function parseSize(text: string): number | null {
  const [, amount, unit = ''] = /^(\d+(?:\.\d*)?|\.\d+)\s*([GMK])$/.exec(text.trim().toUpperCase()) ?? []
  return amount === undefined ? null : Math.trunc(Number(amount) * (sizeUnits[unit] ?? 1))
}

const user = z.union([z.string().min(1), z.int().min(0)], { error: 'expected a user name or a user id' })
const env = z.record(z.string(), z.string()).default({})
const networkKeys = { network_mode: z.string().optional(), allowed_hosts: z.array(z.string()).optional() }

const healthcheck = z.object({
  command: z.string().min(1),
  interval_sec: duration.default(5),
  timeout_sec: seconds.default(30),
  start_period_sec: duration.default(0),
  start_interval_sec: duration.default(5),
  retries: count.default(3),
})

const mcpServer = z
  .object({
    name: z.string().min(1),
    transport: z
      .string()
      .transform((transport) => (transport === 'http' ? 'streamable-http' : transport))
      .pipe(z.enum(['sse', 'streamable-http', 'stdio']))
      .default('sse'),
    url: z.string().min(1).optional(),
    command: z.string().min(1).optional(),
    args: z.array(z.string()).default([]),
  })
  .transform(({ name, transport, url, command, args }, context): HarborMcpServer => {
    if (transport === 'stdio' && command !== undefined) return { name, transport, command, args }
    if (transport !== 'stdio' && url !== undefined) return { name, transport, url }
    const key = transport === 'stdio' ? 'command' : 'url'
    context.addIssue({ code: 'custom', path: [key], message: `expected text, as transport is "${transport}"` })
    return z.NEVER
  })

const environmentSection = z.object({
  build_timeout_sec: seconds.default(600),
  docker_image: z.string().min(1).optional(),
  os: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['linux', 'windows']))
    .default('linux'),
  workdir: z.string().min(1).optional(),
  cpus: cpuCount.optional(),
  memory_mb: megabytes.optional(),
  memory: z.unknown().optional(),
  storage_mb: megabytes.optional(),
  storage: z.unknown().optional(),
  gpus: count.optional(),
  gpu_types: z.array(z.string()).default([]),
  tpu: z.object({ type: z.string().min(1), topology: z.string().regex(/^\s*[1-9]\d*(x[1-9]\d*)+\s*$/) }).optional(),
  allow_internet: z.boolean().optional(),
  ...networkKeys,
  env,
  skills_dir: z.string().min(1).optional(),
  mcp_servers: z.array(mcpServer).default([]),
  healthcheck: healthcheck.optional(),
})

const artifact = z.union(
  [
    z.string().transform((source) => ({ source, exclude: [] as string[], destination: undefined, service: undefined })),
    z.object({
      source: z.string(),
      destination: z.string().optional(),
      exclude: z.array(z.string()).default([]),
      service: z.string().optional(),
    }),
  ],
  { error: 'expected text or a table with a source' },
)

const packageName = /^[a-zA-Z0-9][a-zA-Z0-9._-]*\/[a-zA-Z0-9][a-zA-Z0-9._-]*$/

const taskToml = z.object({
  schema_version: z.union([z.string(), z.number()]).optional(),
  version: z.union([z.string(), z.number()]).optional(),
  source: z.string().optional(),
  task: z
    .object({
      name: z.string().refine((name) => packageName.test(name) && !name.includes('..'), {
        error: 'expected a name such as "org/name"',
      }),
    })
    .optional(),
  metadata: z.record(z.string(), z.unknown()).default({}),
  agent: z.object({ timeout_sec: seconds.optional(), user: user.optional(), ...networkKeys }).prefault({}),
  verifier: z
    .object({
      timeout_sec: seconds.default(600),
      user: user.optional(),
      ...networkKeys,
      env,
      environment_mode: z.enum(['shared', 'separate']).optional(),
      environment: z.record(z.string(), z.unknown()).optional(),
      collect: z
        .array(
          z.object({
            command: z.string().min(1),
            service: z.string().min(1).default('main'),
            timeout_sec: seconds.default(60),
            user: user.optional(),
          }),
        )
        .default([]),
    })
    .prefault({}),
  environment: environmentSection.prefault({}),
  artifacts: z.array(artifact).default([]),
  steps: z.array(z.object({ name: z.string().min(1) })).default([]),
})

type TaskToml = z.infer<typeof taskToml>

/** What JSON can hold of a value of a TOML file: dates as text, whole numbers beyond 2^53 and infinities as text. */
function toJson(value: unknown): JsonValue {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value === 'object' && value !== null) return toJsonObject(value)
  return typeof value === 'string' || typeof value === 'boolean' ? value : null
}

function toJsonObject(value: object): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toJson(item)]))
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    raw,
  )
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (place, key) => (typeof key === 'number' ? `${place}[${key}]` : `${place}${place === '' ? '' : '.'}${String(key)}`),
    '',
  )
}

function describe(value: unknown): string {
  return value === undefined ? 'nothing' : excerpt(JSON.stringify(toJson(value)), 60)
}

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table',
  record: 'a table',
}

function describeIssue(issue: z.core.$ZodIssue, raw: unknown): string {
  const found = `found ${describe(valueAt(raw, issue.path))}`
  const place = placeOf(issue.path)
  if (issue.code === 'invalid_type') return `${place}: expected ${kinds[issue.expected] ?? issue.expected}, ${found}`
  if (issue.code === 'invalid_value') return `${place}: expected ${issue.values.map(describe).join(' or ')}, ${found}`
  if (issue.code === 'too_small') return `${place}: expected text that is not empty, ${found}`
  if (issue.code === 'invalid_format') return `${place}: expected dimensions such as "2x4", ${found}`
  return `${place}: ${issue.message}, ${found}`
}

function networkOf(section: string, keys: NetworkKeys, findings: Findings): NetworkPolicy | null {
  const policy = readNetworkPolicy(keys)
  if (policy === null || 'mode' in policy) return policy
  findings.problems.push(`${section}.${policy.problem}`)
  return null
}

/** A size from its two keys: the number, or the old text. Both may stand if they agree. */
function sizeOf(key: string, sizeMb: number | undefined, text: unknown, findings: Findings): number | null {
  if (text === undefined) return sizeMb ?? null
  const place = `environment.${key}`
  if (typeof text !== 'string') {
    findings.warnings.push(`${place} is not text and was ignored, as Harbor does; write ${place}_mb`)
    return sizeMb ?? null
  }
  const parsedMb = parseSize(text)
  if (parsedMb === null) {
    findings.problems.push(`${place}: expected a size such as "4G", "512M" or "100K", found ${describe(text)}`)
    return null
  }
  if (sizeMb !== undefined && sizeMb !== parsedMb) {
    findings.problems.push(`${place}: expected the ${sizeMb} MB of ${place}_mb, found ${describe(text)}`)
  }
  findings.warnings.push(`${place} is deprecated; it was read as ${place}_mb = ${parsedMb}`)
  return parsedMb
}

function readEnvironment(section: TaskToml['environment'], findings: Findings): HarborEnvironment {
  if (section.allow_internet !== undefined) {
    findings.warnings.push('environment.allow_internet is deprecated; write environment.network_mode')
  }
  const { healthcheck: check } = section
  return {
    os: section.os,
    buildTimeoutSec: section.build_timeout_sec,
    dockerImage: section.docker_image ?? null,
    workdir: section.workdir ?? null,
    cpus: section.cpus ?? null,
    memoryMb: sizeOf('memory', section.memory_mb, section.memory, findings),
    storageMb: sizeOf('storage', section.storage_mb, section.storage, findings),
    gpus: section.gpus ?? null,
    gpuTypes: section.gpu_types,
    tpu: section.tpu === undefined ? null : { type: section.tpu.type, topology: section.tpu.topology.trim() },
    network: networkOf('environment', section, findings) ?? { mode: 'public' },
    env: section.env,
    skillsDirectory: section.skills_dir ?? null,
    mcpServers: section.mcp_servers,
    healthcheck: check
      ? {
          command: check.command,
          intervalSec: check.interval_sec,
          timeoutSec: check.timeout_sec,
          startPeriodSec: check.start_period_sec,
          startIntervalSec: check.start_interval_sec,
          retries: check.retries,
        }
      : null,
  }
}

/**
 * Reads a parsed task.toml that lies at `path`. Throws `task_invalid`: one line
 * with the first three wrong values.
 */
export function readTaskToml(raw: unknown, path: string): HarborConfig {
  const parsed = taskToml.safeParse(raw)
  if (!parsed.success)
    throw invalid(
      path,
      parsed.error.issues.map((issue) => describeIssue(issue, raw)),
    )
  const { agent, verifier, ...root } = parsed.data
  const findings: Findings = { problems: [], warnings: [] }
  const version = root.schema_version ?? root.version
  const config: HarborConfig = {
    schemaVersion: version === undefined ? null : String(version),
    packageName: root.task?.name ?? null,
    source: root.source ?? null,
    metadata: toJsonObject(root.metadata),
    agent: {
      timeoutSec: agent.timeout_sec ?? null,
      user: agent.user ?? null,
      network: networkOf('agent', agent, findings),
    },
    verifier: {
      timeoutSec: verifier.timeout_sec,
      user: verifier.user ?? null,
      network: networkOf('verifier', verifier, findings),
      env: verifier.env,
      isSeparate: verifier.environment_mode === 'separate' || verifier.environment !== undefined,
      collect: verifier.collect.map(({ command, service, timeout_sec, user: hookUser }) => ({
        command,
        service,
        timeoutSec: timeout_sec,
        user: hookUser ?? null,
      })),
    },
    environment: readEnvironment(root.environment, findings),
    artifacts: root.artifacts.map(({ source, destination, exclude, service }) => ({
      source,
      destination: destination ?? null,
      exclude,
      service: service ?? null,
    })),
    steps: root.steps.map(({ name }) => name),
    warnings: findings.warnings,
  }
  if (verifier.environment_mode === 'shared' && verifier.environment !== undefined) {
    findings.problems.push('verifier.environment: expected none, as verifier.environment_mode is "shared"')
  }
  if (findings.problems.length > 0) throw invalid(path, findings.problems)
  return config
}

function invalid(path: string, problems: readonly string[]): TaskError {
  return new TaskError('task_invalid', `${path}: ${problems.slice(0, 3).join('; ')}`, { details: { path, problems } })
}

const imageMap = z.record(z.string(), z.string().min(1))

/** Reads the text of an image map that lies at `path`. Throws `config_invalid`. */
export function readImageMap(text: string, path: string): Record<string, string> {
  try {
    return imageMap.parse(JSON.parse(text))
  } catch (error) {
    const message = `${path}: expected a JSON object of image names by instance id, found ${excerpt(text.trim(), 60)}`
    throw new ConfigError('config_invalid', message, { cause: error })
  }
}
