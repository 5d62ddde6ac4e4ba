// A plan in a few lines: the values that are known before and after, and how many other resources follow them. Pure.

interface PlanText {
  readonly changes: readonly { readonly address: string; readonly action: string; readonly lines: readonly string[] }[]
}

const VERBS: Readonly<Record<string, string>> = {
  create: 'will be created',
  update: 'will be updated in-place',
  delete: 'will be destroyed',
  replace: 'must be replaced',
}
/** A value before and after that fits in a line. */
const KNOWN = /^\s*~\s+(\S+)\s+=\s+("[^"]*"|[\w.]+) -> ("[^"]*"|[\w.]+)$/

export function outlinePlan({ changes }: PlanText): string {
  const known = changes.flatMap(({ address, action, lines }) => {
    const values = lines.flatMap((line) => {
      const [, name, before, after] = KNOWN.exec(line) ?? []
      return name === undefined ? [] : [`      ~ ${name} = ${before} -> ${after}\n`]
    })
    return values.length === 0 ? [] : [`    # ${address} ${VERBS[action] ?? action}\n${values.join('')}`]
  })
  const rest = changes.length - known.length
  const more = rest > 0 ? `    # ${rest} more that refer to ${known.length === 1 ? 'it' : 'them'}\n` : ''
  return `${known.join('')}${more}`
}
