// Looks at what one step of a teardown has left to do, at home or in the workload cluster. Reads only; a kind that is
// not served has nothing left.
import {
  AddonDelivery,
  type AnyObject,
  CustomResourceDefinitionKind,
  DeploymentKind,
  type Key,
  type KindRef,
  PodKind,
  ServiceKind,
  type UnknownObject,
} from '#api'
import { isKubeError, type Objects } from '#kube'
import { isPlainObject } from '#lib'
import { carrierKind, readText } from './carriers.ts'
import { HelmReleaseKind, OCIRepositoryKind, ref } from './health-read.ts'
import { parseKindRef } from './kind-ref.ts'
import { type Manifest, parseManifests } from './manifests.ts'
import { FLUX_NAMESPACE, GATES_ANNOTATION, MANAGED_LABEL, STAGE_LABEL } from './names.ts'
import type { TeardownContext } from './observe-teardown.ts'
import { probeKey } from './probe.ts'
import type { Step, StepSight, Thing } from './teardown-seen.ts'
import { parseGates } from './wish.ts'

const NodePoolKind = ref('karpenter.sh', 'v1', 'NodePool', false)
const NodeClaimKind = ref('karpenter.sh', 'v1', 'NodeClaim', false)
const EC2NodeClassKind = ref('karpenter.k8s.aws', 'v1', 'EC2NodeClass', false)
const HelmRepositoryKind = ref('source.toolkit.fluxcd.io', 'v1', 'HelmRepository')
const KARPENTER_DEFINITIONS = [
  'nodepools.karpenter.sh',
  'nodeclaims.karpenter.sh',
  'nodeoverlays.karpenter.sh',
  'ec2nodeclasses.karpenter.k8s.aws',
]

export async function lookAtHome(
  { sets, stages, delivery, world, cluster }: TeardownContext,
  step: Step,
): Promise<StepSight> {
  const sight = (left: readonly Thing[]): StepSight => ({ step, left, inUse: [], isControllerAlive: undefined })
  if (step.type === 'sets')
    return sight(
      sets
        .filter(({ object }) => object.metadata.labels?.[STAGE_LABEL] === step.stage)
        .map(({ object, kind }) => toThing(kind, object)),
    )
  const gate = stages.find((stage) => stage.name === step.stage)?.gateLabel
  const isOpen = gate !== undefined && parseGates(delivery.metadata.annotations?.[GATES_ANNOTATION]).has(gate)
  const rows = delivery.status?.stages?.find((one) => one.name === step.stage)?.delivered?.resources ?? []
  const own = rows.filter((row) => !row.name.startsWith('fluxcd-install-'))
  const carriers = await Promise.all(
    own.map((row) =>
      one(world.objects, carrierKind({ kind: row.kind === 'Secret' ? 'Secret' : 'ConfigMap' }), {
        namespace: cluster.namespace,
        name: row.name,
      }),
    ),
  )
  const label: Thing[] = isOpen ? [{ kind: AddonDelivery, key: { name: gate }, isDeleting: false, finalizers: [] }] : []
  return sight([...label, ...carriers.flat().filter((thing) => !thing.isDeleting)])
}

