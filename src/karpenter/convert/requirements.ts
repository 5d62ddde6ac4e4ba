// Requirements of a pool: keys of older eras renamed, defaults that a webhook used to add written out, and what can
// never match found before a cluster finds it.
import { ownValue } from '#lib'
import type { Fields } from './fields.ts'
import type { Note } from './finding.ts'

export interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
  readonly minValues?: number
}

const TYPE = 'node.kubernetes.io/instance-type'
const CATEGORY = 'karpenter.k8s.aws/instance-category'
const FAMILY = 'karpenter.k8s.aws/instance-family'
const GENERATION = 'karpenter.k8s.aws/instance-generation'

/** v1 takes the old keys as labels of one's own, which no instance carries. */
const RENAMED: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/instance-type': TYPE,
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
}
const REMOVED: Readonly<Record<string, string>> = {
  'karpenter.sh/provisioner-name': 'nodes carry karpenter.sh/nodepool now',
  'karpenter.k8s.aws/instance-pods': 'v1 has no such label',
}
const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte']

export function readRequirements(list: readonly Fields[], note: Note, path: string): Requirement[] {
  return list.flatMap((item, i) => {
    const at = `${path}[${i}]`
    const requirement = readOne(item, note, at)
    return requirement ? [fixInstanceType(requirement, note, at)] : []
  })
}

function readOne(item: Fields, note: Note, at: string): Requirement | undefined {
  const { key, operator, values, minValues } = item
  if (typeof key !== 'string' || typeof operator !== 'string' || !OPERATORS.includes(operator)) {
    note('refused', 'CAPT_CONVERT_INVALID', at, `needs a key and an operator (one of ${OPERATORS.join(', ')})`)
    return undefined
  }
  if (values !== undefined && !Array.isArray(values)) {
    note('refused', 'CAPT_CONVERT_INVALID', `${at}.values`, 'must be a list')
    return undefined
  }
  const removed = ownValue(REMOVED, key)
  if (removed) {
    note('changed', 'CAPT_CONVERT_REQUIREMENT', at, `${key} was left out: ${removed}`)
    return undefined
  }
  const renamed = ownValue(RENAMED, key)
  if (renamed)
    note(
      'changed',
      'CAPT_CONVERT_REQUIREMENT',
      at,
      `${key} is ${renamed} now; v1 would take the old key as a label that no instance has`,
    )
  return {
    key: renamed ?? key,
    operator,
    ...(values ? { values: values.map(String) } : {}),
    ...(typeof minValues === 'number' ? { minValues } : {}),
  }
}

const INSTANCE_TYPE = /^[a-z][a-z0-9-]*\.[a-z0-9-]+$/

/** Values of an instance-type requirement that no instance type can have. */
export function wrongInstanceTypes({ key, operator, values = [] }: Requirement): string[] {
  if (key !== TYPE || !['In', 'NotIn'].includes(operator)) return []
  return values.filter((value) => !INSTANCE_TYPE.test(value))
}

/** `instance-type In [c, t, m]` passes every check and matches nothing: those are categories, or families. */
function fixInstanceType(requirement: Requirement, note: Note, at: string): Requirement {
  const wrong = wrongInstanceTypes(requirement)
  if (wrong.length === 0) return requirement
  const all = wrong.length === requirement.values?.length
  const hint = 'instance types look like m5.large'
  for (const [key, form, what] of [
    [CATEGORY, /^[a-z]{1,3}$/, 'categories'],
    [FAMILY, /^[a-z]+[0-9][a-z0-9-]*$/, 'families'],
  ] as const) {
    if (!all || !wrong.every((value) => form.test(value))) continue
    note(
      'changed',
      'CAPT_CONVERT_INSTANCE_TYPE',
      at,
      `${wrong.join(', ')} are ${what}, not instance types: written as ${key}`,
      hint,
    )
    if (key === CATEGORY)
      note(
        'note',
        'CAPT_CONVERT_INSTANCE_TYPE',
        at,
        `old generations are allowed; add ${GENERATION} Gt ["2"] for the third generation and up`,
      )
    return { ...requirement, key }
  }
  note('refused', 'CAPT_CONVERT_INSTANCE_TYPE', at, `${wrong.join(', ')} can never be an instance type`, hint)
  return requirement
}

/** What the alpha webhook added. v1 has no defaults: without these a pool may choose arm64, windows or spot. */
export function addAlphaDefaults(given: readonly Requirement[], note: Note): Requirement[] {
  const has = (...keys: string[]) => given.some(({ key }) => keys.includes(key))
  const isIn = (key: string, ...values: string[]): Requirement => ({ key, operator: 'In', values })
  const added = [
    ...(has('kubernetes.io/os') ? [] : [isIn('kubernetes.io/os', 'linux')]),
    ...(has('kubernetes.io/arch') ? [] : [isIn('kubernetes.io/arch', 'amd64')]),
    ...(has('karpenter.sh/capacity-type') ? [] : [isIn('karpenter.sh/capacity-type', 'on-demand')]),
    ...(has(TYPE, FAMILY, CATEGORY, GENERATION)
      ? []
      : [isIn(CATEGORY, 'c', 'm', 'r'), { key: GENERATION, operator: 'Gt', values: ['2'] }]),
  ]
  if (added.length > 0) {
    const texts = added.map(({ key, operator, values }) => `${key} ${operator} [${values?.join(', ')}]`)
    note(
      'changed',
      'CAPT_CONVERT_DEFAULTS',
      'spec.requirements',
      `defaults that v1 no longer adds were written out: ${texts.join('; ')}`,
    )
  }
  return [...given, ...added]
}

/** Keys on which the requirements contradict each other, so that no node can satisfy all of them. */
export function contradictingKeys(requirements: readonly Requirement[]): string[] {
  return [...new Set(requirements.map(({ key }) => key))].filter((key) =>
    isImpossible(requirements.filter((one) => one.key === key)),
  )
}

function isImpossible(rules: readonly Requirement[]): boolean {
  const of = (operator: string) => rules.filter((rule) => rule.operator === operator)
  const needsValue = ['In', 'Exists', 'Gt', 'Lt', 'Gte', 'Lte'].some((operator) => of(operator).length > 0)
  if (needsValue && of('DoesNotExist').length > 0) return true
  const number = (rule: Requirement) => Number(rule.values?.[0])
  const floor = Math.max(
    Number.NEGATIVE_INFINITY,
    ...of('Gt').map((rule) => number(rule) + 1),
    ...of('Gte').map(number),
  )
  const ceiling = Math.min(
    Number.POSITIVE_INFINITY,
    ...of('Lt').map((rule) => number(rule) - 1),
    ...of('Lte').map(number),
  )
  if (floor > ceiling) return true
  const lists = of('In').map((rule) => rule.values ?? [])
  if (lists.length === 0) return false
  const denied = new Set(of('NotIn').flatMap((rule) => rule.values ?? []))
  const bounded = floor !== Number.NEGATIVE_INFINITY || ceiling !== Number.POSITIVE_INFINITY
  return !lists[0]!.some(
    (value) =>
      lists.every((list) => list.includes(value)) &&
      !denied.has(value) &&
      (!bounded || (Number(value) >= floor && Number(value) <= ceiling)),
  )
}
