// Secrets that the suites plant, and the search for them. All have one mark, so a search needs no list: what the
// suites print (test/run.ts, test/real/run.ts), what the shipped program says and logs (test/shipped/support.ts) and the logs of
// managers on a real API server.
const MARK = 'cnry-'
const BYTES_OF_GROUP = 3
const SHOWN = 30

/** A secret for a test; the name says whose it is. */
export const planted = (name: string): string => MARK + name

/** What base64 makes of the mark, wherever in the encoded text it begins. Its first and last letters depend on the neighbours. */
const ENCODED = Array.from({ length: BYTES_OF_GROUP }, (_, before) => {
  const text = Buffer.from(' '.repeat(before) + MARK).toString('base64url')
  const whole = Math.floor(((before + MARK.length) * 8) / 6)
  return text.slice(Math.ceil((before * 8) / 6), whole)
})
const LEAK = new RegExp(`(?:${[MARK, ...ENCODED].join('|')})[^\\s"']{0,${SHOWN}}`, 'g')

/** At most; in base64 it is longer than plain. */
export const MARK_LENGTH = Math.max(MARK.length, ...ENCODED.map(({ length }) => length))

/** Planted secrets in a text, plain or in base64. */
export const leaksIn = (text: string): readonly string[] => [...new Set(text.match(LEAK) ?? [])]
