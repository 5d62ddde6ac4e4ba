// Subnet, security group and image selectors of the alpha API as v1 terms. Terms are ORed, tags inside a term are ANDed;
// a comma list meant "any of these", so it becomes one term per value.
import type { Note } from './finding.ts'

export type Term = Readonly<Record<string, unknown>>

const IDS = ['aws-ids', 'aws::ids']
const MAX_TERMS = 30

export function selectorTerms(selector: Readonly<Record<string, string>>, note: Note, path: string): Term[] {
  const idKey = IDS.find((key) => key in selector)
  if (idKey === undefined) return limit(tagTerms(selector, note, path), note, path)
  if (Object.keys(selector).length > 1) {
    note(
      'refused',
      'CAPT_CONVERT_CONTRADICTION',
      path,
      'ids and tags are mixed; Karpenter refused that since 0.30',
      'keep the ids or the tags',
    )
    return []
  }
  return limit(
    splitList(selector[idKey]!).map((id) => ({ id })),
    note,
    path,
  )
}

function tagTerms(selector: Readonly<Record<string, string>>, note: Note, path: string): Term[] {
  let combinations: Record<string, string>[] = [{}]
  for (const [key, value] of Object.entries(selector)) {
    const values = tagValues(key, value, note, path)
    combinations = combinations.flatMap((tags) => values.map((one) => ({ ...tags, [key]: one })))
  }
  return combinations.filter((tags) => Object.keys(tags).length > 0).map((tags) => ({ tags }))
}

function tagValues(key: string, value: string, note: Note, path: string): string[] {
  if (value.trim() === '') {
    note('changed', 'CAPT_CONVERT_SELECTOR', `${path}.${key}`, 'an empty value meant any; written as *')
    return ['*']
  }
  const values = splitList(value)
  if (values.length > 1)
    note('changed', 'CAPT_CONVERT_SELECTOR', `${path}.${key}`, 'a comma list is one term per value now')
  return values
}

/** Image selectors: ids stand alone, names and owners are combined, everything else is a tag. */
export function imageTerms(selector: Readonly<Record<string, string>>, note: Note, path: string): Term[] {
  const { 'aws::name': names, 'aws::owners': owners, ...rest } = selector
  if (names === undefined && owners === undefined) return selectorTerms(selector, note, path)
  if (IDS.some((key) => key in rest)) {
    note('refused', 'CAPT_CONVERT_CONTRADICTION', path, 'ids are mixed with names or owners', 'keep one of them')
    return []
  }
  const tags = Object.keys(rest).length > 0 ? tagTerms(rest, note, path) : [{}]
  const either = (text: string | undefined) => (text === undefined ? [undefined] : splitList(text))
  const terms = either(names).flatMap((name) =>
    either(owners).flatMap((owner) =>
      tags.map((term) => ({ ...term, ...(name ? { name } : {}), ...(owner ? { owner } : {}) })),
    ),
  )
  if (names === undefined && Object.keys(rest).length === 0)
    note('refused', 'CAPT_CONVERT_SELECTOR', path, 'owners alone select nothing in v1', 'add a name, an id or tags')
  return limit(terms, note, path)
}

function limit(terms: Term[], note: Note, path: string): Term[] {
  if (terms.length > MAX_TERMS)
    note(
      'refused',
      'CAPT_CONVERT_SELECTOR',
      path,
      `becomes ${terms.length} terms, v1 takes ${MAX_TERMS}`,
      'use one tag that all of them carry',
    )
  if (terms.length === 0) note('refused', 'CAPT_CONVERT_SELECTOR', path, 'selects nothing')
  return terms
}

export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
