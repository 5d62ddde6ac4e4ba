// Reads where a cluster stands: the Kubernetes version that runs and the one that is asked for, and the Flux and Karpenter
// that its deliveries brought.
import {
  type AddonDelivery,
  AddonPipeline,
  type AddonStage,
  type AnyObject,
  type CAPTControlPlane,
  type Condition,
  conditionOf,
  isAdopted,
  type Key,
  type KindRef,
  keyOf,
  readCluster,
  type StageStatus,
} from '#api'
import { lineOf, type RunningComponent } from '#catalog'
import { isKubeError, type Objects } from '#kube'
import { CaptError } from '#lib'
import { readClusterObjects } from '#view'
import { type NodeImageState, nodeImageOf } from './node-image.ts'

export interface ComponentState extends RunningComponent {
  readonly stage: string
  readonly delivery: Key
  /** A user chose the version; otherwise it follows Kubernetes by itself. */
  readonly isPinned: boolean
  readonly state: StageStatus['state']
  readonly message: string
}

export interface ClusterState {
  readonly cluster: Key
  readonly controlPlane: Key
  /** The minor version that runs. */
  readonly kubernetes: string
  /** The minor version that is asked for. */
  readonly requested: string
  /** The version is set in the Cluster, and core writes it into the control plane. */
  readonly hasTopology: boolean
  /** The control plane runs what its spec asks for. */
  readonly isSettled: boolean
  /** Why the control plane or a delivery needs a person, about what is written now. */
  readonly stops: readonly string[]
  readonly components: readonly ComponentState[]
  /** Where a node pool boots what the control plane hands out. */
  readonly nodeImage?: NodeImageState | undefined
}

/** `kind` is Cluster in the version that the server serves. */
export async function readState(kind: KindRef, name: string, at: { objects: Objects; namespace: string }) {
  const { cluster, controlPlane, deliveries } = await readClusterObjects(kind, name, at)
  const running = controlPlane?.status?.version
  if (!controlPlane || running === undefined)
    throw new CaptError('CAPT_UPGRADE_REFUSED', `Cluster ${at.namespace}/${name} does not run yet`, {
      hint: `capt describe cluster ${name} says what it waits for`,
    })
  if (isAdopted(controlPlane))
    throw new CaptError(
      'CAPT_UPGRADE_REFUSED',
      `Cluster ${at.namespace}/${name} was adopted: capt does not change it`,
      {
        hint: 'its owner upgrades it; the version that runs is read, and add-ons follow it',
      },
    )
  const followed = await Promise.all(
    deliveries.map(async (delivery) => ({ delivery, pipeline: await pipelineOf(delivery, at.objects) })),
  )
  const components = followed.flatMap(({ delivery, pipeline }) =>
    (delivery.status?.stages ?? []).flatMap((stage) => toComponent(stage, delivery, pipeline?.spec.stages)),
  )
  const [nodeImage] = followed.flatMap(({ delivery, pipeline }) => nodeImageOf(delivery, pipeline, controlPlane) ?? [])
  return { ...toState(cluster, controlPlane, deliveries, components, lineOf(running)), nodeImage }
}

function toState(
  cluster: AnyObject,
  controlPlane: CAPTControlPlane,
  deliveries: readonly AddonDelivery[],
  components: readonly ComponentState[],
  kubernetes: string,
): ClusterState {
  const requested = lineOf(controlPlane.spec.version)
  const ready = currentCondition(controlPlane, 'Ready')
  return {
    cluster: keyOf(cluster),
    controlPlane: keyOf(controlPlane),
    kubernetes,
    requested,
    hasTopology: readCluster(cluster).topology !== undefined,
    isSettled: kubernetes === requested && ready?.status === 'True',
    stops: [controlPlane, ...deliveries].flatMap(stopOf),
    components,
  }
}

/** Held for the sake of the add-ons: the plan says what to do about it. */
const HELD = ['AddonsNotReady', 'AddonsChanging']

function stopOf(object: AnyObject): readonly string[] {
  const stalled = currentCondition(object, 'Stalled')
  if (stalled?.status !== 'True' || HELD.includes(stalled.reason)) return []
  return [`${object.kind} ${object.metadata.name}: ${stalled.message.split('\n')[0]}`]
}

function currentCondition(object: AnyObject, type: string): Condition | undefined {
  const found = conditionOf(object, type)
  const isOld = found?.observedGeneration !== undefined && found.observedGeneration < (object.metadata.generation ?? 0)
  return isOld ? undefined : found
}

/** Undefined when this person may not read it. */
async function pipelineOf({ metadata, spec }: AddonDelivery, objects: Objects): Promise<AddonPipeline | undefined> {
  const { name, namespace = metadata.namespace! } = spec.pipelineRef
  return await objects.get<AddonPipeline>(AddonPipeline, { namespace, name }).catch((error: unknown) => {
    if (isKubeError(error, 'Forbidden')) return undefined
    throw error
  })
}

function toComponent(
  { name, component, wantedVersion, adopted, startedAt, state, message = '' }: StageStatus,
  delivery: AddonDelivery,
  stages: readonly AddonStage[] | undefined,
): readonly ComponentState[] {
  const version = adopted ?? wantedVersion
  if (!component || version === undefined || (startedAt === undefined && adopted === undefined)) return []
  const override = delivery.spec.overrides.find((one) => one.stage === name)?.version
  const chosen = stages?.find((stage) => stage.name === name)?.[component]?.version
  // A pipeline that this person may not read may have chosen it.
  const isPinned = adopted !== undefined || override !== undefined || chosen !== undefined || stages === undefined
  const where = { stage: name, delivery: keyOf(delivery), isPinned, state, message }
  return [{ component, version, isForeign: adopted !== undefined, ...where }]
}

/** Why a cluster is not healthy; undefined when it is. */
export function complaintOf({ isSettled, stops, components, kubernetes }: ClusterState): string | undefined {
  const [stop] = stops
  if (stop !== undefined) return stop
  if (!isSettled) return `the control plane of Kubernetes ${kubernetes} is not ready`
  const sick = components.find(({ state }) => state !== 'Healthy')
  return sick && `stage ${sick.stage} is ${sick.state}: ${sick.message}`
}
