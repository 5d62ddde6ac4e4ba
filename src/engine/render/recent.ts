// The applies of a template have the same text read for each of them, several times around each run. What was worked out
// for the last few texts is cached: the work is pure.
export function rememberRecent<T>(limit: number, work: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = work(text)
    const [oldest] = known.size >= limit ? known.keys() : []
    if (oldest !== undefined) known.delete(oldest)
    known.set(text, made)
    return made
  }
}
