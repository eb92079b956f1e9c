/**
 * The first process of our own inside a bubblewrap sandbox: a shell that starts
 * commands. It must start in a few milliseconds and need nothing but what every
 * system has, so it is POSIX sh.
 *
 *     host ── "run 7\n" ──▶ stdin          fd 3 ── "started 7 42\n", "exited 7 0\n" ──▶ host
 *
 * The host lays out a command in the control folder, which is read-only inside,
 * so that no command can plant a link there for the host to follow:
 *
 *     /run/agentrl/commands/7/run.sh           enters cwd, says "started", becomes the command
 *     /run/agentrl/commands/7/stdin            a file
 *     /run/agentrl/commands/7/stdout, stderr   named pipes; the host has opened its ends already
 *
 * Descriptors that the host's process inherited and passed on are closed first;
 * those of two digits can be named in bash only. The shell reads this script on
 * descriptor 10, or where that is taken on the next one.
 *
 * Each command is a session of its own. The inner parentheses give a finished
 * command's shell to process 1, bubblewrap's own reaper, so that none stays a zombie.
 */
export const initScript: string = `for fd in /proc/self/fd/*; do
  case $\{fd##*/} in [0-9] | 10) ;; *) leaked=yes ;; esac
done
if [ -n "$leaked" ] && [ -z "$1" ] && [ -x /bin/bash ]; then
  exec /bin/bash -c 'for fd in /proc/self/fd/*; do
    case $\{fd##*/} in [0-2]) ;; *) eval "exec $\{fd##*/}>&-" ;; esac
  done 2>/dev/null
  exec /bin/sh "$0" cleaned' "$0"
fi
exec 3>&1 1>/dev/null 2>/dev/null
run() {
  folder=/run/agentrl/commands/$1
  setsid /bin/sh "$folder/run.sh" < "$folder/stdin" > "$folder/stdout" 2> "$folder/stderr"
  echo "exited $1 $?" >&3
}
echo up >&3
while read -r verb number; do
  if [ "$verb" = run ]; then (run "$number" &); fi
done
`

/** Where the control folder is inside. */
export const controlPath = '/run/agentrl'
