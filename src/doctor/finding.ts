// What a finding is made of: one that a person must act upon, and one that is good to know.
import type { Finding } from '#view'

type More = Pick<Finding, 'command' | 'since'>

export const person = (word: string, what: string, todo: string, more: More = {}): Finding => ({
  word,
  weight: 'person',
  what,
  todo,
  ...more,
})
export const know = (word: string, what: string, todo = '', more: More = {}): Finding => ({
  ...person(word, what, todo, more),
  weight: 'know',
})
