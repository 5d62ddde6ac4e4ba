// Time left of a period that began at a timestamp.

/** Whole seconds, 0 when the period is over. Without a timestamp the period begins now. */
export function secondsLeft(since: string | undefined, seconds: number, nowMs: number): number {
  const startMs = since === undefined ? nowMs : Date.parse(since)
  return Math.max(0, Math.ceil((startMs + seconds * 1000 - nowMs) / 1000))
}
