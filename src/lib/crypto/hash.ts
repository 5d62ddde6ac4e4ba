// Content hashes. `shortHash` ends names that must be unique and readable; it never ends in a digit,
// because Terraform's kubernetes backend reads a trailing number as a chunk index.
import { hash } from 'node:crypto'
import { canonicalJson } from '../json/json.ts'

export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex')
}

export function hashOf(value: unknown): string {
  return sha256(canonicalJson(value))
}

const LETTERS = 'bcdfghjklmnpqrstvwxz'

/** Letters only, so that it can stand at the end of any Kubernetes name. */
export function shortHash(text: string, length = 8): string {
  const digest = hash('sha256', text, 'buffer')
  let out = ''
  for (let i = 0; i < length; i++) out += LETTERS[digest[i]! % LETTERS.length]
  return out
}

/** A name of at most `max` characters: the readable part first, a hash of the whole when it had to be cut. */
export function boundedName(name: string, max = 63): string {
  if (name.length <= max) return name
  return `${name.slice(0, max - 9).replace(/[-.]+$/, '')}-${shortHash(name)}`
}
