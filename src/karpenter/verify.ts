// Proves that an installation works: the controller runs where it may, AWS accepts its credentials, every pool is ready,
// and on request a pod gets a node of its own.
import { conditionOf, DeploymentKind, isTrue, NodeKind, PodKind, type UnknownObject } from '#api'
import { KARPENTER_RELEASE } from '#catalog'
import type { Objects } from '#kube'
import { CaptError } from '#lib'
import { type Site, waitFor } from './install/site.ts'
import {
  EC2NodeClassKind,
  getOne,
  isSelfManaged,
  listAll,
  MANAGED_LABEL,
  NodePoolKind,
  POOL_LABEL,
  readinessOf,
} from './kinds.ts'

interface Pod extends UnknownObject {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: { readonly phase?: string; readonly conditions?: unknown }
}

export interface Check {
  readonly name: string
  readonly isFine: boolean
  readonly fact: string
  /** What to do when it is not fine. */
  readonly todo?: string
}

/** Where Karpenter runs, whatever installed it. */
export async function findNamespace(objects: Objects): Promise<string | undefined> {
  const labelSelector = `app.kubernetes.io/name=${KARPENTER_RELEASE}`
  return (await listAll(objects, DeploymentKind, { labelSelector }))[0]?.metadata.namespace
}

/** Reads once. Nothing is waited for or changed. */
export async function checkInstallation(objects: Objects, namespace: string): Promise<readonly Check[]> {
  return [
    await checkController(objects, namespace),
    await checkPlacement(objects, namespace),
    ...(await checkClasses(objects)),
    ...(await checkPools(objects)),
  ]
}

async function checkController(objects: Objects, namespace: string): Promise<Check> {
  const name = `Deployment ${namespace}/${KARPENTER_RELEASE}`
  const deployment = await getOne(objects, DeploymentKind, { namespace, name: KARPENTER_RELEASE })
  if (!deployment) return { name, isFine: false, fact: 'it does not exist', todo: 'capt karpenter install' }
  const { spec, status } = deployment as { spec?: { replicas?: number }; status?: { availableReplicas?: number } }
  const [available, replicas] = [status?.availableReplicas ?? 0, spec?.replicas ?? 1]
  const isFine = isTrue(deployment, 'Available') && available >= replicas
  const todo =
    'each replica needs a node of its own that Karpenter did not make (capt explain CAPT_KARPENTER_REPLICA_PENDING)'
  return { name, isFine, fact: `${available} of ${replicas} replicas available`, ...(isFine ? {} : { todo }) }
}

async function checkPlacement(objects: Objects, namespace: string): Promise<Check> {
  const pods = await listAll(objects, PodKind, { namespace, labelSelector: 'app.kubernetes.io/name=karpenter' })
  const own = new Set(
    (await listAll(objects, NodeKind, { labelSelector: POOL_LABEL })).map(({ metadata }) => metadata.name),
  )
  const misplaced = pods
    .filter((pod) => own.has((pod as Pod).spec?.nodeName ?? ''))
    .map(({ metadata }) => metadata.name)
  const name = 'placement'
  if (misplaced.length === 0) return { name, isFine: true, fact: 'not on nodes of its own' }
  return {
    name,
    isFine: false,
    fact: `${misplaced.join(', ')} on nodes of Karpenter`,
    todo: 'capt karpenter install puts the placement guard back',
  }
}

/** A class is ready when its controller could look up subnets, groups and images, and dry runs of EC2 were allowed. */
async function checkClasses(objects: Objects): Promise<readonly Check[]> {
  const classes = await listAll(objects, EC2NodeClassKind)
  if (classes.length === 0)
    return [
      {
        name: 'credentials',
        isFine: false,
        fact: 'there is no EC2NodeClass that could prove them',
        todo: 'capt karpenter install makes one',
      },
    ]
  return classes.map((one) => {
    const { isReady, message, name } = readinessOf(one)
    const failing = failingCondition(one)
    const fact = isReady ? 'AWS accepted the credentials of the controller' : (failing ?? message)
    return {
      name: `EC2NodeClass ${name}`,
      isFine: isReady,
      fact,
      ...(isReady ? {} : { todo: 'capt karpenter doctor names the cause; see the log of the controller' }),
    }
  })
}

