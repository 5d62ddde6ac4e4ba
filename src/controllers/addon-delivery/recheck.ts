// How long until a settled delivery is reconciled again: about ten minutes, with jitter so that clusters do not align.
const RECHECK_SECONDS = 600
const JITTER = 0.2

/** Stable per object: between eight and twelve minutes. */
export function recheckSeconds(uid = ''): number {
  let sum = 0
  for (const char of uid) sum = (sum * 31 + char.charCodeAt(0)) % 1000
  return Math.round(RECHECK_SECONDS * (1 - JITTER + (2 * JITTER * sum) / 1000))
}
