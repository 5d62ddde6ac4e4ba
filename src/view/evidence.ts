// Evidence in a few words: what is alike is counted, so that one line holds it. The whole list stays in the object.
const PATTERNS: readonly { readonly match: RegExp; say(found: readonly RegExpExecArray[]): string }[] = [
  {
    match: /^CRD (\S+) established$/,
    say: (found) => (found.length === 1 ? `CRD ${found[0]![1]}` : `${found.length} CRDs`),
  },
  {
    match: /^Deployment (\S+): (\d+) of (\d+) available$/,
    say: (found) =>
      found.length === 1
        ? `Deployment ${found[0]![2]} of ${found[0]![3]}`
        : `${found.filter(isWhole).length} of ${found.length} Deployments`,
  },
  {
    match: /^Service (\S+): (\d+) endpoints?$/,
    say: (found) => `Service ${found.map(([, name]) => name).join(', ')} answers`,
  },
  {
    match: /^(\S+) (\S+): status\.conditions\[type=Ready\]\.status is True$/,
    say: (found) => `${found.map(([, kind]) => kind).join(' and ')} Ready`,
  },
]

const isWhole = ([, , have, want]: RegExpExecArray): boolean => have === want

export function summarizeEvidence(evidence: readonly string[]): string {
  const rest = new Set(evidence)
  const parts = new Map<number, string>()
  for (const { match, say } of PATTERNS) {
    const found = [...rest].flatMap((text) => {
      const result = match.exec(text)
      return result ? [result] : []
    })
    if (found.length === 0) continue
    parts.set(evidence.indexOf(found[0]![0]), say(found))
    for (const [text] of found) rest.delete(text)
  }
  for (const text of rest) parts.set(evidence.indexOf(text), text)
  return [...parts]
    .sort(([a], [b]) => a - b)
    .map(([, text]) => text)
    .join(', ')
}
