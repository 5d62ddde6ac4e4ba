// Compresses JSON values of one kind in memory: LZ77 with a dictionary of the first values instead of a sliding window,
// since they differ in names, uids and times alone. Its output are plain strings on purpose: each call of zlib leaves memory
// outside the heap until the next full collection.

import { parseJson } from './integers.ts'

export interface Packed {
  /** The JSON text, in which each match is a mark, an offset in the dictionary and a length. */
  readonly text: string
  readonly dictionary: Dictionary
}

interface Packer {
  pack(value: unknown): Packed
}

interface Dictionary {
  readonly text: string
  /** Offset of the first occurrence of a sequence of MIN_MATCH characters, by its hash. */
  readonly offsets: Uint16Array
}

/** Never in JSON text, which escapes it. */
const MARK = '\u0001'
/** Numbers below 2^14 are two characters of seven bits, all of one byte and none of them the mark. */
const FIRST_CHARACTER = 0x20
const MAX_DICTIONARY = (1 << 14) - 1
const HASHES = 1 << 12
/** A match takes five characters, so it must be longer than that. */
const MIN_MATCH = 8
/** A value is added to the dictionary when more than one part in this many is left of it. */
const MIN_RATIO = 4
/** Names, hashes and times do not compress: what is left of a short value is hardly more. */
const MIN_ADDED = 512
const MAX_ADDITIONS = 8
const EMPTY: Dictionary = { text: '', offsets: new Uint16Array(0) }

/** One packer per kind of value: a dictionary of one kind does not help with another. */
export function createPacker(): Packer {
  let dictionary = EMPTY
  let additions = 0
  return {
    pack(value) {
      const text = JSON.stringify(value)
      let packed = compress(text, dictionary)
      if (additions === 0 || (additions < MAX_ADDITIONS && isPoor(packed, text))) {
        additions++
        // A new dictionary: a value is unpacked with the one it was packed with.
        dictionary = createDictionary((dictionary.text + text).slice(-MAX_DICTIONARY))
        packed = compress(text, dictionary)
      }
      return { text: packed, dictionary }
    },
  }
}

function isPoor(packed: string, text: string): boolean {
  return packed.length > MIN_ADDED && packed.length * MIN_RATIO > text.length
}

export function unpack<T>({ text, dictionary }: Packed): T {
  let json = ''
  let from = 0
  for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, from)) {
    const offset = decode(text, at + 1)
    json += text.slice(from, at) + dictionary.text.slice(offset, offset + decode(text, at + 3))
    from = at + 5
  }
  return parseJson(json + text.slice(from)) as T
}

function createDictionary(text: string): Dictionary {
  const offsets = new Uint16Array(HASHES)
  // From the end, so that the first of several occurrences wins: the longest matches begin there.
  for (let at = text.length - MIN_MATCH; at >= 0; at--) offsets[hashAt(text, at)] = at
  return { text, offsets }
}

function compress(text: string, { text: dictionary, offsets }: Dictionary): string {
  if (dictionary === '') return text
  // Joined at the end: a concatenation of slices would keep the text that they are slices of.
  const parts: string[] = []
  let from = 0
  let at = 0
  // Right after a match the dictionary most likely continues, past a name or a time of the same length.
  let next = 0
  while (at + MIN_MATCH <= text.length) {
    let offset = next + (at - from)
    let length = matchLength(text, at, dictionary, offset)
    if (length < MIN_MATCH) {
      offset = offsets[hashAt(text, at)]!
      length = matchLength(text, at, dictionary, offset)
    }
    if (length < MIN_MATCH) {
      at++
      continue
    }
    parts.push(text.slice(from, at), MARK, encode(offset), encode(length))
    at += length
    from = at
    next = offset + length
  }
  if (from > 0) parts.push(text.slice(from))
  return from > 0 ? parts.join('') : text
}

function matchLength(text: string, at: number, dictionary: string, offset: number): number {
  const max = Math.min(text.length - at, dictionary.length - offset)
  let length = 0
  while (length < max && text.charCodeAt(at + length) === dictionary.charCodeAt(offset + length)) length++
  return length
}

function hashAt(text: string, at: number): number {
  let hash = 0
  for (let i = 0; i < MIN_MATCH; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(at + i)) | 0
  return (hash ^ (hash >>> 15)) & (HASHES - 1)
}

function encode(number: number): string {
  return String.fromCharCode((number >> 7) + FIRST_CHARACTER, (number & 0x7f) + FIRST_CHARACTER)
}

function decode(text: string, at: number): number {
  return ((text.charCodeAt(at) - FIRST_CHARACTER) << 7) | (text.charCodeAt(at + 1) - FIRST_CHARACTER)
}
