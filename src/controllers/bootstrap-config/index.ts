// The controller for CAPTBootstrapConfig: the Secret with bootstrap data, by the BootstrapConfig contract of Cluster API.
// The Secret is written once; it is owned by the object and goes with it.
import {
  type AnyObject,
  CAPTBootstrapConfig,
  CAPTControlPlane,
  CLUSTER_GROUP,
  CLUSTER_NAME_LABEL,
  CLUSTER_SECRET_TYPE,
  type ClusterFacts,
  type KindRef,
  keyOf,
  keyText,
  pauseOf,
  readCluster,
  type Secret,
  SecretKind,
} from '#api'
import { type Cache, ignore, type Objects } from '#kube'
import { jsonEqual } from '#lib'
import { type Controller, type Decision, findOwner, isOwnedBy, ownerReference, type StatusReport } from '#runtime'
import { deletingCondition, pausedCondition } from '../shared/conditions.ts'
import { BY_CLUSTER, clusterValues } from '../shared/owner-cluster.ts'
import { isSameIn } from '../shared/wakes.ts'
import { type Action, decide, type Observed, secretNameOf } from './decide.ts'

const FACTS_READ = ['paused', 'controlPlaneRef', 'controlPlaneInitialized'] as const

export function captBootstrapConfigController(options: {
  /** Cluster in the version that the server serves. */
  readonly clusterKind: KindRef
}): Controller<CAPTBootstrapConfig, Observed, Action> {
  const { clusterKind } = options
  const ofCluster = (value: string, cache: Cache) => cache.keys(CAPTBootstrapConfig, { index: BY_CLUSTER, value })
  return {
    name: 'captbootstrapconfig',
    kind: CAPTBootstrapConfig,
    defersStatus: () => true,
    wakes: [
      {
        kind: clusterKind,
        toKeys: (changed, cache) => ofCluster(keyText(keyOf(changed)), cache),
        ignores: isSameIn(FACTS_READ),
      },
      {
        kind: CAPTControlPlane,
        toKeys: (changed, cache) => clusterValues(changed).flatMap((value) => ofCluster(value, cache)),
        ignores: (now, before) => jsonEqual(outputsOf(now), outputsOf(before)),
      },
    ],
    indexes: [{ kind: CAPTBootstrapConfig, name: BY_CLUSTER, values: clusterValues }],
    async observe({ cache, objects, clock }, object) {
      const namespace = object.metadata.namespace ?? ''
      const name = object.metadata.labels?.[CLUSTER_NAME_LABEL] ?? ''
      const found = cache.get(clusterKind, { namespace, name })
      const cluster = found && readCluster(found)
      return {
        object,
        owner: (['MachinePool', 'Machine'] as const).find((kind) => findOwner(object, { group: CLUSTER_GROUP, kind })),
        cluster,
        join: joinOf(cache, cluster),
        secret: await secretOf(objects, object),
        nowMs: clock.now(),
      }
    },
    decide,
    async act({ objects }, { object }, { value }) {
      const { namespace = '', labels } = object.metadata
      await objects
        .create<Secret>(SecretKind, {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: {
            namespace,
            name: secretNameOf(object),
            labels: { [CLUSTER_NAME_LABEL]: labels?.[CLUSTER_NAME_LABEL] ?? '' },
            ownerReferences: [ownerReference(object, { controller: true })],
          },
          type: CLUSTER_SECRET_TYPE,
          data: { value: Buffer.from(value).toString('base64') },
        })
        .catch(ignore('AlreadyExists'))
    },
    status: statusOf,
  }
}

const OUTPUTS = {
  name: 'cluster_name',
  endpoint: 'cluster_endpoint',
  caData: 'cluster_certificate_authority_data',
  serviceCidr: 'cluster_service_cidr',
} as const

function joinOf(cache: Cache, cluster: ClusterFacts | undefined): Observed['join'] {
  const ref = cluster?.controlPlaneRef
  const plane =
    ref?.kind === CAPTControlPlane.kind
      ? cache.get<CAPTControlPlane>(CAPTControlPlane, { namespace: cluster!.namespace, name: ref.name })
      : undefined
  const outputs = plane ? outputsOf(plane) : {}
  const missing = Object.values(OUTPUTS).filter((name) => typeof outputs[name] !== 'string' || outputs[name] === '')
  if (missing.length > 0) return { is: 'missing', outputs: missing }
  const read = (name: keyof typeof OUTPUTS): string => String(outputs[OUTPUTS[name]])
  return {
    is: 'known',
    facts: {
      name: read('name'),
      endpoint: read('endpoint'),
      caData: read('caData').trim(),
      serviceCidr: read('serviceCidr'),
    },
  }
}

function outputsOf(plane: AnyObject): Readonly<Record<string, unknown>> {
  const { status } = plane as CAPTControlPlane
  return (status?.workspaceStatus?.atProvider?.['outputs'] ?? {}) as Readonly<Record<string, unknown>>
}

async function secretOf(objects: Objects, object: CAPTBootstrapConfig): Promise<Observed['secret']> {
  if (object.metadata.deletionTimestamp) return 'absent'
  const key = { namespace: object.metadata.namespace ?? '', name: secretNameOf(object) }
  const secret = await objects.get<Secret>(SecretKind, key)
  if (!secret) return 'absent'
  return isOwnedBy(secret, object) ? 'ours' : 'foreign'
}

function statusOf({ object, cluster, secret }: Observed, decision: Decision<unknown>): StatusReport {
  const paused = pausedCondition(pauseOf(cluster, object))
  if (paused.status === 'True') return { conditions: [paused] }
  const deleting = object.metadata.deletionTimestamp !== undefined
  return {
    fields:
      secret === 'ours'
        ? { dataSecretName: secretNameOf(object), ready: true, initialization: { dataSecretCreated: true } }
        : {},
    conditions: [paused, deletingCondition(deleting, decision)],
  }
}
