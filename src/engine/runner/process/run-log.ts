// What people read about a run: one line per fact, redacted before it touches the disk, and bounded whatever a module
// prints: the beginning is kept as it comes, of the rest the end. Lines of one tick are written together.
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '#lib'
import type { Redactor } from '../../secrets.ts'
import { readText } from '../inputs/folder.ts'
import { onWriteError } from './disk.ts'

const MAX_HEAD = 1024 * 1024
const MAX_TAIL = 256 * 1024

export class RunLog {
  readonly #path: string
  readonly #clock: Clock
  readonly #redact: Redactor
  readonly #echo: ((text: string) => void) | undefined
  #head = 0
  #unwritten = ''
  #tail: string[] = []
  #tailBytes = 0
  #left = 0

  /** `echo` gets every line too: what a pod prints is all that is seen of it while it runs. */
  constructor(path: string, clock: Clock, redact: Redactor, echo?: (text: string) => void) {
    this.#path = path
    this.#echo = echo
    this.#clock = clock
    this.#redact = redact
    this.#append('')
  }

  add(text: string): void {
    const time = new Date(this.#clock.now()).toISOString().slice(11, 19)
    for (const line of this.#redact(text).split('\n')) {
      if (line.trim() !== '') this.#put(`${time} ${line.trimEnd()}\n`)
    }
  }

  #put(line: string): void {
    this.#echo?.(line)
    if (this.#head < MAX_HEAD) {
      this.#head += line.length
      if (this.#unwritten === '') queueMicrotask(() => this.#write())
      this.#unwritten += line
      return
    }
    this.#tail.push(line)
    this.#tailBytes += line.length
    while (this.#tailBytes > MAX_TAIL) {
      this.#tailBytes -= this.#tail.shift()!.length
      this.#left++
    }
  }

  #write(): void {
    const text = this.#unwritten
    this.#unwritten = ''
    if (text === '') return
    this.#append(text)
  }

  /** A full disk must not end the run; the lines are lost, the state is not. */
  #append(text: string): void {
    try {
      if (text === '') mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
      appendFileSync(this.#path, text, { mode: 0o600 })
    } catch (error) {
      onWriteError(error)
    }
  }

  /** Puts the end behind the beginning; returns the whole. */
  finish(): string {
    const gap = this.#left > 0 ? `… ${this.#left} lines were left out …\n` : ''
    this.#unwritten += gap + this.#tail.join('')
    this.#write()
    this.#tail = []
    this.#tailBytes = 0
    return readText(this.#path) ?? ''
  }
}
