// Who asked for a stage. People ask with labels on the Cluster; a gate label asks too when a person set it, but it
// never opens the gate: capt does that, and remembers that it did.
import type { AddonStage } from '#api'
import { withNeeds } from './plan.ts'

export interface Wishes {
  /** Stages to have, with everything they need. */
  readonly wanted: ReadonlySet<string>
  /** Gate labels that a person set. */
  readonly early: ReadonlySet<string>
}

type Wishing = Pick<AddonStage, 'name' | 'needs' | 'enabledBy' | 'gateLabel'>

export function readWishes(
  stages: readonly Wishing[],
  labels: Readonly<Record<string, string>>,
  opened: ReadonlySet<string>,
): Wishes {
  const early = new Set<string>()
  const asked = stages.filter((stage) => {
    const byHand = stage.gateLabel !== undefined && labels[stage.gateLabel] === 'true' && !opened.has(stage.gateLabel)
    if (byHand) early.add(stage.name)
    return byHand || stage.enabledBy.length === 0 || stage.enabledBy.some(({ key, value }) => labels[key] === value)
  })
  return { wanted: withNeeds(stages, asked.map((stage) => stage.name)), early }
}

export function parseGates(annotation: string | undefined): ReadonlySet<string> {
  return new Set((annotation ?? '').split(',').filter((label) => label !== ''))
}

export function formatGates(labels: Iterable<string>): string {
  return [...labels].sort().join(',')
}