export async function lookAtStep(context: TeardownContext, step: Step, objects: Objects): Promise<StepSight> {
  const sight = (left: readonly Thing[], isControllerAlive?: boolean, inUse: readonly string[] = []): StepSight => ({
    step,
    left,
    inUse,
    isControllerAlive,
  })
  const namespace = context.stages.find((stage) => stage.karpenter)?.karpenter?.namespace ?? 'kube-system'
  switch (step.type) {
    case 'probe': {
      const pod = await objects.get(PodKind, probeKey(step.stage))
      return sight(pod?.metadata.labels?.[MANAGED_LABEL] === 'true' ? [toThing(PodKind, pod)] : [])
    }
    case 'node-pools':
      return sight(
        await things(
          objects,
          NodePoolKind,
          (pool) => isKarpenters(pool) && (!step.pool || pool.metadata.name === step.pool),
        ),
      )
    case 'node-claims': {
      const left = await things(
        objects,
        NodeClaimKind,
        (claim) => !step.pool || claim.metadata.labels?.['karpenter.sh/nodepool'] === step.pool,
      )
      return sight(left, left.length > 0 ? await isAlive(objects, { namespace, name: 'karpenter' }) : undefined)
    }
    case 'node-classes': {
      const left = await things(objects, EC2NodeClassKind, (one) => !step.pool || one.metadata.name === step.pool)
      return sight(left, left.length > 0 ? await isAlive(objects, { namespace, name: 'karpenter' }) : undefined)
    }
    case 'load-balancers':
      return sight(await things(objects, ServiceKind, (service) => specOf(service)['type'] === 'LoadBalancer'))
    case 'release': {
      const key = { namespace: step.namespace ?? namespace, name: 'karpenter' }
      const kinds = [HelmReleaseKind, OCIRepositoryKind, HelmRepositoryKind]
      const left = (await Promise.all(kinds.map((kind) => one(objects, kind, key)))).flat()
      // The source must outlive the release that was made from it.
      const first = left.filter((thing) => thing.kind === HelmReleaseKind)
      return sight(first.length > 0 ? first : left, left.length > 0 ? await isFluxAlive(objects) : undefined)
    }
    case 'definitions':
      return sight(
        (
          await Promise.all(KARPENTER_DEFINITIONS.map((name) => one(objects, CustomResourceDefinitionKind, { name })))
        ).flat(),
      )
    case 'objects':
      return await lookAtObjects(context, step, objects)
    default:
      return sight([])
  }
}

/** What a stage delivered goes in reverse: objects of a CRD before the CRD, everything before its namespace. */
async function lookAtObjects(context: TeardownContext, step: Step, objects: Objects): Promise<StepSight> {
  const stage = context.stages.find((one) => one.name === step.stage)
  const sources = stage?.flux ? await ownSources(objects) : []
  // Flux takes its finalizers off itself: what is of its kinds goes while it runs, or its CRDs would wait for ever.
  if (sources.length > 0) return { step, left: sources, inUse: [], isControllerAlive: await isFluxAlive(objects) }
  const manifests = await deliveredBy(context, step.stage)
  const removable = [...manifests].reverse().filter((manifest) => !isShared(manifest))
  const found = (
    await Promise.all(removable.map((manifest) => one(objects, parseKindRef(manifest), keyOf(manifest))))
  ).flat()
  const left = found.filter((thing) => thing.kind.kind !== 'Namespace')
  const namespaces = found.filter((thing) => thing.kind.kind === 'Namespace')
  const inUse = stage?.flux ? await foreignReleases(objects) : []
  // A Flux that capt only adopted was not delivered and stays.
  const adopted = context.delivery.status?.stages?.find((one) => one.name === step.stage)?.adopted
  const rest = left.length > 0 ? left : namespaces
  return { step, left: adopted ? [] : rest, inUse, isControllerAlive: stage?.flux ? false : undefined }
}

/** kube-system and default belong to the cluster, whoever names them. */
function isShared(manifest: Manifest): boolean {
  return (
    manifest.kind === 'Namespace' &&
    ['kube-system', 'default', 'kube-public', 'kube-node-lease'].includes(manifest.metadata.name)
  )
}

/** Also those that an earlier wish has left, and that nobody would deliver now. */
async function ownSources(objects: Objects): Promise<readonly Thing[]> {
  const isOurs = ({ metadata }: AnyObject) => metadata.labels?.[MANAGED_LABEL] === 'true'
  const kinds = [OCIRepositoryKind, HelmRepositoryKind]
  return (await Promise.all(kinds.map((kind) => things(objects, kind, isOurs)))).flat()
}

