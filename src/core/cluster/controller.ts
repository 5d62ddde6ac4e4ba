// The stand-in for core's Cluster controller. It runs in the embedded home alone: where core Cluster API is installed,
// the Cluster is core's.
import {
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  clusterKeyOf,
  clusterKind,
  type Kind,
  keyOf,
  kubeconfigSecretName,
  machinePoolKind,
  readMachinePool,
  type Secret,
  SecretKind,
} from '#api'
import { messageOf, redact } from '#lib'
import {
  addFinalizer,
  type Controller,
  ownerReference,
  removeFinalizer,
  type StatusReport,
  type World,
  withOwner,
} from '#runtime'
import { conditionsOfCluster } from './conditions.ts'
import { type Action, CORE_FINALIZER, decideCluster, isPaused } from './decide.ts'
import {
  clusterOfPool,
  isInitialized,
  isProvisioned,
  type Observed,
  observeCluster,
  type Part,
  POOLS_BY_CLUSTER,
  type Probe,
  statusFieldsOf,
} from './observe.ts'

interface ClusterControllerOptions {
  /** Kinds a Cluster may refer to here. */
  readonly kinds?: readonly Kind[]
  /** Answers undefined when the API server behind a kubeconfig answers, else why not. */
  readonly reach?: (kubeconfig: string) => Promise<string | undefined>
}

const storedClusterKind = clusterKind('v1beta2')
const MachinePool = machinePoolKind('v1beta2')

export function clusterController(options: ClusterControllerOptions = {}): Controller<AnyObject, Observed, Action> {
  const { kinds = [CAPTCluster, CAPTControlPlane] as readonly Kind[], reach } = options
  const probes = new Map<string, { readonly kubeconfig: string; readonly probe: Probe }>()

  async function probe({ objects }: World, observed: Observed): Promise<void> {
    const { namespace, name } = observed.facts
    const secret = await objects.get<Secret>(SecretKind, { namespace, name: kubeconfigSecretName(name) })
    if (!reach || !secret) return
    const text = Buffer.from(secret.data?.['value'] ?? '', 'base64').toString('utf8')
    const fault = await reach(text).catch((error: unknown) => redact(messageOf(error)))
    const result: Probe =
      fault === undefined ? { is: 'succeeded' } : { is: 'failed', message: `Remote connection probe failed: ${fault}` }
    probes.set(`${namespace}/${name}`, { kubeconfig: secret.metadata.resourceVersion ?? '', probe: result })
  }

  return {
    name: 'cluster',
    kind: storedClusterKind,
    summary: false,
    // A new kubeconfig is probed in this very turn: a cluster that is available is not called unreachable in between.
    defersStatus: ({ probe }) => probe.is === 'unknown',
    wakes: [
      ...kinds.map((kind) => ({ kind, toKeys: ownersAndReferrers })),
      {
        kind: MachinePool,
        toKeys: (changed) => {
          const { namespace, clusterName } = readMachinePool(changed)
          return [{ namespace, name: clusterName }]
        },
      },
      {
        kind: SecretKind,
        toKeys: (changed) => {
          const name = changed.metadata.labels?.[CLUSTER_NAME_LABEL]
          return name === undefined ? [] : [{ namespace: changed.metadata.namespace ?? '', name }]
        },
      },
    ],
    indexes: [
      { kind: storedClusterKind, name: BY_REFERENCE, values: referencesOf },
      { kind: MachinePool, name: POOLS_BY_CLUSTER, values: clusterOfPool },
    ],
    observe: async ({ cache }, object) =>
      observeCluster(cache, kinds, object, (id, kubeconfig) => {
        const known = probes.get(id)
        if (known?.kubeconfig === kubeconfig) return known.probe
        return reach ? { is: 'unknown' } : { is: 'unprobed' }
      }),
    decide: decideCluster,
    async act(world, observed, action) {
      const { objects } = world
      const { object } = observed
      switch (action.do) {
        case 'add-finalizer':
          return addFinalizer(objects, storedClusterKind, object, CORE_FINALIZER)
        case 'remove-finalizer':
          probes.delete(`${observed.facts.namespace}/${observed.facts.name}`)
          return removeFinalizer(objects, storedClusterKind, object, CORE_FINALIZER)
        case 'claim':
          return claim(world, object, action.part)
        case 'delete': {
          const { metadata } = action.part.object!
          return objects.delete(action.part.kind!, keyOf(action.part.object!), { uid: metadata.uid ?? '' })
        }
        case 'delete-workers':
          for (const worker of action.workers)
            await objects.delete(MachinePool, keyOf(worker), { uid: worker.metadata.uid ?? '' })
          return
        case 'set-endpoint': {
          const body = { spec: { controlPlaneEndpoint: action.endpoint } }
          await objects.patch(storedClusterKind, keyOf(object), { type: 'merge', body })
          return
        }
        case 'probe':
          return probe(world, observed)
      }
    },
    status: statusOfCluster,
  }
}

const BY_REFERENCE = 'reference'
const referenceText = (kind: string, namespace: string, name: string): string => `${kind}/${namespace}/${name}`

function referencesOf(object: AnyObject): readonly string[] {
  const { infrastructureRef, controlPlaneRef } =
    (object as { spec?: Record<string, { kind?: string; name?: string }> }).spec ?? {}
  return [infrastructureRef, controlPlaneRef].flatMap((ref) =>
    ref?.kind && ref.name ? [referenceText(ref.kind, object.metadata.namespace ?? '', ref.name)] : [],
  )
}

/** By owner reference once it is claimed, by the Cluster's reference before. */
const ownersAndReferrers: Controller<AnyObject, Observed, Action>['wakes'][number]['toKeys'] = (changed, cache) => {
  const owner = clusterKeyOf(changed)
  const value = referenceText(changed.kind, changed.metadata.namespace ?? '', changed.metadata.name)
  const referrers = cache.list(storedClusterKind, { index: BY_REFERENCE, value }).map(keyOf)
  return owner ? [owner, ...referrers] : referrers
}

async function claim({ objects }: World, cluster: AnyObject, { kind, object }: Part): Promise<void> {
  if (!kind || !object) return
  const { resourceVersion, ownerReferences } = object.metadata
  const body = {
    metadata: {
      resourceVersion,
      labels: { [CLUSTER_NAME_LABEL]: cluster.metadata.name },
      ownerReferences: withOwner(ownerReferences, ownerReference(cluster)),
    },
  }
  await objects.patch(kind, keyOf(object), { type: 'merge', body })
}

function statusOfCluster(observed: Observed): StatusReport {
  const conditions = conditionsOfCluster(observed)
  if (isPaused(observed)) return { conditions }
  const { facts } = observed
  const provisioned = isProvisioned(observed)
  const initialized = isInitialized(observed)
  const { versions } = statusFieldsOf(observed.controlPlane)
  return {
    fields: {
      phase: phaseOf(observed, provisioned),
      observedGeneration: observed.object.metadata.generation,
      initialization:
        provisioned || initialized
          ? {
              ...(provisioned ? { infrastructureProvisioned: true } : {}),
              ...(initialized ? { controlPlaneInitialized: true } : {}),
            }
          : undefined,
      controlPlane: facts.controlPlaneRef && versions ? { versions } : undefined,
    },
    conditions,
  }
}

function phaseOf({ facts }: Observed, provisioned: boolean): string {
  if (facts.deleting) return 'Deleting'
  if (provisioned && facts.endpoint) return 'Provisioned'
  return facts.infrastructureRef || facts.controlPlaneRef ? 'Provisioning' : 'Pending'
}
