// Deadlines as data: how long is left of a span that began at a timestamp.

/** Whole seconds, 0 when the time is over. Without a beginning the span begins now. */
export function secondsLeft(since: string | undefined, seconds: number, nowMs: number): number {
  const startMs = since === undefined ? nowMs : Date.parse(since)
  return Math.max(0, Math.ceil((startMs + seconds * 1000 - nowMs) / 1000))
}
