// Which stages are requested. People request them with labels on the Cluster; a gate label that a person set requests
// too, but does not open the gate: capt opens it and records who set the label.

import type { AddonStage } from '#api'
import { ownValue } from '#lib'
import { withNeeds } from './order.ts'

/** Gates that capt has opened, and who set the label. */
export type Gates = ReadonlyMap<string, 'capt' | 'person'>

export interface StageRequests {
  /** Stages to have, with everything they need. */
  readonly wanted: ReadonlySet<string>
  /** Stages whose gate label a person set before its time. */
  readonly early: ReadonlySet<string>
}

type RequestedStage = Pick<AddonStage, 'name' | 'needs' | 'enabledBy' | 'gateLabel'>

export function readRequests(
  stages: readonly RequestedStage[],
  labels: Readonly<Record<string, string>>,
  gates: Gates,
): StageRequests {
  const isPersons = (key: string, value: string) => ownValue(labels, key) === value && gates.get(key) !== 'capt'
  const early = stages.filter(
    ({ gateLabel }) => gateLabel && ownValue(labels, gateLabel) === 'true' && !gates.has(gateLabel),
  )
  const asked = stages.filter((stage) => {
    if (stage.enabledBy.length === 0) return true
    if (stage.gateLabel && isPersons(stage.gateLabel, 'true')) return true
    return stage.enabledBy.some(({ key, value }) => isPersons(key, value))
  })
  return {
    wanted: withNeeds(
      stages,
      asked.map((stage) => stage.name),
    ),
    early: new Set(early.map((stage) => stage.name)),
  }
}

export function parseGates(annotation: string | undefined): Gates {
  const entries = (annotation ?? '').split(',').filter((entry) => entry !== '')
  return new Map(
    entries.map((entry) =>
      entry.endsWith('=person') ? [entry.slice(0, -'=person'.length), 'person'] : [entry, 'capt'],
    ),
  )
}

export function formatGates(gates: Gates): string {
  return [...gates]
    .map(([label, by]) => (by === 'person' ? `${label}=person` : label))
    .sort()
    .join(',')
}
