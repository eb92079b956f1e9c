import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'

const isWindows = process.platform === 'win32'
const forwardedSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Sends a signal to every process of the group. False: the group is empty. */
function signalGroup(child, signal) {
  try {
    return isWindows ? child.kill(signal) : process.kill(-child.pid, signal)
  } catch {
    return false
  }
}

/** Whether /proc shows a process of the group that is more than an entry waiting to be collected. */
function hasLivingMember(group) {
  return readdirSync('/proc').some((entry) => {
    if (!/^\d+$/.test(entry)) return false
    try {
      const [state, , memberOf] = readFileSync(`/proc/${entry}/stat`, 'utf8').split(') ').at(-1).split(' ')
      return Number(memberOf) === group && state !== 'Z' && state !== 'X'
    } catch {
      return false
    }
  })
}

/** The first process of a container may be slow to collect its dead, or never do it: those don't count. */
function isGroupAlive(child) {
  if (!signalGroup(child, 0)) return false
  return process.platform !== 'linux' || hasLivingMember(child.pid)
}

/**
 * Runs a command in a process group of its own, and leaves none of it behind:
 * SIGINT, SIGTERM and SIGHUP are forwarded to the whole group (npm would pass
 * them to nobody), and what is still there `killAfterMs` after the end of the
 * command or after a signal is killed. Standard input is empty, because a group
 * in the background may not read from a terminal.
 *
 * With `parentToWatch`, the end of that parent process counts as a SIGTERM: npm
 * that is ended by SIGTERM tells its script nothing.
 *
 * Gives the exit code to end with (the command's own, 128 + n for signal n, 127
 * where it could not be started), and the signal that was forwarded, if any.
 */
export function runProcessGroup(command, args, { env, cwd, killAfterMs = 5000, parentToWatch = null }) {
  return new Promise((settle) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'], detached: !isWindows })
    let received = null
    let hardEnd = null

    const stop = (signal) => {
      received ??= signal
      signalGroup(child, signal)
      hardEnd ??= setTimeout(() => signalGroup(child, 'SIGKILL'), killAfterMs)
    }
    const parentWatch =
      parentToWatch === null ? null : setInterval(() => process.ppid !== parentToWatch && stop('SIGTERM'), 500)
    for (const signal of forwardedSignals) process.on(signal, stop)

    const finish = async (code) => {
      const deadline = Date.now() + killAfterMs
      while (isGroupAlive(child) && Date.now() < deadline) {
        if (received === null) signalGroup(child, 'SIGTERM')
        await new Promise((next) => setTimeout(next, 50))
      }
      if (isGroupAlive(child)) signalGroup(child, 'SIGKILL')
      clearTimeout(hardEnd)
      clearInterval(parentWatch)
      for (const signal of forwardedSignals) process.off(signal, stop)
      settle({ code: received === null ? code : 128 + constants.signals[received], forwarded: received })
    }
    child.on('error', () => finish(127))
    child.on('exit', (code, signal) => finish(code ?? 128 + constants.signals[signal]))
  })
}
