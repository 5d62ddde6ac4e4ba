// A healthy cluster with add-ons, a plan that waits for approval, and workers: what commands show when all is well.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CAPTMachineDeployment,
  CAPTMachineSet,
  clusterKind,
  type KindRef,
  REVISION_ANNOTATION,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import { defaultPipeline } from '#controllers'
import { condition, infrastructure, type Made } from '../cli-objects.ts'

const labels = { 'cluster.x-k8s.io/cluster-name': 'blog', team: 'blog' }
const controlPlane = 'controlplane.cluster.x-k8s.io'
const SERVER = 'https://blog.example.com'

function ours(kind: KindRef, name: string, more: object, metadata: object = {}): Made {
  const object = {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: { name, namespace: 'default', labels, ...metadata },
    ...more,
  }
  return { kind, object: object as AnyObject }
}

const ownedBy = (kind: KindRef, name: string) => ({
  ownerReferences: [
    { apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, name, uid: `${kind.kind}/${name}` },
  ],
})

const applied = (name: string, resources: number, more: object = {}) => ({
  workspaceName: name,
  applied: true,
  phase: 'Applied',
  attempts: 1,
  run: {
    id: '11111111-0000-4000-8000-000000000000',
    verb: 'apply',
    phase: 'Succeeded',
    attempt: 1,
    startedAt: '2026-01-01T11:50:00Z',
    finishedAt: '2026-01-01T11:52:00Z',
    progress: `${resources} of ${resources}`,
  },
  state: { serial: 2, lineage: 'l', savedAt: '2026-01-01T11:52:00Z', resources },
  conditions: [condition('Ready', 'True', 'Applied', `${resources} resources`)],
  ...more,
})

const kubeconfig = (user: object): string =>
  Buffer.from(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'blog', cluster: { server: SERVER } }],
      users: [{ name: 'blog', user }],
      contexts: [{ name: 'blog', context: { cluster: 'blog', user: 'blog' } }],
      'current-context': 'blog',
    }),
  ).toString('base64')

const exec = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'aws',
  args: ['eks', 'get-token', '--cluster-name', 'blog', '--region', 'eu-west-1'],
}

const machine = (instanceType: string) => ({
  metadata: { labels: { pool: 'workers' } },
  spec: { workspaceTemplateRef: { name: 'machine' }, instanceType, nodeGroupRef: { name: 'nodes' } },
})

const stage = (name: string, wantedVersion: string, evidence: readonly string[], more: object = {}) => ({
  name,
  state: 'Healthy',
  ...(wantedVersion === '' ? {} : { wantedVersion }),
  startedAt: '2026-01-01T11:53:00Z',
  healthy: { status: 'True', evidence, since: '2026-01-01T11:54:00Z' },
  ...more,
})

/** Owners are named by `KIND/NAME` in place of a uid. */
export const BLOG: readonly Made[] = [
  ours(
    clusterKind('v1beta2'),
    'blog',
    {
      spec: {
        infrastructureRef: { apiGroup: infrastructure, kind: 'CAPTCluster', name: 'blog' },
        controlPlaneRef: { apiGroup: controlPlane, kind: 'CAPTControlPlane', name: 'blog' },
      },
      status: { phase: 'Provisioned', conditions: [condition('Available', 'True', 'Available')] },
    },
    { labels: { ...labels, 'fluxcd.io/enabled': 'true', 'installation.appthrust.com/eks-karpenter': 'enabled' } },
  ),
  ours(CAPTCluster, 'blog', {
    spec: { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' }, vpcConfig: { cidr: '10.1.0.0/16' } },
    status: {
      ready: true,
      vpcId: 'vpc-0f3a',
      availabilityZones: ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'],
      conditions: [condition('Ready', 'True', 'Ready')],
    },
  }),
  ours(CAPTControlPlane, 'blog', {
    spec: {
      version: '1.34',
      workspaceTemplateRef: { name: 'eks-controlplane' },
      controlPlaneEndpoint: { host: 'blog.example.com', port: 443 },
    },
    status: {
      ready: true,
      initialized: true,
      version: 'v1.34.0',
      phase: 'Ready',
      conditions: [condition('Ready', 'True', 'Ready')],
    },
  }),
  ours(
    WorkspaceTemplateApply,
    'blog-vpc',
    {
      spec: { templateRef: { name: 'vpc' }, variables: { vpc_cidr: '10.1.0.0/16' } },
      status: applied('blog-vpc', 2),
    },
    ownedBy(CAPTCluster, 'blog'),
  ),
  ours(
    WorkspaceTemplateApply,
    'blog-eks-controlplane-apply',
    { spec: { templateRef: { name: 'vpc' } }, status: applied('blog-eks-controlplane-apply', 25) },
    ownedBy(CAPTControlPlane, 'blog'),
  ),
  ours(WorkspaceTemplateApply, 'scratch', { spec: { templateRef: { name: 'vpc' } }, status: {} }, { labels: {} }),
  { kind: AddonPipeline, object: defaultPipeline('default') },
  ours(AddonDelivery, 'blog', {
    spec: { clusterName: 'blog', pipelineRef: { name: 'default' } },
    status: {
      kubernetesVersion: 'v1.34.0',
      stages: [
        stage('flux', '2.9.5', ['7 CRDs', '2 Deployments'], { component: 'flux' }),
        stage('karpenter', '1.14.1', ['HelmRelease Ready', 'Deployment 2 of 2'], { component: 'karpenter' }),
        stage('node-pool', '', ['NodePool default Ready']),
      ],
      conditions: [
        condition('Ready', 'True', 'Ready', 'All stages are healthy'),
        condition('AddonsHealthy', 'True', 'Healthy'),
      ],
    },
  }),
  ours(
    CAPTMachineDeployment,
    'workers',
    {
      spec: { replicas: 3, selector: { matchLabels: { pool: 'workers' } }, template: machine('m7i.large') },
      status: {
        replicas: 3,
        readyReplicas: 3,
        updatedReplicas: 3,
        availableReplicas: 3,
        observedGeneration: 1,
        conditions: [
          condition('Ready', 'True', 'Ready'),
          condition('Progressing', 'True', 'Complete', '3 of 3 machines are up to date'),
        ],
      },
    },
    { annotations: { [REVISION_ANNOTATION]: '2' } },
  ),
  ...['c7i.large', 'm7i.large'].map((instanceType, i) =>
    ours(
      CAPTMachineSet,
      `workers-${i + 1}`,
      {
        spec: {
          replicas: i === 1 ? 3 : 0,
          selector: { matchLabels: { pool: 'workers' } },
          template: machine(instanceType),
        },
        status: { replicas: i === 1 ? 3 : 0 },
      },
      { ...ownedBy(CAPTMachineDeployment, 'workers'), annotations: { [REVISION_ANNOTATION]: String(i + 1) } },
    ),
  ),
  ours(SecretKind, 'blog-user-kubeconfig', { data: { value: kubeconfig({ exec }) } }),
  ours(
    SecretKind,
    'blog-kubeconfig',
    { data: { value: kubeconfig({ token: 'not-a-secret' }) } },
    { annotations: { 'capt.appthrust.com/expires-at': '2026-01-01T12:09:00Z' } },
  ),
]