function failingCondition(object: UnknownObject): string | undefined {
  const types = ['SubnetsReady', 'SecurityGroupsReady', 'AMIsReady', 'InstanceProfileReady', 'ValidationSucceeded']
  const found = types.map((type) => conditionOf(object, type)).find((condition) => condition?.status === 'False')
  return found && `${found.type}: ${found.message || found.reason}`
}

async function checkPools(objects: Objects): Promise<readonly Check[]> {
  const pools = (await listAll(objects, NodePoolKind)).filter(isSelfManaged)
  if (pools.length === 0)
    return [
      {
        name: 'NodePool',
        isFine: false,
        fact: 'there is none: no pod gets a node',
        todo: 'capt karpenter install makes one',
      },
    ]
  return pools.map((pool) => {
    const { name, isReady, message } = readinessOf(pool)
    return {
      name: `NodePool ${name}`,
      isFine: isReady,
      fact: isReady ? 'ready' : message,
      ...(isReady ? {} : { todo: `kubectl describe nodepool ${name}` }),
    }
  })
}

/** Waits until every check is fine; what is not fine at the end is the error. */
export async function verify(site: Site, namespace: string): Promise<readonly Check[]> {
  let checks: readonly Check[] = []
  await waitFor(
    site,
    'a working Karpenter',
    'CAPT_KARPENTER_NOT_VERIFIED',
    `capt karpenter doctor ${site.cluster.name}`,
    async () => {
      checks = await checkInstallation(site.objects, namespace)
      const bad = checks.filter(({ isFine }) => !isFine)
      return bad.length === 0 ? undefined : bad.map(({ name, fact }) => `${name}: ${fact}`).join('; ')
    },
  )
  return checks
}

const PROBE = { namespace: 'kube-system', name: 'capt-karpenter-probe' }
const PROBE_IMAGE = 'registry.k8s.io/pause:3.10'

/** Starts a pod that only a new node can take, waits until it runs, and removes it. */
export async function probe(site: Site, pool: string, image = PROBE_IMAGE): Promise<Check> {
  const { objects } = site
  const found = await objects.get(PodKind, PROBE)
  if (found && found.metadata.labels?.[MANAGED_LABEL] !== 'probe')
    throw new CaptError('CAPT_PROBE_FOREIGN', `Pod ${PROBE.namespace}/${PROBE.name} exists, and capt did not make it`, {
      hint: 'rename or delete it',
    })
  try {
    if (!found) await objects.create(PodKind, probePod(pool, await taintsOf(objects, pool), image) as never)
    let node = ''
    await waitFor(
      site,
      'the probe pod',
      'CAPT_NODES_NOT_PROVEN',
      `kubectl describe nodeclaims, and capt karpenter doctor ${site.cluster.name}`,
      async () => {
        const pod = await objects.get<Pod>(PodKind, PROBE)
        node = pod?.spec?.nodeName ?? ''
        if (pod?.status?.phase === 'Running' || pod?.status?.phase === 'Succeeded') return undefined
        return pod
          ? (conditionOf(pod, 'PodScheduled')?.message ?? `it is ${pod.status?.phase ?? 'new'}`)
          : 'somebody deleted it'
      },
    )
    return { name: 'probe pod', isFine: true, fact: `ran on ${node}, a node of NodePool ${pool}` }
  } finally {
    await objects.delete(PodKind, PROBE)
  }
}

interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect?: string
}

async function taintsOf(objects: Objects, pool: string): Promise<readonly Taint[]> {
  const found = (await getOne(objects, NodePoolKind, { name: pool })) as
    | { spec?: { template?: { spec?: { taints?: readonly Taint[] } } } }
    | undefined
  return found?.spec?.template?.spec?.taints ?? []
}

const probePod = (pool: string, taints: readonly Taint[], image: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...PROBE, labels: { [MANAGED_LABEL]: 'probe' } },
  spec: {
    nodeSelector: { [POOL_LABEL]: pool },
    tolerations: taints.map(({ key, effect }) => ({ key, operator: 'Exists', ...(effect ? { effect } : {}) })),
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    // Ends without capt too, so that its node can go.
    activeDeadlineSeconds: 1800,
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 65_535, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'probe',
        image,
        resources: { requests: { cpu: '10m', memory: '16Mi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      },
    ],
  },
})
