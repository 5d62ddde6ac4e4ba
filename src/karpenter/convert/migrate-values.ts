// Rewrites Helm values of an old Karpenter chart for a newer one: settings moved, what is gone named, and the placement
// guard put into every term of an affinity that would otherwise replace the chart's own.
import { type Affinity, AWS_SETTINGS, isAtLeast, mergeGuard, RETIRED, type Values } from '#catalog'
import { isPlainObject, ownValue } from '#lib'
import { type Finding, notesFor } from './finding.ts'

export interface MigratedValues {
  readonly values: Values
  readonly findings: readonly Finding[]
  /** Settings that have no place in values any more but that the node classes need. */
  readonly classes: { readonly instanceProfile?: string; readonly tags?: Readonly<Record<string, string>> }
}

export function migrateValues(old: Values, version: string, name = 'values'): MigratedValues {
  const findings: Finding[] = []
  const note = notesFor(`Values/${name}`, findings)
  const { settings, ...rest } = structuredClone(old) as Record<string, unknown>
  const { aws, ...kept } = isPlainObject(settings) ? settings : { aws: undefined }
  const moved: Record<string, unknown> = { ...kept }
  const classes: { instanceProfile?: string; tags?: Record<string, string> } = {}
  for (const [key, value] of Object.entries(isPlainObject(aws) ? aws : {})) {
    const path = `settings.aws.${key}`
    const target = ownValue(AWS_SETTINGS, key)
    if (key === 'defaultInstanceProfile' && typeof value === 'string') classes.instanceProfile = value
    if (key === 'tags' && isPlainObject(value))
      classes.tags = Object.fromEntries(Object.entries(value).map(([tag, text]) => [tag, String(text)]))
    if (target === undefined && (key === 'defaultInstanceProfile' || key === 'tags'))
      note(
        'changed',
        'CAPT_CONVERT_VALUES',
        path,
        'belongs into every EC2NodeClass now',
        `give the manifests together with --values to have it written there`,
      )
    else if (target === undefined && Object.hasOwn(AWS_SETTINGS, key))
      note('changed', 'CAPT_CONVERT_VALUES', path, 'was dropped and has no successor')
    else if (target === undefined)
      note(
        'person',
        'CAPT_CONVERT_VALUES',
        path,
        'is not a setting capt knows and was left out',
        'decide whether the new chart has a place for it',
      )
    else if (moved[target] !== undefined && moved[target] !== value)
      note('refused', 'CAPT_CONVERT_CONTRADICTION', path, `settings.${target} says something else`, 'keep one of them')
    else {
      moved[target] = value
      note('changed', 'CAPT_CONVERT_VALUES', path, `is settings.${target} now`)
    }
  }
  const values: Record<string, unknown> = { ...rest, ...(Object.keys(moved).length > 0 ? { settings: moved } : {}) }
  for (const rule of RETIRED) {
    if (!isAtLeast(version, rule.since)) continue
    const value = take(values, rule.path.split('.'))
    if (value === undefined) continue
    if (rule.now && !isPlainObject(value) && values[rule.now] === undefined) values[rule.now] = value
    const logLevel =
      rule.path === 'logConfig' && isPlainObject(value) && isPlainObject(value['logLevel'])
        ? value['logLevel']['global']
        : undefined
    if (logLevel !== undefined) values['logLevel'] = logLevel
    note(
      'changed',
      'CAPT_CONVERT_VALUES',
      rule.path,
      rule.now ? `is ${rule.now} now` : `is not read since ${rule.since} and was left out`,
    )
  }
  if (isPlainObject(values['affinity'])) {
    values['affinity'] = mergeGuard(values['affinity'] as Affinity)
    note(
      'changed',
      'CAPT_CONVERT_PLACEMENT',
      'affinity',
      "the rule that keeps the controller off Karpenter's own nodes is in every term now",
    )
  }
  return { values: findings.some(({ level }) => level === 'refused') ? {} : values, findings, classes }
}

/** Removes and returns the value at a path; maps that become empty go too. */
function take(fields: Record<string, unknown>, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined || !Object.hasOwn(fields, key)) return undefined
  const value = fields[key]
  if (rest.length === 0) {
    delete fields[key]
    return value
  }
  if (!isPlainObject(value)) return undefined
  const taken = take(value, rest)
  if (Object.keys(value).length === 0) delete fields[key]
  return taken
}
