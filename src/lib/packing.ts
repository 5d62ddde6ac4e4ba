// Keeps JSON values small while nobody looks at them. Values of one kind differ in names and times alone, so the first
// of them teach the words for the rest: of some thousand bytes a few hundred are left, as one string.
import { deflateRawSync, inflateRawSync } from 'node:zlib'

export interface Packed {
  readonly bytes: string
  readonly length: number
  readonly words: Buffer
}

export interface Packer {
  pack(value: unknown): Packed
}

const WINDOW_BITS = 14
/** As much as deflate looks back, less what it needs for itself. */
const MOST_WORDS = (1 << WINDOW_BITS) - 512
/** A value that is left with more than one part in so many brought words of its own. */
const WORTH = 8
const MOST_LESSONS = 8

/** One packer per kind of value: what it learned from one would not help with another. */
export function createPacker(): Packer {
  let words = Buffer.alloc(0)
  let lessons = 0
  return {
    pack(value) {
      const text = Buffer.from(JSON.stringify(value))
      let bytes = deflate(text, words)
      if (lessons === 0 || (bytes.length * WORTH > text.length && lessons < MOST_LESSONS)) {
        lessons++
        // A copy of its own: what was packed before is unpacked with the words it was packed with.
        words = Buffer.from(Buffer.concat([words, text]).subarray(-MOST_WORDS))
        bytes = deflate(text, words)
      }
      return { bytes: bytes.toString('latin1'), length: text.length, words }
    },
  }
}

export function unpack<T>({ bytes, length, words }: Packed): T {
  // Room for the whole text and a little more, so that it is made in one go.
  const options = { windowBits: WINDOW_BITS, chunkSize: length + 64, ...dictionaryOf(words) }
  return JSON.parse(inflateRawSync(Buffer.from(bytes, 'latin1'), options).toString()) as T
}

function deflate(text: Buffer, words: Buffer): Buffer {
  return deflateRawSync(text, { windowBits: WINDOW_BITS, memLevel: 5, chunkSize: 1024, ...dictionaryOf(words) })
}

const dictionaryOf = (words: Buffer) => (words.length > 0 ? { dictionary: words } : {})
