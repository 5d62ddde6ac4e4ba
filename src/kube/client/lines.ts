// Cuts a byte stream into lines.

interface Lines {
  /** Bytes as they come; calls back for each whole line. Its bytes are good until the callback returns. */
  push(chunk: Buffer): void
  /** Bytes of an unfinished line. */
  readonly pending: number
}

export function createLines(onLine: (line: Buffer) => void, maxBytes = 32 * 1024 * 1024): Lines {
  let parts: Buffer[] = []
  let pending = 0
  return {
    push(chunk) {
      let from = 0
      for (;;) {
        const end = chunk.indexOf(0x0a, from)
        if (end < 0) break
        const piece = chunk.subarray(from, end)
        const line = pending === 0 ? piece : Buffer.concat([...parts, piece])
        parts = []
        pending = 0
        from = end + 1
        if (line.length > 0) onLine(line)
      }
      if (from === chunk.length) return
      // A copy, so that the rest of the chunk can go.
      parts.push(from === 0 ? chunk : Buffer.from(chunk.subarray(from)))
      pending += chunk.length - from
      if (pending > maxBytes) throw new RangeError(`a line of more than ${maxBytes} bytes`)
    },
    get pending() {
      return pending
    },
  }
}
