/**
 * The line by which a command tells its exit code on stderr, `agentrl-ended
 * <token> <code>`. It is taken off the stream wherever it stands: a child in
 * the background may have written half a line before.
 */
export function endingMark(token: string): string {
  return `agentrl-ended ${token} `
}

/** The stream without the mark, and the code that the mark tells, as soon as somebody reads that far. */
export function splitEndingMark(
  stream: AsyncIterable<Uint8Array>,
  token: string,
): { readonly rest: AsyncIterable<Uint8Array>; readonly exitCode: Promise<number> } {
  const mark = Buffer.from(endingMark(token))
  let tell: (exitCode: number) => void = () => {}
  const exitCode = new Promise<number>((resolve) => {
    tell = resolve
  })

  async function* rest(): AsyncGenerator<Uint8Array> {
    let held = Buffer.alloc(0)
    let isTold = false
    for await (const chunk of stream) {
      held = Buffer.concat([held, chunk])
      const start = isTold ? held.length : held.indexOf(mark)
      const end = isTold ? -1 : held.indexOf('\n', start === -1 ? held.length : start)
      if (start !== -1 && end !== -1) {
        tell(Number(held.subarray(start + mark.length, end).toString('latin1')))
        isTold = true
        held = Buffer.concat([held.subarray(0, start), held.subarray(end + 1)])
      }
      const keepFrom = isTold ? held.length : start === -1 ? heldFrom(held, mark) : start
      if (keepFrom > 0) yield held.subarray(0, keepFrom)
      held = held.subarray(keepFrom)
    }
    if (held.length > 0) yield held
  }

  return { rest: rest(), exitCode }
}

/** Where the longest end of `bytes` begins that may be the beginning of `mark`. */
function heldFrom(bytes: Buffer, mark: Buffer): number {
  for (let size = Math.min(bytes.length, mark.length - 1); size > 0; size -= 1) {
    if (bytes.subarray(bytes.length - size).equals(mark.subarray(0, size))) return bytes.length - size
  }
  return bytes.length
}
