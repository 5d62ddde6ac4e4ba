// One trap that the doctor finds, and how the checks write it.
import type { Survey } from '../survey/survey.ts'

export interface Trap {
  /** One word that names the kind of thing. */
  readonly word: string
  readonly weight: 'person' | 'know'
  readonly what: string
  readonly todo: string
  readonly command?: string
}

export type Look = (survey: Survey) => readonly Trap[]

export const person = (word: string, what: string, todo: string, command?: string): Trap => ({
  word,
  weight: 'person',
  what,
  todo,
  ...(command ? { command } : {}),
})
export const know = (word: string, what: string, todo: string, command?: string): Trap => ({
  ...person(word, what, todo, command),
  weight: 'know',
})
export const when = (holds: boolean, trap: () => Trap): readonly Trap[] => (holds ? [trap()] : [])
