// Milestones of a cluster: facts that became true, each reported once with its evidence.
import {
  type AddonDelivery,
  type AnyObject,
  type CAPTCluster,
  type CAPTControlPlane,
  type CAPTMachineDeployment,
  type CAPTMachinePool,
  conditionOf,
  readCluster,
  type WorkspaceTemplateApply,
} from '#api'
import { counted, ownValue } from '#lib'
import type { ClusterObjects } from './cluster-tree.ts'
import { isRunning } from './stops.ts'

export interface Milestone {
  /** Stable: the same fact has the same id. */
  readonly id: string
  readonly subject: string
  readonly word: string
  readonly evidence: string
}

export function milestonesOf(objects: ClusterObjects): readonly Milestone[] {
  const { infrastructure, controlPlane, applies, deliveries, cluster } = objects
  return [
    ...(infrastructure ? networkMilestones(infrastructure, applies) : []),
    ...(controlPlane ? controlPlaneMilestones(controlPlane, applies) : []),
    ...(objects.pools ?? []).flatMap(poolMilestones),
    ...(objects.machines?.deployments ?? []).flatMap(deploymentMilestones),
    ...deliveries.flatMap((delivery) => deliveryMilestones(delivery, cluster)),
  ]
}

const RUN_SUBJECTS: Readonly<Record<string, string>> = {
  CAPTCluster: 'VPC',
  CAPTControlPlane: 'control plane',
  CAPTMachinePool: 'pool',
  CAPTMachine: 'machine',
}

/** The Terraform run that is under way now, for a progress bar. */
export function runningApply(
  objects: ClusterObjects,
): { subject: string; verb: string; done: number; of: number; address: string } | undefined {
  const apply = objects.applies.find(isRunning)
  if (!apply) return undefined
  const owner = apply.metadata.ownerReferences?.[0]?.kind
  const [, done = '0', of = '0'] = /^(\d+) of (\d+)/.exec(apply.status?.run?.progress ?? '') ?? []
  return {
    subject: ownValue(RUN_SUBJECTS, owner ?? '') ?? apply.metadata.name,
    verb: `terraform ${apply.status?.run?.verb ?? 'apply'}`,
    done: Number(done),
    of: Number(of),
    address: apply.status?.run?.address ?? apply.status?.run?.phase?.toLowerCase() ?? '',
  }
}

function networkMilestones(
  infrastructure: CAPTCluster,
  applies: readonly WorkspaceTemplateApply[],
): readonly Milestone[] {
  return [
    ...appliedMilestone('VPC', infrastructure, applies),
    ...(infrastructure.status?.vpcId && infrastructure.status.ready
      ? [{ id: 'vpc-ready', subject: 'VPC', word: 'ready', evidence: vpcEvidence(infrastructure) }]
      : []),
  ]
}

function vpcEvidence({ status, spec }: CAPTCluster): string {
  const zones = status?.availabilityZones?.length
  return [`${status?.vpcId} (${spec.existingVpcId ? 'existing' : 'created'})`, zones ? `${zones} zones` : '']
    .filter(Boolean)
    .join(', ')
}

function controlPlaneMilestones(
  controlPlane: CAPTControlPlane,
  applies: readonly WorkspaceTemplateApply[],
): readonly Milestone[] {
  const { status, spec } = controlPlane
  const endpoint = spec.controlPlaneEndpoint
    ? `${spec.controlPlaneEndpoint.host}:${spec.controlPlaneEndpoint.port}`
    : ''
  const expiry = status?.kubeconfig?.expiresAt
  return [
    ...appliedMilestone('control plane', controlPlane, applies),
    ...(status?.initialized
      ? [
          {
            id: 'initialized',
            subject: 'control plane',
            word: 'initialized',
            evidence: [endpoint, status.version].filter(Boolean).join('  '),
          },
        ]
      : []),
    ...(status?.secretsReady
      ? [
          {
            id: 'kubeconfig',
            subject: 'kubeconfig',
            word: 'written',
            evidence: expiry ? `token valid until ${expiry}` : 'Secrets are current',
          },
        ]
      : []),
  ]
}

function poolMilestones(pool: CAPTMachinePool): readonly Milestone[] {
  const { name } = pool.metadata
  const { readyReplicas = 0, version } = pool.status ?? {}
  if (conditionOf(pool, 'Ready')?.status !== 'True' || readyReplicas === 0) return []
  const facts = [counted(readyReplicas, 'node'), pool.spec.instanceTypes?.join(' or '), version]
  return [
    { id: `pool-${name}`, subject: 'pool', word: 'ready', evidence: `${name}: ${facts.filter(Boolean).join(', ')}` },
  ]
}

function deploymentMilestones(deployment: CAPTMachineDeployment): readonly Milestone[] {
  const { name } = deployment.metadata
  const { availableReplicas = 0 } = deployment.status ?? {}
  if (conditionOf(deployment, 'Ready')?.status !== 'True' || availableReplicas === 0) return []
  const facts = `${counted(availableReplicas, 'machine')}, ${deployment.spec.template.spec.instanceType}`
  return [{ id: `machines-${name}`, subject: 'machines', word: 'available', evidence: `${name}: ${facts}` }]
}

function appliedMilestone(
  subject: string,
  owner: AnyObject,
  applies: readonly WorkspaceTemplateApply[],
): readonly Milestone[] {
  const apply = applies.find(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid))
  if (!apply?.status?.applied || conditionOf(apply, 'Ready')?.status !== 'True') return []
  const resources = apply.status.state?.resources
  return [
    {
      id: `applied-${subject}`,
      subject,
      word: 'terraform apply',
      evidence: resources === undefined ? 'applied' : `${resources} of ${resources} resources`,
    },
  ]
}

function deliveryMilestones(delivery: AddonDelivery, cluster: AnyObject): readonly Milestone[] {
  return (delivery.status?.stages ?? []).flatMap((stage) => {
    const sets = stage.delivered?.resources ?? []
    const gate = stage.gate
    const opened = gate?.open && ownValue(readCluster(cluster).labels, gate.label) !== undefined
    return [
      ...(opened
        ? [
            {
              id: `gate-${stage.name}`,
              subject: 'gate',
              word: 'opened',
              evidence: `${gate.label}=${readCluster(cluster).labels[gate.label]}`,
            },
          ]
        : []),
      ...(stage.delivered?.equal
        ? [
            {
              id: `delivered-${stage.name}`,
              subject: stage.name,
              word: 'delivered',
              evidence:
                `${stage.wantedVersion ?? ''}  ${sets[0]?.set ?? ''}  ${shortSha(sets[0]?.ourHash)} = binding`.trim(),
            },
          ]
        : []),
      ...(stage.healthy?.status === 'True'
        ? [
            {
              id: `healthy-${stage.name}`,
              subject: stage.name,
              word: 'healthy',
              evidence: stage.healthy.evidence?.join(', ') ?? '',
            },
          ]
        : []),
    ]
  })
}

const shortSha = (hash: string | undefined): string =>
  hash ? `sha256:${hash.replace(/^sha256:/, '').slice(0, 4)}…` : ''
