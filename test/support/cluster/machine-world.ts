// A management cluster in memory with nodes: the controllers of pools and machines beside those of clusters, and a workload
// cluster whose Nodes come with the runs that make their instances.
import {
  type AnyObject,
  CAPTBootstrapConfig,
  CAPTMachine,
  CAPTMachineDeployment,
  CAPTMachinePool,
  CAPTMachineSet,
  type KindRef,
  machineKind,
  machinePoolKind,
  NodeKind,
  type WorkspaceTemplateApply,
} from '#api'
import type { AnyController } from '#runtime'
import { type MemoryCluster, memoryCluster } from '#testing'
import { captBootstrapConfigController } from '../../../src/controllers/bootstrap-config/index.ts'
import { captMachineController } from '../../../src/controllers/machine/index.ts'
import { captMachineDeploymentController } from '../../../src/controllers/machine-deployment/index.ts'
import { captMachinePoolController } from '../../../src/controllers/machine-pool/index.ts'
import { captMachineSetController } from '../../../src/controllers/machine-set/index.ts'
import { machinePoolController } from '../../../src/core/machine-pool/controller.ts'
import { ClusterKind, type ClusterWorldOptions, eksOutputs, fakeAws, type LedgerEntry } from './world.ts'

export const MachinePool = machinePoolKind('v1beta2')
const WORKERS = [CAPTMachineDeployment, CAPTMachineSet, CAPTMachine, CAPTMachinePool]

/** Options of `clusterWorld`. Homes that a cluster is moved between share its workload. */
export function withMachines(workload: MemoryCluster = memoryCluster()): ClusterWorldOptions {
  const workloads = { open: async () => ({ objects: workload.others, watch: () => () => undefined }) }
  const clusterKind = ClusterKind
  return {
    controllers: { workerKinds: WORKERS },
    more: ({ clock }) =>
      [
        captBootstrapConfigController({ clusterKind }),
        captMachineController({ clusterKind, machineKind: machineKind('v1beta2'), workloads }),
        captMachineSetController({ clusterKind }),
        captMachineDeploymentController({ clusterKind }),
        captMachinePoolController({ clusterKind, machinePoolKind: MachinePool, workloads, aws: fakeAws(clock), clock }),
        machinePoolController(),
      ] as unknown as readonly AnyController[],
    outputs: (apply) => outputsOf(apply) ?? eksOutputs(apply),
    async onRun(entry) {
      if (entry.verb === 'apply') for (const node of nodesOf(entry)) workload.seed(NodeKind, node)
    },
  }
}

type Outputs = ReturnType<NonNullable<ClusterWorldOptions['outputs']>>

const isOfMachine = (apply: string): boolean => apply.endsWith('-machine')
const isOfPool = (apply: string): boolean => apply.endsWith('-node-group')

function outputsOf({ metadata: { name }, spec }: WorkspaceTemplateApply): Outputs | undefined {
  const { node_group_name: group = '', kubernetes_version: version = '' } = spec.variables
  if (isOfPool(name)) return { plain: { node_group_name: group, kubernetes_version: version } }
  if (!isOfMachine(name)) return undefined
  return { plain: { instance_id: `i-${name}`, provider_id: idOf(name), node_name: name, private_ip: '10.0.0.1' } }
}

const idOf = (name: string): string => `aws:///eu-west-1a/i-${name}`

function nodesOf({ name, variables, values }: LedgerEntry): readonly AnyObject[] {
  if (isOfMachine(name)) return [nodeOf(name, {})]
  if (!isOfPool(name)) return []
  const labels = { 'eks.amazonaws.com/nodegroup': variables['node_group_name'] ?? '' }
  return Array.from({ length: Number(values['desired_size']) }, (_, i) => nodeOf(`${name}-${i}`, labels))
}

const nodeOf = (name: string, labels: Readonly<Record<string, string>>): AnyObject =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    spec: { providerID: idOf(name) },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }) as unknown as AnyObject

const LABELS = { 'cluster.x-k8s.io/cluster-name': 'demo' }
const objectOf = ({ group, version, kind }: KindRef, name: string, spec: object, labels = {}) => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { namespace: 'default', name, labels },
  spec,
})
const MACHINE = {
  workspaceTemplateRef: { name: 'machine' },
  instanceType: 'm7i.large',
  subnetIds: ['subnet-a'],
  securityGroupIds: ['sg-a'],
  imageId: 'ami-a',
  drainTimeoutSeconds: 900,
}

/** What the specs of a CAPTMachineSet and a CAPTMachineDeployment have in common, defaults included. */
const workers = (name: string, replicas: number) => ({
  replicas,
  minReadySeconds: 0,
  selector: { matchLabels: { pool: name } },
  template: { metadata: { labels: { pool: name } }, spec: MACHINE },
})

/** The memory cluster sets no defaults. */
const DEPLOYMENT_DEFAULTS = {
  strategy: { type: 'RollingUpdate' },
  revisionHistoryLimit: 10,
  progressDeadlineSeconds: 600,
  deletePolicy: 'Oldest',
}

export const aMachineSet = (name: string, replicas: number): readonly [KindRef, AnyObject] => [
  CAPTMachineSet,
  objectOf(CAPTMachineSet, name, { ...workers(name, replicas), deletePolicy: 'Oldest' }, LABELS),
]

export const aMachineDeployment = (name: string, replicas: number): readonly [KindRef, AnyObject] => [
  CAPTMachineDeployment,
  objectOf(CAPTMachineDeployment, name, { ...workers(name, replicas), ...DEPLOYMENT_DEFAULTS }, LABELS),
]

/** A CAPTMachineTemplate or CAPTMachinePoolTemplate of the cluster. */
export const aTemplateOf = (kind: KindRef, name: string): readonly [KindRef, AnyObject] => [
  kind,
  objectOf(kind, name, { template: { spec: MACHINE } }, LABELS),
]

/** A MachinePool with what it refers to. */
export function aMachinePool(name: string, replicas: number): readonly (readonly [KindRef, AnyObject])[] {
  const ref = ({ group, kind }: KindRef) => ({ apiGroup: group, kind, name })
  const spec = {
    clusterName: 'demo',
    bootstrap: { configRef: ref(CAPTBootstrapConfig) },
    infrastructureRef: ref(CAPTMachinePool),
  }
  return [
    [MachinePool, objectOf(MachinePool, name, { clusterName: 'demo', replicas, template: { spec } })],
    [CAPTMachinePool, objectOf(CAPTMachinePool, name, { workspaceTemplateRef: { name: 'node-group' } })],
    [CAPTBootstrapConfig, objectOf(CAPTBootstrapConfig, name, {})],
  ]
}
