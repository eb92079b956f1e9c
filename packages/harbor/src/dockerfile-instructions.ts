/** One instruction of a Dockerfile, its lines joined. */
export interface DockerfileInstruction {
  /** In capitals. */
  readonly name: string
  /** What follows the name, trimmed, without heredoc bodies. */
  readonly text: string
}

const heredoc = /(?:^|\s)\d*<<(-?)(["']?)([A-Za-z_][\w.-]*)\2/g

/** Names of the heredocs that an instruction opens, in order, with their marks for stripped tabs. */
function openedHeredocs(name: string, text: string): { delimiter: string; stripsTabs: boolean }[] {
  if (name !== 'RUN' && name !== 'COPY' && name !== 'ADD') return []
  return [...text.matchAll(heredoc)].map((match) => ({ delimiter: match[3] ?? '', stripsTabs: match[1] === '-' }))
}

/**
 * Splits a Dockerfile into instructions: comments go, continued lines are
 * joined, the body of a heredoc is left out, so that a `WORKDIR` inside one is
 * text. Obeys the `# escape=` directive. Linear in the length of the file.
 */
export function* readInstructions(source: string): Generator<DockerfileInstruction> {
  const lines = source.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  const directive = lines.find((line) => !/^\s*#\s*(syntax|check)\s*=/i.test(line))
  const continuation = /^\s*#\s*escape\s*=\s*`/i.test(directive ?? '') ? '`' : '\\'
  let index = 0
  while (index < lines.length) {
    const parts: string[] = []
    let isContinued = true
    while (isContinued && index < lines.length) {
      const line = lines[index] ?? ''
      index += 1
      if (/^\s*#/.test(line)) continue
      const trimmed = line.trim()
      if (trimmed === '' && parts.length > 0) continue
      isContinued = trimmed.endsWith(continuation)
      parts.push(isContinued ? trimmed.slice(0, -1) : trimmed)
    }
    const [, name, text = ''] = /^(\S+)\s*([\s\S]*)$/.exec(parts.join('').trim()) ?? []
    if (name === undefined) continue
    const instruction = { name: name.toUpperCase(), text: text.trim() }
    for (const { delimiter, stripsTabs } of openedHeredocs(instruction.name, instruction.text)) {
      const end = lines.findIndex(
        (line, at) => at >= index && (stripsTabs ? line.replace(/^\t+/, '') : line) === delimiter,
      )
      if (end !== -1) index = end + 1
    }
    yield instruction
  }
}
