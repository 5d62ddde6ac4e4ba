// Observes the stages of one delivery: what core has delivered of what is rendered, and what the workload cluster shows.
import {
  type AddonDelivery,
  type AddonPipeline,
  type AddonStage,
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ClusterFacts,
  clusterResourceSetKind,
  type UnknownObject,
} from '#api'
import type { MatrixFault } from '#catalog'
import type { Objects, Projected } from '#kube'
import type { World } from '#runtime'
import type { Workload } from '../../../shared/workload.ts'
import { GATES_ANNOTATION, STAGE_LABEL } from '../../names.ts'
import type { ObservedPreflight, ObservedStage, ObservedWorkload } from '../../observed.ts'
import { toObservedWorkload } from '../../open-workload.ts'
import type { DeliveryPorts } from '../../ports.ts'
import { observeProbe } from '../../probe/observe.ts'
import { observeParts } from '../../resource-set/observe-parts.ts'
import type { PayloadCache } from '../../resource-set/payloads.ts'
import type { PresenceCache } from '../../resource-set/presence.ts'
import { chooseForStages } from '../choose-versions.ts'
import { typeOf } from '../registry.ts'
import { listStages, type RenderedStage, renderStages } from '../render/render-stages.ts'
import { parseGates, readRequests } from '../request.ts'
import type { PreflightCheck } from '../stage-type.ts'
import { readFacts } from './read-facts.ts'
import { readInputs } from './read-input.ts'

export interface StageContext {
  readonly world: World
  readonly ports: DeliveryPorts
  readonly payloads: PayloadCache
  readonly presence: PresenceCache
  readonly delivery: Projected<AddonDelivery>
  readonly cluster: ClusterFacts
  readonly pipeline: Projected<AddonPipeline>
  /** In order. */
  readonly stages: readonly AddonStage[]
  readonly workload: Workload | undefined
  /** No stage is requested and nothing is left of an earlier one: nothing is read. */
  readonly isQuiet: boolean
  readonly nowMs: number
}

interface ObservedStages {
  readonly stages: readonly ObservedStage[]
  readonly kubernetes: string | undefined
  readonly faults: readonly MatrixFault[]
  /** The workload API failed while it was read. */
  readonly trouble: ObservedWorkload | undefined
}

/** Reads and pure steps in turn: facts, versions, inputs, what is rendered from them, and how far it has come. */
export async function observeStages(context: StageContext): Promise<ObservedStages> {
  const facts = await readFacts(context)
  const chosen = chooseForStages(facts)
  const listed = listStages(facts, chosen, ownSets(context))
  const rendered = renderStages(listed, await readInputs(context, facts, chosen, listed))
  let { trouble } = facts
  const stages: ObservedStage[] = []
  for (const one of rendered) {
    const progress = await observeProgress(context, one, trouble)
    trouble ??= progress.trouble
    stages.push({ ...one, ...progress.observed })
  }
  return { stages, kubernetes: facts.kubernetes, faults: chosen.faults, trouble }
}

interface Progress {
  readonly observed: Pick<ObservedStage, 'parts' | 'preflight' | 'probe'>
  readonly trouble: ObservedWorkload | undefined
}

/** `trouble` is what an earlier read of the workload API ended with; then it is not read again. */
async function observeProgress(
  context: StageContext,
  { stage, isWanted, rendered, existing, before, sets }: RenderedStage,
  earlier: ObservedWorkload | undefined,
): Promise<Progress> {
  if (!isWanted || rendered?.is !== 'ready') return { observed: { parts: [], preflight: [] }, trouble: earlier }
  const { workload } = context
  let trouble = earlier
  let preflight: readonly ObservedPreflight[] = []
  if (workload && before?.contentHash !== rendered.hash) {
    try {
      const checks = typeOf(stage).preflight?.(stage, rendered, existing) ?? []
      preflight = await Promise.all(checks.map((check) => readPreflight(workload.objects, check)))
    } catch (error) {
      trouble ??= toObservedWorkload(error)
    }
  }
  const isAdopted = existing.is === 'foreign'
  try {
    const parts = await observeParts(context, rendered.parts, stage, sets, isAdopted, trouble === undefined)
    const probe = workload ? await observeProbe(workload.objects, stage, rendered, parts, before) : undefined
    return { observed: { parts, preflight, probe }, trouble }
  } catch (error) {
    trouble ??= toObservedWorkload(error)
    const parts = await observeParts(context, rendered.parts, stage, sets, isAdopted, false)
    return { observed: { parts, preflight }, trouble }
  }
}

async function readPreflight(objects: Objects, check: PreflightCheck): Promise<ObservedPreflight> {
  if ('name' in check.where) {
    const live = await objects.get<UnknownObject>(check.kind, check.where)
    return { check, found: live ? [live] : [] }
  }
  return { check, found: await Array.fromAsync(objects.list<UnknownObject>(check.kind, check.where)) }
}

export function isQuiet(
  context: Omit<StageContext, 'isQuiet' | 'workload' | 'nowMs' | 'pipeline' | 'payloads' | 'presence'>,
): boolean {
  const { delivery, cluster, stages } = context
  const { wanted } = readRequests(stages, cluster.labels, parseGates(delivery.metadata.annotations?.[GATES_ANNOTATION]))
  if (wanted.size > 0 || ownSets(context).length > 0) return false
  return (delivery.status?.stages ?? []).every((one) => one.state === 'NotWanted')
}

export function ownSets({
  world,
  ports,
  cluster,
}: Pick<StageContext, 'world' | 'ports'> & { readonly cluster: Pick<ClusterFacts, 'namespace' | 'name'> }) {
  if (!ports.resourceSets) return []
  const value = `${cluster.namespace}/${cluster.name}`
  return world.cache.list(clusterResourceSetKind(ports.resourceSets), { index: 'addon-cluster', value })
}

export const setClusterIndex = (object: AnyObject): readonly string[] => {
  const name = object.metadata.labels?.[CLUSTER_NAME_LABEL]
  return name && object.metadata.labels?.[STAGE_LABEL] ? [`${object.metadata.namespace}/${name}`] : []
}
