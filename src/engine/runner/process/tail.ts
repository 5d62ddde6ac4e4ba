// Reads a file that another process writes, line by line, from where it last stopped. Memory stays bounded: a line that is
// too long is cut, whatever its length.
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'

const PIECE = 64 * 1024
const MAX_LINE = 1024 * 1024

export class Tail {
  readonly #path: string
  #offset = 0
  #rest = Buffer.alloc(0)
  #skipping = false
  #held: number | undefined

  constructor(path: string, from: 'start' | 'end' = 'start') {
    this.#path = path
    if (from === 'end') this.#offset = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Keeps the file open: it is read to its end even when its name is removed. Call `release` afterwards. */
  hold(): void {
    this.#held ??= openSync(this.#path, 'r')
  }

  release(): void {
    if (this.#held !== undefined) closeSync(this.#held)
    this.#held = undefined
  }

  get #size(): number {
    if (this.#held !== undefined) return fstatSync(this.#held).size
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Hands over every whole line written since the last call; `end` also hands over what has no line end yet. */
  read(onLine: (line: string) => void, end = false): void {
    // Most reads find nothing new: they cost one system call.
    if (this.#size > this.#offset) this.#readOn(onLine)
    if (end && this.#rest.length > 0) {
      onLine(this.#rest.toString('utf8'))
      this.#rest = Buffer.alloc(0)
    }
  }

  #readOn(onLine: (line: string) => void): void {
    let file: number
    try {
      file = this.#held ?? openSync(this.#path, 'r')
    } catch {
      return
    }
    const piece = Buffer.alloc(PIECE)
    try {
      for (;;) {
        const length = readSync(file, piece, 0, PIECE, this.#offset)
        if (length === 0) break
        this.#offset += length
        this.#take(piece.subarray(0, length), onLine)
      }
    } finally {
      if (file !== this.#held) closeSync(file)
    }
  }

  #take(piece: Buffer, onLine: (line: string) => void): void {
    let from = 0
    for (;;) {
      const at = piece.indexOf(10, from)
      if (at < 0) break
      const line = Buffer.concat([this.#rest, piece.subarray(from, at)])
      this.#rest = Buffer.alloc(0)
      if (!this.#skipping) onLine(line.toString('utf8'))
      this.#skipping = false
      from = at + 1
    }
    if (this.#skipping) return
    this.#rest = Buffer.concat([this.#rest, piece.subarray(from)])
    if (this.#rest.length <= MAX_LINE) return
    onLine(this.#rest.toString('utf8'))
    this.#rest = Buffer.alloc(0)
    this.#skipping = true
  }
}
