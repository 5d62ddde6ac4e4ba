// One NodePool from one Provisioner. Where v1 means something else by silence, the old meaning is written out.

import type { NodePoolObject } from '#catalog'
import { boundedName } from '#lib'
import { type Fields, listAt, mapAt, pick, secondsAt, stringsAt, toDuration } from './fields.ts'
import type { Note } from './finding.ts'
import { addAlphaDefaults, contradictingKeys, readRequirements } from './requirements.ts'

const HANDLED = [
  'requirements',
  'labels',
  'annotations',
  'taints',
  'startupTaints',
  'limits',
  'weight',
  'ttlSecondsAfterEmpty',
  'ttlSecondsUntilExpired',
  'consolidation',
  'provider',
  'providerRef',
  'kubeletConfiguration',
]

export function toNodePool(
  name: string,
  spec: Fields,
  className: string,
  metadata: Fields,
  note: Note,
): NodePoolObject {
  pick(spec, [], HANDLED, note, 'spec')
  const requirements = addAlphaDefaults(
    readRequirements(listAt(spec, 'requirements', note, 'spec.requirements') ?? [], note, 'spec.requirements'),
    note,
  )
  refuseContradictions(requirements, note)
  const labels = poolLabels(stringsAt(spec, 'labels', note, 'spec.labels') ?? {}, note, 'spec.labels')
  const annotations = stringsAt(spec, 'annotations', note, 'spec.annotations')
  const template = { ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) }
  const taints = readTaints(spec, 'taints', note)
  const startupTaints = readTaints(spec, 'startupTaints', note)
  const limits = readLimits(spec, note)
  const weight = readWeight(spec, note)
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name, ...metadata },
    spec: {
      ...(weight ? { weight } : {}),
      template: {
        ...(Object.keys(template).length > 0 ? { metadata: template } : {}),
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: className },
          requirements,
          ...(taints ? { taints } : {}),
          ...(startupTaints ? { startupTaints } : {}),
          expireAfter: readExpiry(spec, note),
        },
      },
      disruption: readDisruption(spec, note),
      ...(limits ? { limits } : {}),
    },
  }
}

export function refuseContradictions(requirements: Parameters<typeof contradictingKeys>[0], note: Note): void {
  for (const key of contradictingKeys(requirements))
    note(
      'refused',
      'CAPT_CONVERT_CONTRADICTION',
      'spec.requirements',
      `${key}: no node can satisfy all of its requirements`,
      'make the value lists overlap',
    )
}

const LABELS_OF_KARPENTER = /^([^/]*\.)?(karpenter\.sh|karpenter\.k8s\.aws)\//

export function poolLabels(
  labels: Readonly<Record<string, string>>,
  note: Note,
  path: string,
): Record<string, string> | undefined {
  const kept = Object.entries(labels).filter(([key]) => {
    if (key === 'karpenter.sh/provisioner-name') {
      note('changed', 'CAPT_CONVERT_LABELS', `${path}.${key}`, 'was left out: nodes carry karpenter.sh/nodepool now')
      return false
    }
    const wellKnown = key === 'karpenter.sh/capacity-type' || key.startsWith('karpenter.k8s.aws/instance-')
    if (key === 'kubernetes.io/hostname' || (LABELS_OF_KARPENTER.test(key) && !wellKnown))
      note(
        'refused',
        'CAPT_CONVERT_LABELS',
        `${path}.${key}`,
        'is a label that Karpenter keeps for itself',
        'use a label of your own',
      )
    return true
  })
  return kept.length > 0 ? Object.fromEntries(kept) : undefined
}

function readTaints(spec: Fields, key: string, note: Note): Record<string, unknown>[] | undefined {
  const taints = listAt(spec, key, note, `spec.${key}`)
  const seen = new Set<string>()
  const read = taints?.map((taint, i) => {
    const at = `spec.${key}[${i}]`
    if (typeof taint['effect'] !== 'string' || taint['effect'] === '')
      note(
        'refused',
        'CAPT_CONVERT_INVALID',
        `${at}.effect`,
        'v1 requires an effect',
        'NoSchedule, PreferNoSchedule or NoExecute',
      )
    const id = `${String(taint['key'])}:${String(taint['effect'])}`
    if (seen.has(id)) note('refused', 'CAPT_CONVERT_CONTRADICTION', at, `${id} is given twice`)
    seen.add(id)
    return pick(taint, ['key', 'value', 'effect'], ['timeAdded'], note, at)
  })
  return read && read.length > 0 ? read : undefined
}

/** v1 flattened the limits by one level. */
function readLimits(spec: Fields, note: Note): Record<string, string> | undefined {
  const limits = mapAt(spec, 'limits', note, 'spec.limits')
  if (!limits) return undefined
  pick(limits, [], ['resources'], note, 'spec.limits')
  const resources = stringsAt(limits, 'resources', note, 'spec.limits.resources')
  return resources && Object.keys(resources).length > 0 ? resources : undefined
}

function readWeight(spec: Fields, note: Note): number | undefined {
  const weight = spec['weight']
  if (weight === undefined || weight === null || weight === 0) return undefined
  if (typeof weight === 'number' && Number.isInteger(weight) && weight >= 1 && weight <= 100) return weight
  note('refused', 'CAPT_CONVERT_INVALID', 'spec.weight', 'must be between 1 and 100')
  return undefined
}

function readExpiry(spec: Fields, note: Note): string {
  const seconds = secondsAt(spec, 'ttlSecondsUntilExpired', note)
  if (seconds === undefined) {
    note(
      'changed',
      'CAPT_CONVERT_EXPIRY',
      'spec.ttlSecondsUntilExpired',
      'nodes never expired; v1 would expire them after 720h, so Never was written out',
    )
    return 'Never'
  }
  note(
    'changed',
    'CAPT_CONVERT_EXPIRY',
    'spec.ttlSecondsUntilExpired',
    'expiry is forceful in v1: the node is drained when its time is up, without a replacement first',
    'set terminationGracePeriod if pods need a bound',
  )
  return toDuration(seconds)
}

function readDisruption(spec: Fields, note: Note): Record<string, string> {
  const consolidation = mapAt(spec, 'consolidation', note, 'spec.consolidation')
  const enabled = consolidation?.['enabled'] === true
  const seconds = secondsAt(spec, 'ttlSecondsAfterEmpty', note)
  if (enabled && seconds !== undefined)
    note(
      'refused',
      'CAPT_CONVERT_CONTRADICTION',
      'spec.consolidation',
      'consolidation and ttlSecondsAfterEmpty exclude each other',
      'keep one of them',
    )
  if (enabled) {
    note(
      'changed',
      'CAPT_CONVERT_CONSOLIDATION',
      'spec.consolidation',
      'WhenEmptyOrUnderutilized with consolidateAfter 0s acts at once',
      '1m or more avoids churn',
    )
    return { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' }
  }
  if (seconds !== undefined) return { consolidationPolicy: 'WhenEmpty', consolidateAfter: `${seconds}s` }
  note(
    'changed',
    'CAPT_CONVERT_CONSOLIDATION',
    'spec.consolidation',
    'nodes were never removed; v1 would consolidate by default, so WhenEmpty after Never was written out',
  )
  return { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' }
}

/** The class a Provisioner gets; bounded because it ends up in tags and names. */
export const classNameFor = (...parts: string[]) => boundedName(parts.join('-'), 63)
