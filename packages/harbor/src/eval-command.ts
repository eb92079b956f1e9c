import { type HarborReward, readHarborReward } from './read-harbor-reward.ts'

/**
 * The command that grades an attempt, for sandboxes that are driven by a
 * command line alone. It is short on purpose: test files can be larger than an
 * argument may be (131,072 bytes on Linux), so they are uploaded to /tests
 * through the sandbox's file interface once the agent has ended.
 *
 *   upload tests/ → /tests   ▶   eval_cmd   ▶   last line of its output
 *
 * The folders are Harbor's; `AGENTRL_APP_DIR`, `AGENTRL_TESTS_DIR` and
 * `AGENTRL_LOGS_DIR` name others, for sandboxes without a root of their own.
 * A reward file that the agent planted is removed first. The exit code of
 * test.sh is reported and never trusted. What the verifier prints goes to
 * test-stdout.txt, so that it can't print a reward.
 */
const mark = 'AGENTRL_REWARD'

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Gives the command for `bash -c`, to be run as the verifier's user after test files lie in /tests. */
export function buildEvalCommand({ workdir, timeoutSec }: { workdir: string | null; timeoutSec: number }): string {
  const enter = workdir === null ? [] : [`app=${quote(workdir)}`, `cd "\${AGENTRL_APP_DIR:-$app}"`]
  return [
    ...enter,
    'tests="${AGENTRL_TESTS_DIR:-/tests}" logs="${AGENTRL_LOGS_DIR:-/logs}/verifier"',
    'mkdir -p "$logs"',
    'rm -rf "$logs/reward.json" "$logs/reward.txt"',
    'chmod +x "$tests/test.sh"',
    `{ began=$SECONDS; status=0; timeout -k 10 ${timeoutSec} "$tests/test.sh" > "$logs/test-stdout.txt" 2>&1 || status=$?
if [ "$status" -ge 124 ] && [ $((SECONDS - began)) -ge ${Math.floor(timeoutSec)} ]; then echo "${mark}_TIMEOUT $status"
elif [ -f "$logs/reward.json" ]; then echo "${mark}_JSON $(head -c 1048576 "$logs/reward.json" | tr '\\r\\n' '  ')"
elif [ -f "$logs/reward.txt" ]; then echo "${mark}_TEXT $(head -c 1048576 "$logs/reward.txt" | tr '\\r\\n' '  ')"
else echo "${mark}_MISSING $status"; fi; }`,
  ].join(' && ')
}

/** What the last line of the command's output says. No such line: the command itself could not run. */
export function readEvalOutput(output: string): HarborReward {
  const line = output.trimEnd().split(/\r?\n/).at(-1) ?? ''
  const [, kind, text = ''] = /^AGENTRL_REWARD_(JSON|TEXT|MISSING|TIMEOUT) (.*)$/.exec(line) ?? []
  if (kind === 'JSON') return readHarborReward({ json: text, text: null })
  if (kind === 'TEXT') return readHarborReward({ json: null, text })
  if (kind === 'TIMEOUT') return { kind: 'failed', reason: 'timeout', message: 'the verifier ran out of time' }
  if (kind === 'MISSING') return readHarborReward({ json: null, text: null })
  return { kind: 'failed', reason: 'missing', message: 'the verifier could not be started' }
}
