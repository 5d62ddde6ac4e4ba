// What a conversion has to say about one field of one object. Findings are data: the command prints them and
// derives its exit code from them.

/** `refused` stops everything, `person` leaves work for someone, `changed` alters a meaning, `note` only informs. */
type Level = 'refused' | 'person' | 'changed' | 'note'

export interface Finding {
  readonly level: Level
  /** Has a page in docs/errors.md. */
  readonly code: string
  /** `Provisioner/default`. */
  readonly object: string
  readonly path: string
  readonly message: string
  readonly hint?: string
}

/** Collects findings about one object. */
export type Note = (level: Level, code: string, path: string, message: string, hint?: string) => void

export function notesFor(object: string, into: Finding[]): Note {
  return (level, code, path, message, hint) => {
    into.push({ level, code, object, path, message, ...(hint ? { hint } : {}) })
  }
}

export const isRefused = (finding: Finding) => finding.level === 'refused'
export const needsPerson = (finding: Finding) => finding.level === 'refused' || finding.level === 'person'
