// The few things we ask of AWS ourselves. Everything else is Terraform's. An adapter keeps keys and tokens out of every
// error it throws.
import { CaptError } from '#lib'

export interface AwsKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Whose credentials to use. Empty: those of the process (environment, IRSA, Pod Identity, instance role). */
export interface AwsIdentity {
  readonly keys?: AwsKeys
  readonly profile?: string
  /** Assumed with the credentials above. */
  readonly role?: { readonly arn: string; readonly externalId?: string }
}

export interface EksToken {
  readonly token: string
  /** When the cluster stops taking it: 15 minutes after signing, or earlier when the credentials end earlier. */
  readonly expiresAtMs: number
}

interface Caller {
  readonly account: string
  readonly arn: string
}

export interface TaggedResource {
  readonly arn: string
  readonly tags: Readonly<Record<string, string>>
}

/** A value, or `true` for a tag with any value. */
export type TagFilter = Readonly<Record<string, string | true>>

export interface TaggedMachine {
  readonly id: string
  /** pending, running, stopping or stopped. */
  readonly state: string
  readonly tags: Readonly<Record<string, string>>
}

export interface TaggedVolume {
  readonly id: string
  /** Attached, and deleted with the machine it is attached to. */
  readonly goesWithMachine: boolean
  readonly tags: Readonly<Record<string, string>>
}

/** Something that a controller inside a cluster made in its network. */
export interface NetworkObject {
  readonly kind:
    | 'load balancer'
    | 'classic load balancer'
    | 'target group'
    /** Attached to nothing. */
    | 'network interface'
    /** Of load balancers alone. */
    | 'security group'
  /** What AWS deletes it by: an ARN, a name or an id. */
  readonly id: string
  readonly vpcId?: string
}

export interface TaggedNetworkObject extends NetworkObject {
  readonly tags: Readonly<Record<string, string>>
}

export interface NetworkOwner {
  /** Name of the EKS cluster. */
  readonly cluster: string
  /** Nothing outside this VPC is looked at; without it the region is searched. */
  readonly vpcId?: string
}

/** Every method may throw AwsError. */
export interface ClusterNetwork {
  findNetwork(identity: AwsIdentity, region: string, owner: NetworkOwner): Promise<readonly NetworkObject[]>
  removeNetwork(identity: AwsIdentity, region: string, object: NetworkObject): Promise<void>
}

export interface AccessKeys {
  /** When the access key of the identity was made (Unix ms); undefined when its user does not list it. May throw AwsError. */
  accessKeyCreation(identity: AwsIdentity, region: string): Promise<number | undefined>
}

/** Machines and disks by tag. Every method may throw AwsError. */
export interface Ec2 {
  /** Every machine of the region that carries all these tags, unless it is gone or going. */
  findMachines(identity: AwsIdentity, region: string, tags: TagFilter): Promise<readonly TaggedMachine[]>
  findVolumes(identity: AwsIdentity, region: string, tags: TagFilter): Promise<readonly TaggedVolume[]>
  terminateMachines(identity: AwsIdentity, region: string, ids: readonly string[]): Promise<void>
  /** Names of the instance profiles that Karpenter made for this EKS cluster. */
  findInstanceProfiles(identity: AwsIdentity, region: string, cluster: string): Promise<readonly string[]>
}

/** Something that has a name of which an account and region has one. */
export interface NamedResource {
  readonly kind: 'EKS cluster' | 'queue'
  readonly name: string
  readonly tags: Readonly<Record<string, string>>
}

export interface ClusterNames {
  /** The EKS cluster and the queue of these names, as far as they exist. May throw AwsError. */
  findNamed(
    identity: AwsIdentity,
    region: string,
    names: { readonly cluster: string; readonly queue: string },
  ): Promise<readonly NamedResource[]>
}

/** What EKS says of a cluster. */
export interface EksDescription {
  /** ACTIVE, CREATING, UPDATING, FAILED, DELETING or PENDING. */
  readonly status: string
  readonly version: string
  readonly arn: string
  /** Empty while the cluster is made. */
  readonly endpoint: string
  readonly caData: string
  readonly vpcId: string | undefined
  /** Of IPv4, or else of IPv6. */
  readonly serviceCidr: string | undefined
}

export interface ClusterDescriptions {
  /** Undefined when there is no such cluster. May throw AwsError. */
  describeCluster(identity: AwsIdentity, region: string, name: string): Promise<EksDescription | undefined>
}

/** Every method may throw AwsError. */
export interface Aws {
  /** Signed here, without a call to AWS (unless credentials have to be fetched first). */
  eksToken(identity: AwsIdentity, cluster: { readonly name: string; readonly region: string }): Promise<EksToken>
  whoAmI(identity: AwsIdentity, region: string): Promise<Caller>
  /** Makes the account's service-linked role for EC2 Spot unless it is there. It is never deleted by us. */
  ensureSpotRole(identity: AwsIdentity, region: string): Promise<'present' | 'created'>
  /** Every resource of the region that carries all these tags. */
  findTagged(
    identity: AwsIdentity,
    region: string,
    tags: Readonly<Record<string, string>>,
  ): Promise<readonly TaggedResource[]>
}

export type AwsErrorReason = 'NoCredentials' | 'AccessDenied' | 'Throttled' | 'Unreachable' | 'Refused'

/** `code` is CAPT_AWS_<REASON>. */
export class AwsError extends CaptError {
  readonly reason: AwsErrorReason
  readonly awsCode: string | undefined

  constructor(
    reason: AwsErrorReason,
    message: string,
    options: { hint?: string; cause?: unknown; awsCode?: string } = {},
  ) {
    super(`CAPT_AWS_${reason.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()}`, message, options)
    this.name = 'AwsError'
    this.reason = reason
    this.awsCode = options.awsCode
  }
}

export function isAwsError(error: unknown, ...reasons: readonly AwsErrorReason[]): error is AwsError {
  return error instanceof AwsError && (reasons.length === 0 || reasons.includes(error.reason))
}
