// What withdrawing stages from a Cluster means: the labels that ask for them, and every stage that goes with them. Pure.
import type { AddonDelivery, AddonPipeline } from '#api'
import { CaptError, ownValue } from '#lib'
import { GATES_ANNOTATION } from '../names.ts'
import { parseGates, readRequests } from './request.ts'

export interface Withdrawal {
  /** Labels that are taken off the Cluster, with the values that they have. */
  readonly labels: Readonly<Record<string, string>>
  /** Stages that go: those that were named, and those that need them or were asked for by the same labels. */
  readonly going: readonly string[]
}

export function planWithdrawal(
  { metadata, spec }: AddonPipeline,
  delivery: AddonDelivery,
  labels: Readonly<Record<string, string>>,
  named: readonly string[],
): Withdrawal {
  const { stages } = spec
  const gates = parseGates(delivery.metadata.annotations?.[GATES_ANNOTATION])
  const { wanted } = readRequests(stages, labels, gates)
  const unknown = named.find((name) => !wanted.has(name))
  if (unknown !== undefined)
    throw new CaptError('CAPT_WITHDRAW', `stage ${unknown} is not asked for by Cluster ${delivery.spec.clusterName}`, {
      hint: `stages that are: ${[...wanted].join(', ') || 'none'}; nothing was changed`,
    })
  const leaving = stages.filter(({ name, needs }) => wanted.has(name) && isOrNeeds(name, needs, named, stages))
  const fixed = leaving.find(({ enabledBy }) => enabledBy.length === 0)
  if (fixed)
    throw new CaptError(
      'CAPT_WITHDRAW',
      `stage ${fixed.name} goes to every Cluster of AddonPipeline ${metadata.name}`,
      {
        hint: 'no label asks for it: take the stage out of the pipeline, or choose another pipeline for the Cluster; nothing was changed',
      },
    )
  const asking = leaving.flatMap(({ enabledBy, gateLabel }) => [
    ...enabledBy,
    ...(gateLabel === undefined ? [] : [{ key: gateLabel, value: 'true' }]),
  ])
  // A gate that capt opened is closed by capt.
  const taken = asking.filter(({ key, value }) => ownValue(labels, key) === value && gates.get(key) !== 'capt')
  const removed = Object.fromEntries(taken.map(({ key, value }) => [key, value]))
  const rest = Object.fromEntries(Object.entries(labels).filter(([key]) => !(key in removed)))
  const after = readRequests(stages, rest, gates).wanted
  return { labels: removed, going: [...wanted].filter((name) => !after.has(name)) }
}

function isOrNeeds(
  name: string,
  needs: readonly string[],
  named: readonly string[],
  stages: AddonPipeline['spec']['stages'],
): boolean {
  if (named.includes(name)) return true
  return needs.some((need) => {
    const stage = stages.find((one) => one.name === need)
    return stage !== undefined && isOrNeeds(stage.name, stage.needs, named, stages)
  })
}
