// An API server with many clusters and no controllers: what the page shows is what a test writes. Most clusters are of
// another provider, so that they are one object each; one has everything of capt.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  ALL_KINDS,
  type AnyObject,
  clusterKind,
  EventKind,
  type KindRef,
  machinePoolKind,
  toCustomResourceDefinition,
} from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, convertMachinePool, machinePoolDefinition } from '#core'
import { type Connection, connect, loadKubeconfig } from '#kube'

export const CANARY = 'cnry-of-the-page'
/** Some minutes ago, as a person would find it. */
const AT = new Date(Date.now() - 6 * 60_000).toISOString().replace(/\.\d+/, '')
const Cluster = clusterKind('v1beta2')
const kindOf = (name: string) => ALL_KINDS.find(({ kind }) => kind === name)!

export interface Fleet {
  readonly kubeconfig: string
  /** Changes what the list shows of one cluster. */
  report(name: string, message: string): Promise<void>
  close(): Promise<void>
}

export const nameOf = (index: number): string => `cluster-${String(index).padStart(4, '0')}`

export async function startFleet(folder: string, count: number): Promise<Fleet> {
  const server: ApiServer = await startApiServer({
    dataDir: join(folder, 'api'),
    crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), machinePoolDefinition()],
    converters: {
      'cluster.x-k8s.io/Cluster': convertCluster,
      'cluster.x-k8s.io/MachinePool': convertMachinePool,
    } as never,
  })
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 })
  const connection: Connection = connect(await loadKubeconfig({ path: kubeconfig }))
  const { objects } = connection

  async function write(kind: KindRef, object: AnyObject & { readonly status?: object }): Promise<AnyObject> {
    const made = await objects.create<AnyObject>(kind, object)
    if (!object.status) return made
    const { namespace = '', name } = object.metadata
    return objects.patch(
      kind,
      { namespace, name },
      { type: 'merge', body: { status: object.status } },
      { subresource: 'status' },
    )
  }
  const report = async (name: string, message: string) => {
    const body = { status: { conditions: [condition('Available', 'False', 'NotAvailable', message)] } }
    await objects.patch(Cluster, { namespace: 'default', name }, { type: 'merge', body }, { subresource: 'status' })
  }

  const close = async () => {
    await connection.close()
    await server.close()
  }
  try {
    await writeShop(write)
    const workers = Array.from({ length: 8 }, async (_, worker) => {
      for (let i = worker; i < count - 1; i += 8) await write(Cluster, foreignCluster(i))
    })
    await Promise.all(workers)
  } catch (error) {
    await close()
    throw error
  }
  return { kubeconfig, report, close }
}

const condition = (type: string, status: string, reason = 'Reason', message = '') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: AT,
  observedGeneration: 1,
})

const WAITS = ['The network is being made', 'The control plane is being made', '2 of 3 machines are ready'] as const

function foreignCluster(index: number): AnyObject & { status: object } {
  const name = nameOf(index)
  const state =
    index % 4 === 0
      ? condition('Available', 'False', 'NotAvailable', WAITS[index % WAITS.length])
      : condition('Available', 'True')
  const lastTransitionTime = new Date(Date.now() - ((index * 7919) % 90_000) * 1000).toISOString().replace(/\.\d+/, '')
  return {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { namespace: 'default', name },
    spec: {
      infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'DockerCluster', name },
    },
    status: { conditions: [{ ...state, lastTransitionTime }] },
  } as AnyObject & { status: object }
}

