// Who may assume Karpenter's two roles, and what the node role holds. Trust, service account annotation and
// Pod Identity association follow from one choice of identity, so they cannot disagree.
import { CaptError } from '#lib'
import { SERVICE_ACCOUNT } from '../karpenter/values.ts'
import { ec2ServiceOf, partitionOf } from '../partitions.ts'
import { isAtLeast } from '../version.ts'

interface TrustPolicy {
  readonly Version: '2012-10-17'
  readonly Statement: readonly {
    readonly Effect: 'Allow'
    readonly Principal: Readonly<Record<string, string>>
    readonly Action: string | readonly string[]
    readonly Condition?: Readonly<Record<string, Readonly<Record<string, string>>>>
  }[]
}

/** ARNs of the managed policies on the node role. Pull-only from 1.0 on; before that upstream attached the wider one. */
export function nodeRolePolicies(version: string, partition: string): string[] {
  partitionOf(partition)
  const registry = isAtLeast(version, '1.0.0')
    ? 'AmazonEC2ContainerRegistryPullOnly'
    : 'AmazonEC2ContainerRegistryReadOnly'
  return ['AmazonEKSWorkerNodePolicy', 'AmazonEKS_CNI_Policy', registry, 'AmazonSSMManagedInstanceCore'].map(
    (name) => `arn:${partition}:iam::aws:policy/${name}`,
  )
}

export function nodeTrust(partition: string): TrustPolicy {
  return trust({ Service: ec2ServiceOf(partition) }, 'sts:AssumeRole')
}

type ControllerTrustInput =
  | { readonly identity: 'podIdentity'; readonly clusterArn?: string; readonly accountId?: string }
  | {
      readonly identity: 'irsa'
      readonly partition: string
      readonly accountId: string
      /** As EKS gives it, with or without https://. */
      readonly issuer: string
      readonly namespace: string
      readonly serviceAccount?: string
    }

export function controllerTrust(input: ControllerTrustInput): TrustPolicy {
  if (input.identity === 'podIdentity') {
    const conditions = {
      ...(input.clusterArn ? { ArnEquals: { 'aws:SourceArn': input.clusterArn } } : {}),
      ...(input.accountId ? { StringEquals: { 'aws:SourceAccount': input.accountId } } : {}),
    }
    return trust({ Service: 'pods.eks.amazonaws.com' }, ['sts:AssumeRole', 'sts:TagSession'], conditions)
  }
  const issuer = issuerHost(input.issuer)
  const subject = `system:serviceaccount:${input.namespace}:${input.serviceAccount ?? SERVICE_ACCOUNT}`
  return trust(
    { Federated: oidcProviderArn(input.partition, input.accountId, input.issuer) },
    'sts:AssumeRoleWithWebIdentity',
    {
      StringEquals: { [`${issuer}:aud`]: 'sts.amazonaws.com', [`${issuer}:sub`]: subject },
    },
  )
}

function oidcProviderArn(partition: string, accountId: string, issuer: string): string {
  return `arn:${partitionOf(partition).name}:iam::${accountId}:oidc-provider/${issuerHost(issuer)}`
}

/** IAM names a provider by its address without the scheme. */
function issuerHost(issuer: string): string {
  const host = issuer.replace(/^https:\/\//, '').replace(/\/+$/, '')
  if (/^[\w.-]+(\/[\w.-]+)*$/.test(host)) return host
  throw new CaptError('CAPT_OIDC_ISSUER_INVALID', `"${issuer}" is not the address of an OIDC issuer`, {
    hint: 'take it from the cluster: aws eks describe-cluster --query cluster.identity.oidc.issuer',
  })
}

function trust(
  principal: Record<string, string>,
  action: string | readonly string[],
  conditions: Record<string, Record<string, string>> = {},
): TrustPolicy {
  const condition = Object.keys(conditions).length > 0 ? { Condition: conditions } : {}
  return { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Principal: principal, Action: action, ...condition }] }
}
