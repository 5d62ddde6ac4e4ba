// Label selectors of requests, refused in the server's words.
import { matchesSelector, parseSelector } from '#lib'
import { qualifiedProblems } from './kinds/names.ts'
import { badRequest } from './status.ts'

/** Undefined when everything matches. */
export function parseLabelSelector(text: string): ((labels: Readonly<Record<string, string>>) => boolean) | undefined {
  const matchExpressions = parseSelector(
    text,
    (part) => badRequest(`unable to parse requirement: found '${part}', expected: a label selector`),
    (key) => {
      for (const problem of qualifiedProblems(key))
        throw badRequest(`unable to parse requirement: <nil>: Invalid value: ${JSON.stringify(key)}: ${problem}`)
    },
  )
  return matchExpressions.length === 0 ? undefined : (labels) => matchesSelector({ matchExpressions }, labels)
}
