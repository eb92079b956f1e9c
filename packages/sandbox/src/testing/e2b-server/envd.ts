import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { isAgentRlError } from '@agentrl/spec'
import type { Sandbox } from '../../sandbox.ts'
import { answerUnary, ConnectFailure, failUnary, openStream, readEnveloped, readUnary } from './connect-wire.ts'
import { createEnvdProcesses, type StartRequest } from './envd-processes.ts'

/**
 * The agent inside an E2B sandbox, `envd`, as far as the SDK needs it to run
 * commands and move files: `/health`, `/files`, `process.Process` (Start,
 * Connect, List, SendSignal) and `filesystem.Filesystem` (Stat, MakeDir,
 * Remove). Not here: input of running processes, terminals, watching folders.
 */
export type Envd = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>

export function createEnvd(sandbox: Sandbox): Envd {
  const processes = createEnvdProcesses(sandbox)

  async function serveProcess(call: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    switch (call) {
      case 'Start':
        return processes.start(readStart(await readEnveloped(request), request), openStream(response))
      case 'Connect':
        return processes.connect(readProcessId(await readEnveloped(request)), openStream(response))
      case 'List':
        return answerUnary(response, {
          processes: processes
            .list()
            .map(({ processId, argv: [cmd, ...args] }) => ({ pid: processId, config: { cmd, args } })),
        })
      case 'SendSignal':
        processes.kill(readProcessId(await readUnary(request)))
        return answerUnary(response, {})
      default:
        throw new ConnectFailure('unimplemented', `process.Process/${call} is not served here`)
    }
  }

  async function serveFilesystem(call: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path } = (await readUnary(request)) as { path: string }
    const entry = { name: path.split('/').at(-1), path, type: 'FILE_TYPE_FILE' }
    switch (call) {
      case 'Stat':
        if (!(await sandbox.exists(path))) throw new ConnectFailure('not_found', `file not found: ${path}`)
        return answerUnary(response, { entry })
      case 'MakeDir':
        await sandbox.exec(['mkdir', '-p', path], { check: true })
        return answerUnary(response, { entry: { ...entry, type: 'FILE_TYPE_DIRECTORY' } })
      case 'Remove':
        await sandbox.exec(['rm', '-rf', path], { check: true })
        return answerUnary(response, {})
      default:
        throw new ConnectFailure('unimplemented', `filesystem.Filesystem/${call} is not served here`)
    }
  }

  return async (request, response, url) => {
    const [, service, call = ''] = /^\/([a-z.]+[A-Za-z.]*)\/(\w+)$/.exec(url.pathname) ?? []
    try {
      if (url.pathname === '/health') return void response.writeHead(204).end()
      if (url.pathname === '/files') return await serveFiles(sandbox, request, response, url)
      if (service === 'process.Process') return await serveProcess(call, request, response)
      if (service === 'filesystem.Filesystem') return await serveFilesystem(call, request, response)
      throw new ConnectFailure('not_found', `${url.pathname} is not served here`)
    } catch (error) {
      if (response.headersSent) return void response.destroy()
      failUnary(response, error instanceof ConnectFailure ? error : new ConnectFailure('internal', String(error)))
    }
  }
}

async function serveFiles(
  sandbox: Sandbox,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const path = url.searchParams.get('path') ?? ''
  try {
    if (request.method === 'GET') {
      const bytes = await sandbox.readFile(path)
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes)
      return
    }
    await sandbox.writeFile(path, await readUpload(request))
    answerUnary(response, [{ name: path.split('/').at(-1), path, type: 'file' }])
  } catch (error) {
    if (!isAgentRlError(error)) throw error
    const status = error.code === 'sandbox_file_not_found' ? 404 : 400
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ code: status, message: error.message }))
  }
}

/** The file of a form upload, or the body itself. */
async function readUpload(request: IncomingMessage): Promise<Uint8Array> {
  const type = request.headers['content-type'] ?? ''
  const body = await buffer(request)
  if (!type.startsWith('multipart/form-data')) return body
  const form = await new Response(body, { headers: { 'content-type': type } }).formData()
  const file = form.get('file')
  if (!(file instanceof Blob)) throw new ConnectFailure('invalid_argument', 'the form has no field "file"')
  return new Uint8Array(await file.arrayBuffer())
}

function readStart(raw: unknown, request: IncomingMessage): StartRequest {
  const { process } = raw as { process: { cmd: string; args?: string[]; envs?: Record<string, string>; cwd?: string } }
  const timeoutMs = Number(request.headers['connect-timeout-ms'] ?? 0)
  return {
    argv: [process.cmd, ...(process.args ?? [])],
    env: process.envs ?? {},
    user: readUser(request),
    // No timeout, or one beyond what a sandbox takes: a day.
    timeoutMs: timeoutMs >= 1 && timeoutMs <= 86_400_000 ? Math.round(timeoutMs) : 86_400_000,
    ...(process.cwd === undefined || process.cwd === '' ? {} : { cwd: process.cwd }),
  }
}

/** `Authorization: Basic base64("name:")`. */
function readUser({ headers }: IncomingMessage): string | undefined {
  const [, encoded = ''] = /^Basic (.*)$/.exec(headers.authorization ?? '') ?? []
  const [name = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  return name === '' ? undefined : name
}

function readProcessId(raw: unknown): number {
  return (raw as { process: { pid: number } }).process.pid
}
