// Which rows of a long list are in the document: those on screen and a few beside them.

interface Window {
  readonly first: number
  /** Exclusive. */
  readonly last: number
}

const BESIDE = 6

export function windowOf(count: number, rowHeight: number, scrollTop: number, height: number): Window {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - BESIDE)
  const last = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + BESIDE)
  return { first: Math.min(first, last), last }
}
