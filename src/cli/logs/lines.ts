// Chooses lines of a log: the last ones, or those since a time. A line begins with a time of day in UTC; its date follows
// from the start of the run. Pure.

export interface LineChoice {
  readonly tail?: number
  /** Milliseconds since the epoch. */
  readonly since?: number
}

const TIME = /^(\d\d):(\d\d):(\d\d) /
const DAY_MS = 86_400_000

export function chooseLines(
  lines: readonly string[],
  { tail, since }: LineChoice,
  startedAt: string,
): readonly string[] {
  const recent = since === undefined ? lines : linesSince(lines, since, startedAt)
  return tail === undefined ? recent : tail === 0 ? [] : recent.slice(-tail)
}

/** A line without a time belongs to the one before it. */
function linesSince(lines: readonly string[], since: number, startedAt: string): readonly string[] {
  const started = Date.parse(startedAt)
  let day = Math.floor(started / DAY_MS) * DAY_MS
  let at = started
  return lines.filter((line) => {
    const match = TIME.exec(line)
    if (match) {
      const [hours = 0, minutes = 0, seconds = 0] = match.slice(1).map(Number)
      const ofDay = (hours * 3600 + minutes * 60 + seconds) * 1000
      // The clock of the log has seconds: it may be behind the start by less than one.
      if (day + ofDay < at - DAY_MS / 2) day += DAY_MS
      at = day + ofDay
    }
    return at >= Math.floor(since / 1000) * 1000
  })
}
