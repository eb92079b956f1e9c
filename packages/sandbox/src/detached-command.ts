import { randomBytes } from 'node:crypto'
import { quoteShell } from './quote-shell.ts'

/**
 * A command that outlives the calls that look at it. It runs in a session of
 * its own inside the sandbox and writes to files of one folder:
 *
 *     command.sh       what to run
 *     lock/            made by whoever launches first: a replayed launch does nothing
 *     group            process id of the session's leader, which is its group
 *     stdout, stderr   what it wrote
 *     status           its exit code; appears whole, by rename, when it is over
 *
 * beside it, once the folder has been removed, an empty file `<folder>.over`:
 * a launch that a gateway replays as late as that does nothing either.
 *
 * Launching and looking may each be repeated freely, so a gateway that cuts a
 * stream, or a call whose answer is lost, changes nothing. A look may wait a
 * while inside the sandbox for news, and may bring a part of the output along,
 * in base64: connections like E2B's carry text only.
 */
export interface DetachedCommand {
  /** Starts it, unless it was started before, and takes a first look. */
  launch(request: LaunchRequest): Promise<Look>
  look(request?: LookRequest): Promise<Look>
}

export interface LaunchRequest extends LookRequest {
  /** The text of a shell script. */
  readonly script: string
  /** As commands see it. */
  readonly cwd: string
  /** As commands see it. Default: an empty input. */
  readonly inputPath?: string
}

export interface LookRequest {
  /** How long to wait inside for an end or for more output. Default 0. */
  readonly waitMs?: number
  /** Bring along what was written from these offsets on, at most `maxBytes` each. Default: nothing. */
  readonly read?: { readonly stdoutStart: number; readonly stderrStart: number; readonly maxBytes: number }
}

/** What a look found: how the command is, and what it wrote. */
export type Look = LookOutput &
  (
    | { readonly kind: 'running'; readonly groupId: number }
    | { readonly kind: 'done'; readonly exitCode: number }
    /** `refused`: no such working folder. `starting`: no group yet. `gone`: killed. `absent`: its files were removed. */
    | { readonly kind: 'refused' | 'starting' | 'gone' | 'absent' }
  )

interface LookOutput {
  readonly sizes: { readonly stdout: number; readonly stderr: number }
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
}

/** How a detached command reaches its sandbox. Both may be repeated, and retry by themselves. */
export interface DetachedTransport {
  /** Runs a short shell script with arguments and gives its output. */
  run(script: string, args: readonly string[]): Promise<string>
  /** Writes a file and gives its path as commands see it. */
  writeFile(name: string, content: string): Promise<string>
}

/** Longer scripts go into a file first; counted with quotes, since some transports quote them once more. */
const maxInlineBytes = 60 * 1024

/** Waits in steps of about 50 ms; a sleep that knows whole seconds only waits one. */
const lookScript = `look() {
  cd "$1" 2>/dev/null || { echo "absent 0 0 0"; return; }
  steps=$2
  while [ "$steps" -gt 0 ] && [ ! -f status ] && [ "$(sizes)" = "$3 $4" ]; do sleep 0.05 2>/dev/null || sleep 1; steps=$((steps - 1)); done
  group=; read -r group 2>/dev/null < group
  state=
  if [ -n "$group" ] && [ ! -f status ]; then
    if kill -0 "-$group" 2>/dev/null; then state="running $group"; elif [ ! -f status ]; then state="gone 0"; fi
  fi
  if [ -f status ]; then read -r code < status; state="done $code"; fi
  echo "\${state:-starting 0} $(sizes)"
  if [ "$5" -gt 0 ]; then part stdout "$3" "$5"; part stderr "$4" "$5"; fi
}
sizes() { echo $(size stdout) $(size stderr); }
size() { if [ -f "$1" ]; then wc -c < "$1"; else echo 0; fi; }
part() { if [ -f "$1" ]; then tail -c "+$(($2 + 1))" "$1" | head -c "$3" | base64 | tr -d '\\n'; fi; echo; }
`

/** Removes what a command left in the folders that are its arguments; the mark comes first. */
export const forgetScript: string =
  'for folder; do printf "" > "$folder.over"; rm -rf -- "$folder" "$folder-input"; done 2>/dev/null; true'

const launchScript = `${lookScript}
launch() {
  cd -- "$4" 2>/dev/null || { echo "refused 0 0 0"; exit 0; }
  mkdir -p -m 700 "$1" && cd "$1" || exit 70
  if mkdir lock 2>/dev/null && [ ! -e "$1.over" ]; then
    if [ -n "$6" ]; then mv "$6" command.sh; else printf %s "$5" > command.sh; fi || exit 70
    folder=$1; input=$3; cd -- "$4"
    setsid /bin/sh -c 'echo $$ > "$1/group"; /bin/sh "$1/command.sh"; echo $? > "$1/status.new"; mv "$1/status.new" "$1/status"' \\
      sh "$folder" < "$input" > "$folder/stdout" 2> "$folder/stderr" &
  else
    if [ -n "$6" ]; then rm -f "$6"; fi
    if [ -e "$1.over" ]; then rm -rf "$1"; fi
  fi
}
launch "$@"
look "$1" "$7" 0 0 "$8"`

/** Makes a detached command of a folder, which must be its own; `folder` as commands see it. */
export function createDetachedCommand(folder: string, transport: DetachedTransport): DetachedCommand {
  return {
    async launch({ script, cwd, inputPath = '/dev/null', waitMs = 0, read }) {
      const token = randomBytes(4).toString('hex')
      const isInline = Buffer.byteLength(quoteShell(script)) <= maxInlineBytes
      const scriptPath = isInline ? '' : await transport.writeFile(`command-${token}.sh`, script)
      const args = [
        folder,
        token,
        inputPath,
        cwd,
        isInline ? script : '',
        scriptPath,
        steps(waitMs),
        `${read?.maxBytes ?? 0}`,
      ]
      return readLook(await transport.run(launchScript, args))
    },
    async look({ waitMs = 0, read } = {}) {
      const { stdoutStart = 0, stderrStart = 0, maxBytes = 0 } = read ?? {}
      const args = [folder, steps(waitMs), `${stdoutStart}`, `${stderrStart}`, `${maxBytes}`]
      return readLook(await transport.run(`${lookScript}\nlook "$@"`, args))
    },
  }
}

function steps(waitMs: number): string {
  return `${Math.ceil(waitMs / 50)}`
}

/** Reads what the look script printed. Anything else counts as a command whose files are gone. */
function readLook(printed: string): Look {
  const [first = '', stdout = '', stderr = ''] = printed.split('\n')
  const [kind, value = '', stdoutSize = '', stderrSize = ''] = first.trim().split(/\s+/)
  const output: LookOutput = {
    sizes: { stdout: Number(stdoutSize) || 0, stderr: Number(stderrSize) || 0 },
    stdout: Buffer.from(stdout, 'base64'),
    stderr: Buffer.from(stderr, 'base64'),
  }
  const number = Number(value)
  if (kind === 'done') return { ...output, kind, exitCode: number }
  // 0, 1 and negative numbers mean more than one group to kill.
  if (kind === 'running' && Number.isInteger(number) && number > 1) return { ...output, kind, groupId: number }
  if (kind === 'refused' || kind === 'gone' || kind === 'absent') return { ...output, kind }
  return { ...output, kind: kind === 'starting' || kind === 'running' ? 'starting' : 'absent' }
}
