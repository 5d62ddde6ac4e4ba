// Chart values that a Karpenter version does not read. The chart ignores them in silence, which is how a cluster ends up
// without a queue or with a default nobody chose; so what was renamed or removed is refused by name.
import { isPlainObject, ownValue, ownValueAt } from '#lib'
import { isAtLeast } from '../version.ts'
import type { Values } from './values-merge.ts'

interface ValueFinding {
  readonly path: string
  readonly message: string
  /** Where the value lives now; undefined when it is gone. */
  readonly now?: string
  readonly refused: boolean
}

const SAME = [
  'assumeRoleARN',
  'assumeRoleDuration',
  'clusterCABundle',
  'clusterName',
  'clusterEndpoint',
  'isolatedVPC',
  'vmMemoryOverheadPercent',
  'reservedENIs',
]

/** `settings.aws.*` of charts up to 0.31 → where 0.32 and later read it; undefined means dropped. */
export const AWS_SETTINGS: Readonly<Record<string, string | undefined>> = {
  ...Object.fromEntries(SAME.map((name) => [name, name])),
  interruptionQueueName: 'interruptionQueue',
  defaultInstanceProfile: undefined,
  enablePodENI: undefined,
  enableENILimitedPodDensity: undefined,
  tags: undefined,
  nodeNameConvention: undefined,
}

interface Retired {
  readonly path: string
  /** First version that does not read it. */
  readonly since: string
  readonly now?: string
}

export const RETIRED: readonly Retired[] = [
  { path: 'settings.featureGates.driftEnabled', since: '0.33.0' },
  { path: 'settings.featureGates.drift', since: '1.0.0' },
  { path: 'settings.assumeRoleARN', since: '1.0.0' },
  { path: 'settings.assumeRoleDuration', since: '1.0.0' },
  { path: 'controller.outputPaths', since: '0.32.0', now: 'logOutputPaths' },
  { path: 'controller.errorOutputPaths', since: '0.32.0', now: 'logErrorOutputPaths' },
  { path: 'controller.logLevel', since: '0.32.0', now: 'logLevel' },
  { path: 'logEncoding', since: '0.32.0' },
  { path: 'logConfig', since: '1.0.0', now: 'logLevel' },
  { path: 'webhook', since: '1.1.0' },
  { path: 'extraObjects', since: '0.28.0' },
]

export function lintValues(version: string, values: Values): ValueFinding[] {
  return [...lintAwsSettings(version, values), ...RETIRED.flatMap((rule) => lintRetired(rule, version, values))]
}

function lintAwsSettings(version: string, values: Values): ValueFinding[] {
  const settings = values['settings']
  if (!isAtLeast(version, '0.33.0') || !isPlainObject(settings) || !('aws' in settings)) return []
  const aws = settings['aws']
  if (!isPlainObject(aws))
    return [{ path: 'settings.aws', message: 'settings.aws is not read since 0.33', refused: true }]
  return Object.keys(aws).map((name) => {
    const target = ownValue(AWS_SETTINGS, name)
    const path = `settings.aws.${name}`
    if (target === undefined) {
      const why = Object.hasOwn(AWS_SETTINGS, name) ? 'was dropped and has no successor' : 'is unknown'
      return { path, message: `${path} ${why}; Karpenter ${version} would ignore it`, refused: true }
    }
    const now = `settings.${target}`
    return { path, now, message: `${path} is ${now} since 0.32; Karpenter ${version} would ignore it`, refused: true }
  })
}

function lintRetired(rule: Retired, version: string, values: Values): ValueFinding[] {
  if (!isAtLeast(version, rule.since) || valueAt(values, rule.path) === undefined) return []
  const successor = rule.now ? `use ${rule.now}` : 'it has no successor'
  const message = `${rule.path} is not read since ${rule.since}: ${successor}`
  return [{ path: rule.path, ...(rule.now ? { now: rule.now } : {}), message, refused: false }]
}

export function valueAt(values: Values, path: string): unknown {
  return ownValueAt(values, path.split('.'))
}