async function foreignReleases(objects: Objects): Promise<readonly string[]> {
  const found = await things(objects, HelmReleaseKind, (release) => release.metadata.labels?.[MANAGED_LABEL] !== 'true')
  return found.map((thing) => `HelmRelease ${thing.key.namespace}/${thing.key.name}`).sort()
}

/** From what would be delivered now, else from the carriers that are still there. */
async function deliveredBy(
  { seen, delivery, world, cluster }: TeardownContext,
  stage: string,
): Promise<readonly Manifest[]> {
  const rendered = seen.find((one) => one.stage.name === stage)?.rendered
  if (rendered?.is === 'ready') return rendered.parts.flatMap((part) => part.manifests)
  const rows = delivery.status?.stages?.find((one) => one.name === stage)?.delivered?.resources ?? []
  const texts = await Promise.all(
    rows.map(async (row) => {
      const kind = row.kind === 'Secret' ? 'Secret' : 'ConfigMap'
      const live = await world.objects.get(carrierKind({ kind }), { namespace: cluster.namespace, name: row.name })
      return live ? readText(live, kind) : []
    }),
  )
  return texts.flat().flatMap((text) => parseManifests(text, `carrier of ${stage}`))
}

function keyOf({ metadata }: Manifest): Key {
  return metadata.namespace === undefined
    ? { name: metadata.name }
    : { namespace: metadata.namespace, name: metadata.name }
}

function specOf(object: UnknownObject): Record<string, unknown> {
  return isPlainObject(object['spec']) ? object['spec'] : {}
}

/** Pools of the managed Karpenter inside EKS Auto Mode are none of our business. */
function isKarpenters(pool: UnknownObject): boolean {
  const { spec } = pool as unknown as { spec?: { template?: { spec?: { nodeClassRef?: { group?: string } } } } }
  const group = spec?.template?.spec?.nodeClassRef?.group
  return group === undefined || group === 'karpenter.k8s.aws'
}

async function isAlive(objects: Objects, key: Key): Promise<boolean> {
  const deployment = await objects.get<UnknownObject>(DeploymentKind, key)
  const { status } = (deployment ?? {}) as { status?: { availableReplicas?: number } }
  return (status?.availableReplicas ?? 0) > 0
}

/** Wherever it lives: a Flux that was adopted may be elsewhere. */
async function isFluxAlive(objects: Objects): Promise<boolean> {
  if (await isAlive(objects, { namespace: FLUX_NAMESPACE, name: 'helm-controller' })) return true
  for await (const one of objects.list<UnknownObject>(DeploymentKind, {
    labelSelector: 'app.kubernetes.io/part-of=flux',
  }))
    if (
      one.metadata.name === 'helm-controller' &&
      (await isAlive(objects, { namespace: one.metadata.namespace!, name: one.metadata.name }))
    )
      return true
  return false
}

async function things(
  objects: Objects,
  kind: KindRef,
  accepts: (object: UnknownObject) => boolean,
): Promise<readonly Thing[]> {
  const found: Thing[] = []
  try {
    for await (const object of objects.list<UnknownObject>(kind)) if (accepts(object)) found.push(toThing(kind, object))
  } catch (error) {
    if (!isKubeError(error, 'KindNotServed', 'NotFound')) throw error
  }
  return found
}

async function one(objects: Objects, kind: KindRef, key: Key): Promise<readonly Thing[]> {
  try {
    const object = await objects.get<UnknownObject>(kind, key)
    return object ? [toThing(kind, object)] : []
  } catch (error) {
    if (!isKubeError(error, 'KindNotServed', 'NotFound')) throw error
    return []
  }
}

function toThing(kind: KindRef, { metadata }: AnyObject): Thing {
  const key =
    metadata.namespace === undefined ? { name: metadata.name } : { namespace: metadata.namespace, name: metadata.name }
  return { kind, key, isDeleting: metadata.deletionTimestamp !== undefined, finalizers: metadata.finalizers ?? [] }
}