/** A cluster of capt with a failed run and add-ons of which one is healthy. A canary is wherever a secret might be. */
async function writeShop(write: (kind: KindRef, object: never) => Promise<AnyObject>): Promise<void> {
  const group = 'infrastructure.cluster.x-k8s.io'
  const metadata = { namespace: 'default', name: 'shop', labels: { 'cluster.x-k8s.io/cluster-name': 'shop' } }
  const object = (kind: string, spec: object, status: object, more: object = {}) =>
    ({ apiVersion: `${group}/v1beta1`, kind, metadata: { ...metadata, ...more }, spec, status }) as never
  await write(Cluster, {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata,
    spec: { infrastructureRef: { apiGroup: group, kind: 'CAPTCluster', name: 'shop' } },
    status: { conditions: [condition('Available', 'False', 'NotAvailable', 'CAPTCluster is not ready')] },
  } as never)
  const failed = [
    condition('Ready', 'False', 'Failed', 'The VPC cannot be made'),
    condition('Stalled', 'True', 'Failed', 'It failed'),
  ]
  const infrastructure = await write(
    kindOf('CAPTCluster'),
    object('CAPTCluster', { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' } }, { conditions: failed }),
  )
  const owner = { apiVersion: `${group}/v1beta1`, kind: 'CAPTCluster', name: 'shop', uid: infrastructure.metadata.uid }
  const error = {
    kind: 'network',
    code: 'CAPT_TF_FAILED',
    address: 'aws_vpc.main',
    message: 'no route to host',
    hint: 'check the network',
  }
  await write(
    kindOf('WorkspaceTemplateApply'),
    object(
      'WorkspaceTemplateApply',
      { templateRef: { name: 'vpc' }, variables: { secret: CANARY }, values: { password: CANARY } },
      {
        phase: 'Stalled',
        attempts: 2,
        conditions: failed,
        lastError: error,
        outputs: { token: CANARY },
        run: { id: 'r1', verb: 'apply', phase: 'Failed', attempt: 2, startedAt: AT, finishedAt: AT },
      },
      { name: 'shop-vpc', ownerReferences: [owner] },
    ),
  )
  await writeNodes(write, object)
  const healthy = { status: 'True', evidence: ['2 Deployments available'], since: AT }
  const stages = [
    { name: 'flux', state: 'Healthy', wantedVersion: '2.9.5', delivered: { equal: true, resources: [] }, healthy },
    { name: 'karpenter', state: 'Waiting', reason: 'NeedsNotReady', message: 'Waiting for the network' },
    {
      name: 'node-pool',
      state: 'Healthy',
      delivered: { equal: true, resources: [] },
      healthy: { ...healthy, evidence: ['EC2NodeClass default Ready', 'NodePool spot Ready'] },
    },
  ]
  await write(
    kindOf('AddonDelivery'),
    object(
      'AddonDelivery',
      { clusterName: 'shop', pipelineRef: { name: 'default' } },
      { stages, conditions: [condition('Ready', 'False', 'Checking', 'It is checked')] },
    ),
  )
  await write(EventKind, {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: 'default', name: 'shop.1' },
    eventTime: AT.replace('Z', '.000000Z'),
    reason: 'RunFailed',
    note: 'aws_vpc.main: no route to host',
    type: 'Warning',
    action: 'Run',
    reportingController: 'capt.appthrust.com/manager',
    reportingInstance: 'test',
    regarding: {
      apiVersion: `${group}/v1beta1`,
      kind: 'WorkspaceTemplateApply',
      namespace: 'default',
      name: 'shop-vpc',
    },
  } as never)
  await write({ group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'default', name: 'shop-kubeconfig' },
    data: { value: btoa(CANARY) },
  } as never)
}

type MakeObject = (kind: string, spec: object, status: object, more?: object) => never

/** A pool with one node too few, and a deployment of one machine. */
async function writeNodes(write: (kind: KindRef, object: never) => Promise<AnyObject>, object: MakeObject) {
  const owner = ({ apiVersion, kind, metadata: { name, uid } }: AnyObject) => ({
    ownerReferences: [{ apiVersion, kind, name, uid }],
  })
  const template = { spec: { clusterName: 'shop', bootstrap: { dataSecretName: '' }, infrastructureRef: poolRef } }
  const core = await write(machinePoolKind('v1beta2'), {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'MachinePool',
    metadata: { namespace: 'default', name: 'shop-pool', labels: { 'cluster.x-k8s.io/cluster-name': 'shop' } },
    spec: { clusterName: 'shop', replicas: 3, template },
  } as never)
  const short = condition('Ready', 'False', 'Updating', '2 of 3 nodes are ready')
  await write(
    kindOf('CAPTMachinePool'),
    object(
      'CAPTMachinePool',
      { workspaceTemplateRef: { name: 'node-group' }, instanceTypes: ['m7i.large', 'm6i.large'] },
      { readyReplicas: 2, replicas: 2, version: '1.35', conditions: [short] },
      { name: 'shop-pool', ...owner(core) },
    ),
  )
  const machine = {
    workspaceTemplateRef: { name: 'machine' },
    instanceType: 'c7g.xlarge',
    nodeGroupRef: { name: 'shop-pool' },
  }
  const labels = { deployment: 'batch' }
  const spec = { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: machine } }
  const status = { replicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [condition('Ready', 'True')] }
  const deployment = await write(
    kindOf('CAPTMachineDeployment'),
    object('CAPTMachineDeployment', spec, status, { name: 'batch' }),
  )
  const set = await write(
    kindOf('CAPTMachineSet'),
    object('CAPTMachineSet', spec, status, { name: 'batch-1', ...owner(deployment) }),
  )
  const conditions = [condition('Ready', 'True'), condition('NodeHealthy', 'True')]
  await write(
    kindOf('CAPTMachine'),
    object(
      'CAPTMachine',
      machine,
      { instanceId: 'i-0a1b', nodeRef: { name: 'ip-10-0-0-7' }, conditions },
      { name: 'batch-1-x', ...owner(set) },
    ),
  )
}

const poolRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'CAPTMachinePool', name: 'shop-pool' }
