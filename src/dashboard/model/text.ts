// Times and sentences in the words of the page. Pure.

/** `12s`, `5m`, `3h`, `2d`: since then. */
export function ageOf(time: string | undefined, nowMs: number): string {
  const since = Date.parse(time ?? '')
  if (Number.isNaN(since)) return ''
  return durationOf(nowMs - since)
}

export function durationOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return minutes < 10 && seconds % 60 > 0 ? `${minutes}m${seconds % 60}s` : `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return hours < 10 && minutes % 60 > 0 ? `${hours}h${minutes % 60}m` : `${hours}h`
  return `${Math.floor(hours / 24)}d`
}

interface Piece {
  readonly text: string
  /** A command to copy. */
  readonly isCommand: boolean
}

/** Commands of capt and kubectl in a sentence, so that they can be copied. */
export function piecesOf(sentence: string): readonly Piece[] {
  const command =
    /\b(?:capt|kubectl) [a-z][^;,()]*?(?= (?:starts|shows|says|lists|tries|plans|prints)\b|[;,()]|\.(?:\s|$)|$)/g
  const pieces: Piece[] = []
  let from = 0
  for (const match of sentence.matchAll(command)) {
    if (match.index > from) pieces.push({ text: sentence.slice(from, match.index), isCommand: false })
    pieces.push({ text: match[0], isCommand: true })
    from = match.index + match[0].length
  }
  if (from < sentence.length) pieces.push({ text: sentence.slice(from), isCommand: false })
  return pieces
}
