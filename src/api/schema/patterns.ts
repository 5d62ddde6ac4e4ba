// Regular expressions in the server's dialect (RE2), compiled once each.
import type { RE2JS } from 're2js'
import { loadRe2 } from './lazy.ts'

const compiled = new Map<string, RE2JS | Error>()

function compile(pattern: string): RE2JS | Error {
  const known = compiled.get(pattern)
  if (known) return known
  let result: RE2JS | Error
  try {
    result = loadRe2().RE2JS.compile(pattern)
  } catch (error) {
    result = error instanceof Error ? error : new Error(String(error))
  }
  compiled.set(pattern, result)
  return result
}

/** Why RE2 refuses the pattern, or undefined when it is fine. */
export function patternFault(pattern: string): string | undefined {
  const result = compile(pattern)
  return result instanceof Error ? result.message : undefined
}

/** Whether the pattern is found anywhere in the text. A pattern that does not compile matches nothing. */
export function matchesPattern(pattern: string, text: string): boolean {
  const result = compile(pattern)
  return !(result instanceof Error) && result.matcher(text).find()
}
