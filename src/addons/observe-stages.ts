// Reads what the stages of one delivery need: versions, variables, what is rendered from them, what core has delivered
// and what can be seen in the workload cluster.
import {
  type AddonDelivery,
  type AddonPipeline,
  type AddonStage,
  type AnyObject,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  type ClusterFacts,
  clusterResourceSetKind,
  RETRY_ANNOTATION,
  type StageStatus,
} from '#api'
import { chartTag, chartUrl, type MatrixFault } from '#catalog'
import { type Cache, isKubeError, type Projected } from '#kube'
import { toTimestamp } from '#lib'
import type { World } from '#runtime'
import type { CarrierMemory } from './carriers.ts'
import { chooseVersions } from './choose-versions.ts'
import type { DeliveryPorts } from './delivery-ports.ts'
import type { Existing, PartSeen, StageSeen, WorkloadSight } from './delivery-seen.ts'
import { findFlux } from './existing-flux.ts'
import { findHarm } from './harm.ts'
import { FLUX_NAMESPACE, GATES_ANNOTATION, STAGE_LABEL } from './names.ts'
import { moveChecks, observeParts } from './observe-parts.ts'
import { observeProbe, type ProbeSeen } from './observe-probe.ts'
import type { Workload } from './port.ts'
import type { PresenceMemory } from './presence.ts'
import type { Rendered } from './render-stage.ts'
import { renderFrom } from './stage-input.ts'
import { outputsOf, type ReadSources, readSources } from './variable-sources.ts'
import { collectVariables } from './variables.ts'
import { parseGates, readWishes } from './wish.ts'

export interface StageContext {
  readonly world: World
  readonly ports: DeliveryPorts
  readonly carriers: CarrierMemory
  readonly presence: PresenceMemory
  readonly delivery: Projected<AddonDelivery>
  readonly cluster: ClusterFacts
  readonly pipeline: Projected<AddonPipeline>
  /** In order. */
  readonly stages: readonly AddonStage[]
  readonly workload: Workload | undefined
  /** Nobody wants anything and nothing is left of what was wanted: nothing is read. */
  readonly isQuiet: boolean
  readonly nowMs: number
}

export interface StagesSeen {
  readonly stages: readonly StageSeen[]
  readonly kubernetes: string | undefined
  readonly faults: readonly MatrixFault[]
  /** The workload failed while it was looked into. */
  readonly trouble: WorkloadSight | undefined
}

const NO_SOURCES: ReadSources = { values: [], secret: new Set(), missing: [] }

export async function observeStages(context: StageContext): Promise<StagesSeen> {
  const { world, delivery, cluster, pipeline, stages } = context
  const opened = parseGates(delivery.metadata.annotations?.[GATES_ANNOTATION])
  const wishes = readWishes(stages, cluster.labels, opened)
  const controlPlane = controlPlaneOf(world.cache, cluster)
  const kubernetes =
    controlPlane?.status?.version ?? controlPlane?.spec.version ?? pipeline.spec.variables?.['KUBERNETES_VERSION']
  const sources = context.isQuiet
    ? NO_SOURCES
    : await readSources(world.objects, cluster.namespace, cluster.name, pipeline.spec.variablesFrom)
  const variables = collectVariables({
    cluster,
    kubernetes,
    outputs: controlPlane ? outputsOf(controlPlane) : {},
    sources: sources.values,
    pipeline: pipeline.spec.variables ?? {},
    delivery: delivery.spec.variables ?? {},
  })
  const sets = ownSets(context)
  const fluxStage = stages.find((stage) => stage.flux)
  let trouble: WorkloadSight | undefined
  let found: Awaited<ReturnType<typeof findFlux>> = { existing: { is: 'unknown' }, namespace: FLUX_NAMESPACE }
  const chosen = kubernetes ? chooseVersions(stages, delivery, kubernetes, wishes.wanted, undefined) : undefined
  if (fluxStage && wishes.wanted.has(fluxStage.name) && context.workload) {
    try {
      found = await findFlux(context.workload.objects, chosen?.versions?.flux)
    } catch (error) {
      trouble = toSight(error)
    }
  }
  const adopted = found.existing.is === 'foreign' ? found.existing.version : undefined
  const { versions, faults } = kubernetes
    ? chooseVersions(stages, delivery, kubernetes, wishes.wanted, adopted)
    : { versions: undefined, faults: [] }

  const seen: StageSeen[] = []
  for (const stage of stages) {
    const isWanted = wishes.wanted.has(stage.name)
    const gate = stage.gateLabel
      ? {
          label: stage.gateLabel,
          isSet: cluster.labels[stage.gateLabel] === 'true',
          isOurs: opened.has(stage.gateLabel),
        }
      : undefined
    const stageSets = sets.filter((set) => set.metadata.labels?.[STAGE_LABEL] === stage.name)
    const before = beforeOf(delivery, stage.name)
    let existing: Existing = stage.flux ? found.existing : { is: 'nothing' }
    let rendered: Rendered | undefined
    let parts: readonly PartSeen[] = []
    let probe: ProbeSeen | undefined
    // What is leaving is rendered too: its carriers may already be gone, and its objects must be known by name.
    const isLeaving =
      !isWanted && (stageSets.length > 0 || before?.startedAt !== undefined || before?.state === 'Removing')
    if ((isWanted || isLeaving) && versions && faults.length === 0) {
      rendered =
        sources.missing.length > 0
          ? { is: 'missing', variables: [], sources: sources.missing }
          : await renderFrom(context, stage, {
              variables,
              secretVariables: sources.secret,
              versions,
              isFluxAdopted: found.existing.is === 'foreign',
              probe: probeFor(stages, wishes.wanted, versions.karpenter),
            })
      if (isWanted && rendered.is === 'ready') {
        try {
          existing = (await findHarm(context, stage, rendered, existing, before)) ?? existing
        } catch (error) {
          trouble ??= toSight(error)
        }
        const placed =
          stage.flux && found.namespace !== FLUX_NAMESPACE
            ? moveChecks(rendered.parts, found.namespace)
            : rendered.parts
        const isAdopted = existing.is === 'foreign'
        try {
          parts = await observeParts(context, placed, stage, stageSets, isAdopted, trouble === undefined)
          if (context.workload) probe = await observeProbe(context.workload.objects, stage, rendered, parts, before)
        } catch (error) {
          trouble ??= toSight(error)
          parts = await observeParts(context, placed, stage, stageSets, isAdopted, false)
        }
      }
    }
    seen.push({
      stage,
      isWanted,
      isEarly: wishes.early.has(stage.name),
      gate,
      rendered,
      parts,
      existing,
      hasSets: stageSets.length > 0,
      obsoleteSets: obsoleteOf(stageSets, rendered),
      before,
      probe,
    })
  }
  return { stages: seen, kubernetes, faults, trouble }
}

