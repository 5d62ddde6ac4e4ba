// Keeps JSON values small while nobody looks at them. Values of one kind differ in names and times alone, so the first of
// them teach the words for the rest; what a text has in common with those words is kept as a place and a length. Plain
// strings on purpose: each call of zlib leaves memory behind outside the heap until the next full collection.

import { parseJson } from './json-integers.ts'

export interface Packed {
  /** The text of the value, where copies from the words are a mark and two numbers. */
  readonly text: string
  readonly words: Words
}

export interface Packer {
  pack(value: unknown): Packed
}

interface Words {
  readonly text: string
  /** Where in the words a run of letters was seen last, by its hash. */
  readonly places: Uint16Array
}

/** Never in the text of JSON, which escapes it. */
const MARK = '\u0001'
/** Numbers below 2^14 are two letters of seven bits, all of one byte and none of them the mark. */
const FIRST_LETTER = 0x20
const MOST_WORDS = (1 << 14) - 1
const PLACES = 1 << 12
/** A copy takes five letters, so it must save more than these. */
const LEAST_COPY = 8
/** A value that is left with more than one part in so many brought words of its own. */
const WORTH = 4
/** Names, hashes and times are in every value and teach nothing: what is left of a short one is hardly more than these. */
const LEAST_LESSON = 512
const MOST_LESSONS = 8
const NO_WORDS: Words = { text: '', places: new Uint16Array(0) }

/** One packer per kind of value: what it learned from one would not help with another. */
export function createPacker(): Packer {
  let words = NO_WORDS
  let lessons = 0
  return {
    pack(value) {
      const text = JSON.stringify(value)
      let left = shorten(text, words)
      if (lessons === 0 || (lessons < MOST_LESSONS && isNew(left, text))) {
        lessons++
        // Words of their own: what was packed before is unpacked with the words it was packed with.
        words = learn((words.text + text).slice(-MOST_WORDS))
        left = shorten(text, words)
      }
      return { text: left, words }
    },
  }
}

function isNew(left: string, text: string): boolean {
  return left.length > LEAST_LESSON && left.length * WORTH > text.length
}

export function unpack<T>({ text, words }: Packed): T {
  let whole = ''
  let from = 0
  for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, from)) {
    const place = numberAt(text, at + 1)
    whole += text.slice(from, at) + words.text.slice(place, place + numberAt(text, at + 3))
    from = at + 5
  }
  return parseJson(whole + text.slice(from)) as T
}

function learn(text: string): Words {
  const places = new Uint16Array(PLACES)
  // From the end, so that the first of several places wins: the longest copies begin there.
  for (let at = text.length - LEAST_COPY; at >= 0; at--) places[hashAt(text, at)] = at
  return { text, places }
}

function shorten(text: string, { text: words, places }: Words): string {
  if (words === '') return text
  // Joined at the end: a sum of slices would keep the text that they are slices of.
  const left: string[] = []
  let from = 0
  let at = 0
  // Right after a copy the words most likely go on where they went on, past a name or a time of the same length.
  let next = 0
  while (at + LEAST_COPY <= text.length) {
    let place = next + (at - from)
    let length = commonLength(text, at, words, place)
    if (length < LEAST_COPY) {
      place = places[hashAt(text, at)]!
      length = commonLength(text, at, words, place)
    }
    if (length < LEAST_COPY) {
      at++
      continue
    }
    left.push(text.slice(from, at), MARK, toLetters(place), toLetters(length))
    at += length
    from = at
    next = place + length
  }
  if (from > 0) left.push(text.slice(from))
  return from > 0 ? left.join('') : text
}

function commonLength(text: string, at: number, words: string, place: number): number {
  const most = Math.min(text.length - at, words.length - place)
  let length = 0
  while (length < most && text.charCodeAt(at + length) === words.charCodeAt(place + length)) length++
  return length
}

function hashAt(text: string, at: number): number {
  let hash = 0
  for (let i = 0; i < LEAST_COPY; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(at + i)) | 0
  return (hash ^ (hash >>> 15)) & (PLACES - 1)
}

function toLetters(number: number): string {
  return String.fromCharCode((number >> 7) + FIRST_LETTER, (number & 0x7f) + FIRST_LETTER)
}

function numberAt(text: string, at: number): number {
  return ((text.charCodeAt(at) - FIRST_LETTER) << 7) | (text.charCodeAt(at + 1) - FIRST_LETTER)
}
