// Did you mean: the known word closest to a misspelt one.

/** The closest word, when it is close enough to be what was meant. */
export function closest(word: string, known: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase()
  let best: { readonly word: string; readonly distance: number } | undefined
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (
      distance <= Math.max(1, Math.floor(candidate.length / 3)) &&
      distance < (best?.distance ?? Number.POSITIVE_INFINITY)
    )
      best = { word: candidate, distance }
  }
  return best?.word
}

/** Letters to add, drop, change or swap to get from one word to the other. */
export function editDistance(a: string, b: string): number {
  let [older, before]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = before[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      row[j] = Math.min(before[j]! + 1, row[j - 1]! + 1, change)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) row[j] = Math.min(row[j]!, older[j - 2]! + 1)
    }
    ;[older, before] = [before, row]
  }
  return before[b.length]!
}
