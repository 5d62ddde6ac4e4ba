// Server-sent events out of a stream of text, as it arrives in pieces.

interface ServerEvent {
  readonly name: string
  readonly data: string
}

/** Returns a function that takes a piece of text and returns the events that it completes. */
export function createEventParser(): (piece: string) => readonly ServerEvent[] {
  let rest = ''
  return (piece) => {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop()!
    return blocks.flatMap((block) => {
      const fields = block.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line))
      const textOf = (field: string) => fields.flatMap((match) => (match?.[1] === field ? [match[2]!] : [])).join('\n')
      const name = textOf('event')
      return name === '' ? [] : [{ name, data: textOf('data') }]
    })
  }
}
