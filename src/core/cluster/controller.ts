// The stand-in for core's Cluster controller. It runs in the embedded home alone: where core Cluster API is installed,
// the Cluster is core's.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  clusterKeyOf,
  clusterKind,
  keyOf,
  kubeconfigSecretName,
  machinePoolKind,
  readCluster,
  readMachinePool,
  type Secret,
  SecretKind,
} from '#api'
import { messageOf, redact } from '#lib'
import { addFinalizer, type Controller, removeFinalizer, type StatusReport, type World } from '#runtime'
import { actOnPart, referenceTextOf, referenceTexts, statusFieldsOf } from '../referenced-objects.ts'
import { conditionsOfCluster } from './conditions.ts'
import { type Action, CORE_FINALIZER, decideCluster, isPaused } from './decide.ts'
import {
  clusterOfPool,
  isInitialized,
  isProvisioned,
  type Observed,
  observeCluster,
  PART_KINDS,
  POOLS_BY_CLUSTER,
  type Probe,
} from './observe.ts'

interface ClusterControllerOptions {
  /** Answers undefined when the API server behind a kubeconfig answers, else why not. */
  readonly reach?: (kubeconfig: string) => Promise<string | undefined>
}

const storedClusterKind = clusterKind('v1beta2')
const MachinePool = machinePoolKind('v1beta2')

export function clusterController({ reach }: ClusterControllerOptions = {}): Controller<AnyObject, Observed, Action> {
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
    // A new kubeconfig is probed in the same reconcile, so that an available cluster is never reported as unreachable.
    defersStatus: ({ probe }) => probe.is === 'unknown',
    wakes: [
      ...PART_KINDS.map((kind) => ({ kind, toKeys: ownersAndReferrers })),
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
      observeCluster(cache, object, (id, kubeconfig) => {
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
        case 'delete':
          return actOnPart(objects, action, object, object.metadata.name)
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

function referencesOf(object: AnyObject): readonly string[] {
  const { namespace, infrastructureRef, controlPlaneRef } = readCluster(object)
  return referenceTexts(namespace, infrastructureRef, controlPlaneRef)
}

/** By owner reference once it is claimed, by the Cluster's reference before. */
const ownersAndReferrers: Controller<AnyObject, Observed, Action>['wakes'][number]['toKeys'] = (changed, cache) => {
  const owner = clusterKeyOf(changed)
  const referrers = cache.keys(storedClusterKind, { index: BY_REFERENCE, value: referenceTextOf(changed) })
  return owner ? [owner, ...referrers] : referrers
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
