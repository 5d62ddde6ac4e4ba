// The role of the controller: its trust and policy as they should be, and what a role that exists before capt comes says
// about the Karpenter it belongs to. modules/karpenter makes the same documents. Pure.
import {
  controllerTrust,
  inlineControllerPolicy,
  interruptionQueue,
  isAtLeast,
  KARPENTER_RELEASE,
  karpenterNames,
  parseVersion,
  partitionNames,
} from '#catalog'
import { hashOf } from '#lib'
import type { Survey } from '../survey/survey.ts'
import type { Choices } from './choose.ts'

export const SERVICE_ACCOUNT = 'karpenter'

/** The module installs nothing older. */
const OLDEST_OF_MODULE = '1.0.0'

export const roleArn = ({ partition, accountId }: Survey, name: string): string =>
  `arn:${partition}:iam::${accountId}:role/${name}`

export function queueOf({ partition, region, accountId, cluster }: Survey, version: string) {
  return interruptionQueue({ version, clusterName: cluster.name, partition, region, accountId })
}

export function trustOf({ partition, accountId, cluster }: Survey, { identity, namespace }: Choices) {
  // A cluster without an issuer is refused before this is used.
  const issuer = cluster.issuer ?? 'https://none'
  return identity.value === 'irsa'
    ? controllerTrust({ identity: 'irsa', partition, accountId, issuer, namespace: namespace.value })
    : controllerTrust({ identity: 'podIdentity', clusterArn: cluster.arn, accountId })
}

export function policyOf(survey: Survey, version: string) {
  const { partition, region, accountId, cluster } = survey
  return inlineControllerPolicy(version, {
    partition,
    region,
    accountId,
    clusterName: cluster.name,
    nodeRoleArn: roleArn(survey, karpenterNames(cluster.name).nodeRole),
    queueArn: queueOf(survey, version).arn,
  })
}

/** A policy of others may hold the statement that modules/karpenter adds with `zonal_shift`. */
export function withoutZonalShift(document: unknown): unknown {
  const { Statement: statements } = (document ?? {}) as { Statement?: readonly { Sid?: string }[] }
  if (!Array.isArray(statements)) return document
  return { ...(document as object), Statement: statements.filter(({ Sid }) => Sid !== 'AllowZonalShiftStatusReadOnly') }
}

/** The service account that a controller role of this cluster is for, when the role is there. */
export function foundIdentity({
  controllerRole,
  associations,
}: Survey): { readonly namespace: string; readonly identity: 'irsa' | 'pod-identity' } | undefined {
  if (!controllerRole) return undefined
  const association = associations.find(
    ({ roleArn, serviceAccount }) => roleArn === controllerRole.arn && serviceAccount === SERVICE_ACCOUNT,
  )
  if (association) return { namespace: association.namespace, identity: 'pod-identity' }
  const subject = new RegExp(`"system:serviceaccount:([^:"]+):${SERVICE_ACCOUNT}"`)
  const [, namespace] = subject.exec(JSON.stringify(controllerRole.trust ?? '')) ?? []
  return namespace === undefined ? undefined : { namespace, identity: 'irsa' }
}

/**
 * A Karpenter that capt did not bring and that has the role, the trust and the policy of modules/karpenter for its version.
 * Whatever made it changes it: capt only compares.
 */
export function foundRelease(survey: Survey): { readonly namespace: string; readonly version: string } | undefined {
  const { karpenter, journal } = survey.kubernetes
  const [running, ...others] = karpenter
  const version = running?.version
  const isOurs = journal?.made.some(({ type }) => type === 'release') ?? false
  if (isOurs || !running || others.length > 0 || running.name !== KARPENTER_RELEASE) return undefined
  if (foundIdentity(survey)?.namespace !== running.namespace || !partitionNames().includes(survey.partition))
    return undefined
  if (version === undefined || !parseVersion(version) || !isAtLeast(version, OLDEST_OF_MODULE)) return undefined
  const document = survey.controllerRole?.inline[karpenterNames(survey.cluster.name).controllerPolicy]
  if (!isSameDocument(withoutZonalShift(document), policyOf(survey, version))) return undefined
  return { namespace: running.namespace, version }
}

/** AWS writes a list of one as its element, and keeps no order of lists. */
export const isSameDocument = (a: unknown, b: unknown): boolean =>
  hashOf(normalized(a) ?? null) === hashOf(normalized(b) ?? null)

function normalized(value: unknown): unknown {
  if (Array.isArray(value)) {
    const sorted = value.map(normalized).sort((a, b) => (hashOf(a) < hashOf(b) ? -1 : 1))
    return sorted.length === 1 ? sorted[0] : sorted
  }
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, normalized(inner)]))
  return value
}
