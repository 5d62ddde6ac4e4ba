// A cluster whose VPC is tried again and whose control plane waits for it, as the controllers would report it.
import {
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  clusterKind,
  type KindRef,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'

const AT = '2026-01-01T11:54:00Z'
export const condition = (type: string, status: string, reason: string, message = '') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: AT,
  observedGeneration: 1,
})
const labels = { 'cluster.x-k8s.io/cluster-name': 'shop', team: 'shop' }
export const infrastructure = 'infrastructure.cluster.x-k8s.io'
const error = 'InvalidVpc.Range: The CIDR var.vpc_cidr is invalid: reset by peer'

export interface Made {
  readonly kind: KindRef
  readonly object: AnyObject & { readonly spec?: object; readonly status?: object }
}

/** Owners are named by `KIND/NAME` in place of a uid. */
export const FIXTURE: readonly Made[] = [
  {
    kind: WorkspaceTemplate,
    object: {
      apiVersion: `${infrastructure}/v1beta1`,
      kind: 'WorkspaceTemplate',
      metadata: { name: 'vpc', namespace: 'default' },
      spec: {
        template: {
          metadata: { description: 'A network.', version: '1.2.0', tags: { cloud: 'aws' } },
          spec: { forProvider: { source: 'Inline', module: 'output "a" { value = 1 }' } },
        },
      },
    },
  },
  {
    kind: clusterKind('v1beta2'),
    object: {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name: 'shop', namespace: 'default' },
      spec: {
        infrastructureRef: { apiGroup: infrastructure, kind: 'CAPTCluster', name: 'shop' },
        controlPlaneRef: { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'CAPTControlPlane', name: 'shop' },
      },
      status: { phase: 'Provisioning', conditions: [condition('Available', 'False', 'NotAvailable', 'Not yet')] },
    },
  },
  {
    kind: CAPTCluster,
    object: {
      apiVersion: `${infrastructure}/v1beta1`,
      kind: 'CAPTCluster',
      metadata: { name: 'shop', namespace: 'default', labels },
      spec: { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' }, vpcConfig: { cidr: '10.0.0.0/16' } },
      status: { conditions: [condition('Ready', 'False', 'VPCCreating', `shop-vpc: Attempt 2 failed: ${error}`)] },
    },
  },
  {
    kind: CAPTControlPlane,
    object: {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta1',
      kind: 'CAPTControlPlane',
      metadata: { name: 'shop', namespace: 'default', labels },
      spec: { version: '1.35', workspaceTemplateRef: { name: 'eks-controlplane' } },
      status: {
        phase: 'Creating',
        conditions: [
          condition('Ready', 'False', 'WaitingForInfrastructure', 'Waiting for CAPTCluster shop to be ready'),
        ],
      },
    },
  },
  {
    kind: WorkspaceTemplateApply,
    object: {
      apiVersion: `${infrastructure}/v1beta1`,
      kind: 'WorkspaceTemplateApply',
      metadata: {
        name: 'shop-vpc',
        namespace: 'default',
        labels,
        ownerReferences: [
          { apiVersion: `${infrastructure}/v1beta1`, kind: 'CAPTCluster', name: 'shop', uid: 'CAPTCluster/shop' },
        ],
      },
      spec: { templateRef: { name: 'vpc' }, variables: { vpc_cidr: '10.0.0.0/16' } },
      status: {
        workspaceName: 'shop-vpc',
        applied: false,
        phase: 'Retrying',
        attempts: 2,
        run: {
          id: '0b9457d2-0000-4000-8000-000000000000',
          verb: 'apply',
          phase: 'Failed',
          attempt: 2,
          startedAt: '2026-01-01T11:59:30Z',
          finishedAt: '2026-01-01T11:59:55Z',
          progress: '3 of 9',
        },
        lastError: {
          kind: 'network',
          code: 'CAPT_TF_NETWORK',
          address: 'aws_vpc.this',
          message: error,
          hint: 'the connection failed; the next attempt tries again',
        },
        state: { serial: 4, lineage: 'l', savedAt: AT, resources: 3 },
        conditions: [
          condition('Ready', 'False', 'RetryScheduled', `Attempt 2 failed and is tried again:\naws_vpc.this: ${error}`),
          condition('Paused', 'False', 'NotPaused'),
        ],
      },
    },
  },
]
