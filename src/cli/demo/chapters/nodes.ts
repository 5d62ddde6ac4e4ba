// The second chapter: a pod that fits on no node, a pool that grows, and machines that are replaced one by one.
import {
  type AnyObject,
  CAPTMachineDeployment,
  type CAPTMachinePool,
  conditionOf,
  machinePoolKind,
  NodeKind,
  PodKind,
  type UnknownObject,
} from '#api'
import { ignore, type Objects } from '#kube'
import { clusterTree } from '#view'
import { progressOf, readDeployment } from '../../rollout.ts'
import { CLUSTER, type Story } from '../story.ts'

const POOL = { namespace: CLUSTER.namespace, name: 'demo-workers' }
const DEPLOYMENT = { namespace: CLUSTER.namespace, name: 'demo-machines' }
const POD = { namespace: 'default', name: 'web-0' }
const NODES = 3
const TYPE = 'm7i.xlarge'
/** More than any node of the pool or of the machines has. */
const CPUS = 6

export async function showNodes(story: Story): Promise<void> {
  const { screen, connected, home } = story
  const { objects } = connected
  const template = `{"spec":{"template":{"spec":{"instanceType":"${TYPE}"}}}}`
  screen.chapter('Nodes: a pod that waits for one, a pool that grows, a rolling update', [
    { run: `kubectl scale machinepool ${POOL.name} --replicas ${NODES}` },
    { run: `kubectl patch captmachinedeployment ${DEPLOYMENT.name} --type merge -p '${template}'` },
  ])
  const workload = (await home.manager.workloads.open(CLUSTER))?.objects
  if (!workload) throw new Error(`${CLUSTER.name} has no kubeconfig`)
  await createPod(workload)
  const evidence = `web-0, a new pod, asks for ${CPUS} CPUs; no node has as many`
  screen.fact({ subject: 'pod', word: 'pending', evidence, state: 'waiting' })
  await objects.patch(machinePoolKind('v1beta2'), POOL, { type: 'merge', body: { spec: { replicas: NODES } } })
  await objects.patch(CAPTMachineDeployment, DEPLOYMENT, { type: 'merge', body: JSON.parse(template) as object })
  const watched = [watchPod(story, workload), watchPool(story), watchUpdate(story)]
  await story.until('waiting for nodes', async (found) => {
    const isDone = await Promise.all(watched.map((check) => check(found.pools ?? [])))
    return isDone.every(Boolean) && clusterTree(found).state === 'ready' ? true : undefined
  })
}

/** Reports what is new; true when there is nothing more to wait for. */
type Watch = (pools: readonly CAPTMachinePool[]) => Promise<boolean>

/** Looks until it is done, and not again afterwards. */
function once(check: Watch): Watch {
  let isDone = false
  return async (pools) => {
    isDone ||= await check(pools)
    return isDone
  }
}

async function createPod(workload: Objects): Promise<void> {
  const resources = { requests: { cpu: String(CPUS), memory: '1Gi' } }
  const spec = { containers: [{ name: 'web', image: 'example.invalid/web:1', resources }] }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: POD, spec, status: { phase: 'Pending' } }
  await workload.create<AnyObject>(PodKind, pod).catch(ignore('AlreadyExists'))
}

const watchPod = ({ screen }: Story, workload: Objects): Watch =>
  once(async () => {
    const pod = await workload.get<UnknownObject>(PodKind, POD)
    const { nodeName } = (pod?.['spec'] ?? {}) as { nodeName?: string }
    if (nodeName === undefined) return false
    const node = await workload.get<AnyObject>(NodeKind, { name: nodeName })
    const labels = node?.metadata.labels ?? {}
    const about = [labels['node.kubernetes.io/instance-type'], labels['karpenter.sh/capacity-type'], 'simulated']
    const evidence = `pod web-0 was pending → node ${nodeName} (${about.filter(Boolean).join(', ')})`
    screen.fact({ subject: 'karpenter', word: 'node added', evidence })
    return true
  })

const watchPool = ({ screen }: Story): Watch =>
  once(async (pools) => {
    const pool = pools.find(({ metadata }) => metadata.name === POOL.name)
    const nodes = pool?.status?.readyReplicas
    if (nodes !== NODES || conditionOf(pool!, 'Ready')?.status !== 'True') return false
    screen.fact({ subject: 'pool', word: 'scaled', evidence: `${POOL.name}: ${NODES} of ${NODES} nodes are ready` })
    return true
  })

function watchUpdate({ screen, connected }: Story): Watch {
  let last = ''
  let fewest = Number.POSITIVE_INFINITY
  return once(async () => {
    const deployment = await readDeployment({ ...connected, close: async () => {} }, DEPLOYMENT)
    const { is, message } = progressOf(deployment)
    if (deployment.status?.observedGeneration !== deployment.metadata.generation) return false
    fewest = Math.min(fewest, deployment.status?.availableReplicas ?? 0)
    if (is === 'complete') {
      const { replicas } = deployment.spec
      const evidence = `${replicas} of ${replicas} machines are ${TYPE}; at least ${fewest} were available all the time`
      screen.fact({ subject: 'machines', word: 'updated', evidence })
      return true
    }
    if (message !== last) screen.fact({ subject: 'machines', word: 'updating', evidence: message, state: 'working' })
    last = message
    return false
  })
}
