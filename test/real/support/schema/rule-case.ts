// What a case of a CEL rule is, and how the cases of a kind become those of its template.
import type { JsonObject } from '#lib'

export interface RuleCase {
  /** Message of the rule, and where it stands. */
  readonly rule: string
  readonly breaks: JsonObject
  readonly keeps: JsonObject
  readonly before?: JsonObject
  /** Name of the object that breaks a rule about names; `sample` when left out. */
  readonly breaksAs?: string
}

export const template = (spec: JsonObject): JsonObject => ({ template: { spec } })

export const inTemplate = (path: string, cases: readonly RuleCase[]): RuleCase[] =>
  cases.map(({ rule, breaks, keeps, before }) => ({
    rule: rule.replace(/^\.spec/, path),
    breaks: template(breaks),
    keeps: template(keeps),
    ...(before ? { before: template(before) } : {}),
  }))
