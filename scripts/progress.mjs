/**
 * Says on standard error what is being waited for, once it takes longer than
 * two seconds: in place on a terminal, else a line after 2 s and then one every
 * 15 s. Gives a function that ends it and returns the elapsed text.
 */
export function startProgress(what) {
  const started = Date.now()
  const isTerminal = process.stderr.isTTY === true
  let isShown = false
  const elapsed = () => {
    const seconds = Math.round((Date.now() - started) / 1000)
    return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  }
  const show = () => {
    isShown = true
    process.stderr.write(isTerminal ? `\r\u001b[K… ${what} (${elapsed()})` : `… ${what} (${elapsed()})\n`)
  }
  let repeat = null
  const first = setTimeout(() => {
    show()
    repeat = setInterval(show, isTerminal ? 1000 : 15_000)
  }, 2000)
  return () => {
    clearTimeout(first)
    clearInterval(repeat)
    if (isShown && isTerminal) process.stderr.write('\r\u001b[K')
    return elapsed()
  }
}
