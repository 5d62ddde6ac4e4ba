// Splits a list while it arrives: each item is passed on as soon as it is complete, so neither the page nor its objects
// are in memory together. What is left at the end is the list without its items.

export interface ListStream {
  push(chunk: Buffer): void
  /** The list without its items, as text. Throws when the list was incomplete. */
  end(): string
}

const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Depth inside the array of items: the list itself is one, the array the second. */
const AMONG_ITEMS = 2
const MAX_ENVELOPE_BYTES = 1024 * 1024
const MAX_ITEM_BYTES = 32 * 1024 * 1024

export function createListStream(onItem: (text: string) => void): ListStream {
  let depth = 0
  let isInString = false
  let isEscaped = false
  let isInItems = false
  // Bytes as characters: a chunk may end in the middle of one.
  let envelope = ''
  // Pieces of an item that began in an earlier chunk.
  let parts: Buffer[] = []
  let partBytes = 0

  function emit(piece: Buffer): void {
    const text = parts.length === 0 ? piece.toString('utf8') : Buffer.concat([...parts, piece]).toString('utf8')
    parts = []
    partBytes = 0
    onItem(text)
  }

  return {
    push(chunk) {
      // Where the current item, or the current stretch of envelope, begins in this chunk.
      let from = 0
      for (let i = 0; i < chunk.length; i++) {
        const byte = chunk[i]!
        if (isInString) {
          if (isEscaped) isEscaped = false
          else if (byte === BACKSLASH) isEscaped = true
          else if (byte === QUOTE) isInString = false
          continue
        }
        if (byte === QUOTE) isInString = true
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
          if (isInItems && depth === AMONG_ITEMS) from = i
          depth++
          if (isInItems || depth !== AMONG_ITEMS || byte !== OPEN_BRACKET) continue
          envelope += chunk.toString('latin1', from, i + 1)
          isInItems = /"items"\s*:\s*\[$/.test(envelope.slice(-64))
          from = i + 1
        } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
          depth--
          if (!isInItems) continue
          if (depth === AMONG_ITEMS) emit(chunk.subarray(from, i + 1))
          if (depth >= AMONG_ITEMS) continue
          isInItems = false
          from = i
        }
      }
      if (!isInItems) envelope += chunk.toString('latin1', from)
      else if (depth > AMONG_ITEMS) {
        parts.push(Buffer.from(chunk.subarray(from)))
        partBytes += chunk.length - from
      }
      if (envelope.length > MAX_ENVELOPE_BYTES || partBytes > MAX_ITEM_BYTES)
        throw new RangeError('the list is too big')
    },
    end() {
      if (depth !== 0 || isInString) throw new SyntaxError('the list is incomplete')
      return Buffer.from(envelope, 'latin1').toString('utf8')
    },
  }
}
