// Label selectors, as the pipeline states them. Pure.

import type { AddonPipeline } from '#api'
import { ownValue } from '#lib'

type Selector = AddonPipeline['spec']['clusterSelector']

export function selects(selector: Selector, labels: Readonly<Record<string, string>>): boolean {
  const exact = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => ownValue(labels, key) === value)
  return exact && (selector.matchExpressions ?? []).every((expression) => matches(expression, labels))
}

function matches(
  { key, operator, values = [] }: NonNullable<Selector['matchExpressions']>[number],
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = ownValue(labels, key)
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
  }
}
