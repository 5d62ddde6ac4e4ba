// Looks at what one step of a teardown has left to do, at home or in the workload cluster. Reads only; a kind that is
// not served has nothing left.
import { AddonDelivery, type AnyObject, type Key, PodKind, ServiceKind, type UnknownObject } from '#api'
import type { Objects } from '#kube'
import { isPlainObject } from '#lib'
import { carrierKind, readText } from './carriers.ts'
import { HelmReleaseKind, OCIRepositoryKind, ref } from './health-read.ts'
import { parseKindRef } from './kind-ref.ts'
import { type Manifest, parseManifests } from './manifests.ts'
import { GATES_ANNOTATION, MANAGED_LABEL, STAGE_LABEL } from './names.ts'
import type { TeardownContext } from './observe-teardown.ts'
import { probeKey } from './probe.ts'
import {
  HelmRepositoryKind,
  lookAtClaims,
  lookAtClasses,
  lookAtDefinitions,
  lookAtPools,
  lookAtRelease,
} from './teardown-karpenter.ts'
import type { Step, StepSight, Thing } from './teardown-seen.ts'
import { isFluxAlive, one, things, toThing } from './teardown-things.ts'
import { parseGates } from './wish.ts'

const IngressKind = ref('networking.k8s.io', 'v1', 'Ingress')
const GatewayKinds = ['v1', 'v1beta1'].map((version) => ref('gateway.networking.k8s.io', version, 'Gateway'))

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
      return sight(await lookAtPools(objects, step.pool))
    case 'node-claims':
      return await lookAtClaims(objects, step, namespace)
    case 'node-classes':
      return await lookAtClasses(objects, step, namespace)
    case 'load-balancers':
      return sight(await lookAtBalancers(objects))
    case 'release':
      return await lookAtRelease(step, { namespace: step.namespace ?? namespace, name: 'karpenter' }, objects)
    case 'definitions':
      return sight(await lookAtDefinitions(objects, context.cause))
    case 'objects':
      return await lookAtObjects(context, step, objects)
    default:
      return sight([])
  }
}

async function lookAtBalancers(objects: Objects): Promise<readonly Thing[]> {
  const services = await things(objects, ServiceKind, (service) => specOf(service)['type'] === 'LoadBalancer')
  const ingresses = await things(objects, IngressKind, () => true)
  const gateways = new Map<string, Thing>()
  for (const kind of GatewayKinds)
    for (const gateway of await things(objects, kind, () => true)) {
      const id = `${gateway.key.namespace}/${gateway.key.name}`
      if (!gateways.has(id)) gateways.set(id, gateway)
    }
  return [...services, ...ingresses, ...gateways.values()]
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
