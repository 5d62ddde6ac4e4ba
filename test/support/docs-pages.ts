// Reads the fenced blocks of a page as steps that a reader would take. A comment before a block says what a reader would
// know from the text: `<!-- docs: not run: REASON -->` (it cannot run here), `<!-- docs: keeps running -->` (the command
// stays in its terminal, and the following blocks are typed in another one) or `<!-- docs: applied -->` (manifests that
// become Ready here; others are only checked by the server).
export interface Step {
  readonly page: string
  /** Line of the opening fence. */
  readonly line: number
  readonly language: string
  readonly text: string
  readonly notRun?: string
  readonly mark?: 'keeps running' | 'applied'
}

const MARK = /^\s*<!-- docs: (keeps running|applied|not run: (.+?)) -->$/

export function readSteps(page: string, text: string): readonly Step[] {
  const lines = text.split('\n')
  const steps: Step[] = []
  for (let at = 0; at < lines.length; at++) {
    const fence = /^(\s*)```(\S*)$/.exec(lines[at]!)
    if (!fence) continue
    const end = lines.findIndex((line, i) => i > at && /^\s*```$/.test(line))
    if (end < 0) throw new Error(`${page}:${at + 1}: the block has no end`)
    const mark = MARK.exec(lines[at - 1] ?? '')
    const indent = fence[1]!.length
    steps.push({
      page,
      line: at + 1,
      language: fence[2]!,
      text: lines
        .slice(at + 1, end)
        .map((line) => line.slice(indent))
        .join('\n'),
      ...(mark?.[2] === undefined ? {} : { notRun: mark[2] }),
      ...(mark?.[1] === 'keeps running' || mark?.[1] === 'applied' ? { mark: mark[1] } : {}),
    })
    at = end
  }
  return steps
}