export function isQuiet(
  context: Omit<StageContext, 'isQuiet' | 'workload' | 'nowMs' | 'pipeline' | 'carriers' | 'presence'>,
): boolean {
  const { delivery, cluster, stages } = context
  const { wanted } = readWishes(stages, cluster.labels, parseGates(delivery.metadata.annotations?.[GATES_ANNOTATION]))
  if (wanted.size > 0 || ownSets(context).length > 0) return false
  return (delivery.status?.stages ?? []).every((one) => one.state === 'NotWanted')
}

function obsoleteOf(sets: readonly AnyObject[], rendered: Rendered | undefined): readonly string[] {
  if (rendered?.is !== 'ready') return []
  const needed = new Set(rendered.parts.map((part) => part.set))
  return sets.map(({ metadata }) => metadata.name).filter((name) => !needed.has(name))
}

/** The chart of the stage that follows: if Flux cannot fetch that, it is better known before the gate opens. */
function probeFor(
  stages: readonly AddonStage[],
  wanted: ReadonlySet<string>,
  version: string,
): { readonly url: string; readonly tag: string } | undefined {
  const karpenter = stages.find((stage) => stage.karpenter && wanted.has(stage.name))?.karpenter
  return karpenter ? { url: karpenter.chart ?? chartUrl(), tag: chartTag(version) } : undefined
}

/** What was recorded; a person who asks for a retry starts the counting anew. */
function beforeOf(delivery: Projected<AddonDelivery>, name: string): StageStatus | undefined {
  const before = delivery.status?.stages?.find((one) => one.name === name)
  const asked = delivery.metadata.annotations?.[RETRY_ANNOTATION]
  if (!before || asked === undefined || asked === delivery.status?.handledRetry) return before
  const { attempts: _attempts, failedAt, redelivery, ...rest } = before
  const long = toTimestamp(0)
  return {
    ...rest,
    ...(failedAt === undefined ? {} : { failedAt: long }),
    ...(redelivery ? { redelivery: redelivery.map(({ set }) => ({ set, since: long })) } : {}),
  }
}

export function controlPlaneOf(cache: Cache, cluster: ClusterFacts): Projected<CAPTControlPlane> | undefined {
  const ref = cluster.controlPlaneRef
  if (!ref || ref.kind !== CAPTControlPlane.kind) return undefined
  return cache.get<CAPTControlPlane>(CAPTControlPlane, { namespace: cluster.namespace, name: ref.name })
}

export function ownSets({
  world,
  ports,
  cluster,
}: Pick<StageContext, 'world' | 'ports' | 'cluster'>): readonly AnyObject[] {
  if (!ports.resourceSets) return []
  const value = `${cluster.namespace}/${cluster.name}`
  return world.cache.list(clusterResourceSetKind(ports.resourceSets), { index: 'addon-cluster', value })
}

export const setClusterIndex = (object: AnyObject): readonly string[] => {
  const name = object.metadata.labels?.[CLUSTER_NAME_LABEL]
  return name && object.metadata.labels?.[STAGE_LABEL] ? [`${object.metadata.namespace}/${name}`] : []
}

export function toSight(error: unknown): WorkloadSight {
  if (!isKubeError(error)) throw error
  const message = `The workload API answers: ${error.message}`
  if (error.reason === 'Unauthorized') return { is: 'unauthorized', message }
  if (error.reason === 'Forbidden') return { is: 'forbidden', message }
  return { is: 'unreachable', message }
}
