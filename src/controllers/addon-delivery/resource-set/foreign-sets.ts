// ClusterResourceSets of people that act on a label which asks capt for a stage: core delivers them beside what capt
// brings. They are never changed; the delivery reports them and what to do.
import {
  type AnyObject,
  type ClusterFacts,
  type ConfigMap,
  ConfigMapKind,
  clusterResourceSetKind,
  conditionOf,
  type Installs,
  payloadFacts,
  type UnknownObject,
} from '#api'
import { isKubeError } from '#kube'
import { matchesSelector } from '#lib'
import type { ConditionDraft, FailedAttempt, World } from '#runtime'
import { STAGE_LABEL } from '../names.ts'
import type { ObservedDelivery } from '../observed.ts'
import type { DeliveryPorts } from '../ports.ts'

export const FOREIGN_SETS_INDEX = 'foreign-sets'

export interface ForeignSet {
  readonly name: string
  readonly namespace: string
  /** The label that it shares with a stage, and the stages that this label asks for. */
  readonly label: string
  readonly stages: readonly string[]
  readonly strategy: string
  readonly payloads: readonly string[]
  readonly installs: Installs | undefined
  /** Whether what it installs is of an API that a supported Flux serves. */
  readonly isServed: boolean
  /** `${NAME}` that core delivers as it stands. */
  readonly placeholders: readonly string[]
}

export const foreignSetIndex = ({ metadata }: AnyObject): readonly string[] =>
  metadata.labels?.[STAGE_LABEL] === undefined ? [metadata.namespace ?? ''] : []

type LabelSelector = Parameters<typeof matchesSelector>[0]
type Stage = ObservedDelivery['stages'][number]['stage']

interface SetSpec {
  readonly clusterSelector?: LabelSelector
  readonly resources?: readonly { readonly kind: string; readonly name: string }[]
  readonly strategy?: string
}

export async function observeForeignSets(
  world: World,
  { resourceSets }: Pick<DeliveryPorts, 'resourceSets'>,
  { namespace, labels }: ClusterFacts,
  stages: readonly Pick<Stage, 'name' | 'enabledBy' | 'gateLabel'>[],
): Promise<readonly ForeignSet[]> {
  if (!resourceSets) return []
  const found: ForeignSet[] = []
  const kind = clusterResourceSetKind(resourceSets)
  for (const set of world.cache.list<UnknownObject>(kind, { index: FOREIGN_SETS_INDEX, value: namespace })) {
    const { clusterSelector = {}, resources = [], strategy = 'ApplyOnce' } = (set['spec'] ?? {}) as SetSpec
    const shared = sharedLabel(clusterSelector, labels, stages)
    if (!shared || set.metadata.deletionTimestamp) continue
    const names = resources.filter((one) => one.kind === 'ConfigMap').map((one) => one.name)
    const payloads = await Promise.all(names.map((name) => readPayload(world, { namespace, name })))
    found.push({
      name: set.metadata.name,
      namespace,
      ...shared,
      strategy,
      payloads: resources.map((one) => `${one.kind} ${one.name}`),
      ...payloadFacts(payloads.filter((one) => one !== undefined)),
    })
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function readPayload(world: World, key: { namespace: string; name: string }): Promise<UnknownObject | undefined> {
  try {
    return (await world.objects.get<ConfigMap>(ConfigMapKind, key)) as UnknownObject | undefined
  } catch (error) {
    if (isKubeError(error)) return undefined
    throw error
  }
}

/** The label by which a set and stages of the pipeline both select this Cluster. */
function sharedLabel(
  selector: LabelSelector,
  labels: Readonly<Record<string, string>>,
  stages: readonly Pick<Stage, 'name' | 'enabledBy' | 'gateLabel'>[],
): Pick<ForeignSet, 'label' | 'stages'> | undefined {
  const keys = Object.keys(selector.matchLabels ?? {})
  if (keys.length === 0 || !matchesSelector(selector, labels)) return undefined
  for (const label of keys) {
    const asked = stages.filter((one) => one.gateLabel === label || one.enabledBy.some(({ key }) => key === label))
    if (asked.length > 0) return { label, stages: asked.map((one) => one.name) }
  }
  return undefined
}

/** A second release would come beside the one of the stage, or fight with it. */
export function blockingSet(sets: readonly ForeignSet[], stage: Pick<Stage, 'karpenter'>): ForeignSet | undefined {
  return stage.karpenter ? sets.find((set) => set.installs === 'karpenter' && set.isServed) : undefined
}

export const removalHint = ({ name, namespace }: ForeignSet): string =>
  `Remove it with kubectl delete clusterresourceset ${name} -n ${namespace}, then its ConfigMap`

const TYPE = 'ForeignSets'

/** The condition, written only where it was ever true, and the warning when it says something new. */
export function reportForeignSets({ delivery, foreignSets = [] }: ObservedDelivery): {
  readonly conditions: readonly ConditionDraft[]
  readonly warnings: readonly Omit<FailedAttempt, 'class'>[]
} {
  const before = conditionOf(delivery, TYPE)
  if (foreignSets.length === 0) {
    const over: ConditionDraft = { type: TYPE, status: 'False', reason: 'None', message: '' }
    return { conditions: before ? [over] : [], warnings: [] }
  }
  const message = foreignSets.map(describe).join('; ')
  const isNew = before?.status !== 'True' || before.message !== message
  const hint = removalHint(foreignSets[0]!)
  return {
    conditions: [{ type: TYPE, status: 'True', reason: 'LabelShared', message }],
    warnings: isNew ? [{ reason: 'LabelShared', message, hint }] : [],
  }
}

function describe(set: ForeignSet): string {
  const { name, label, stages, installs, placeholders, payloads, strategy } = set
  const about = `ClusterResourceSet ${name} acts on ${label}, which asks capt for ${stages.join(', ')}`
  const brings =
    installs === 'flux'
      ? ': it would install Flux a second time, and capt brings Flux itself'
      : installs === 'karpenter'
        ? ': it would install Karpenter a second time, and capt brings Karpenter itself'
        : ''
  const left = placeholders.length > 0 ? `; nobody fills in ${placeholders.join(', ')} of ${payloads.join(', ')}` : ''
  const once = strategy === 'ApplyOnce' ? '; its strategy is ApplyOnce, so changes reach no Cluster that has it' : ''
  return `${about}${brings}${left}${once}`
}
