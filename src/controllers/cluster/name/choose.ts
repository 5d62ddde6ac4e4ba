// Chooses the name that a cluster has in AWS: that of the Cluster, or with a hash appended where another has it. Chosen
// once, before the first run. Pure.
import { sha256 } from '#lib'

export interface NameFacts {
  readonly namespace: string
  /** Name of the Cluster. */
  readonly cluster: string
  /** spec.clusterName: it is used as it is, or refused. */
  readonly explicit: string | undefined
  readonly region: string
  /** Other CAPTClusters of the region that have, or would have, one of the names in question. */
  readonly claims: readonly Claim[]
  readonly cloud: CloudAnswer
}

export interface Claim {
  /** Names nothing of another namespace. */
  readonly what: string
  readonly name: string
  readonly account: 'same' | 'other' | 'unknown'
  /** It has the name for good; else it would get it. */
  readonly isChosen: boolean
  /** Of two that have not chosen yet the earlier one comes first. */
  readonly isEarlier: boolean
}

export type CloudAnswer =
  /** The cluster is not in AWS, or only simulated. */
  | { readonly is: 'not-asked' }
  | { readonly is: 'answered'; readonly account: string; readonly holders: readonly Holder[] }
  | { readonly is: 'unknown'; readonly message: string; readonly hint: string; readonly mayPass: boolean }

export interface Holder {
  /** `EKS cluster demo` */
  readonly what: string
  /** The cluster name that it stands for. */
  readonly name: string
  /** Its tag names this Cluster. */
  readonly isOwn: boolean
}

export type NameChoice =
  | { readonly is: 'chosen'; readonly name: string; readonly report?: NameReport }
  | { readonly is: 'waiting'; readonly message: string }
  | { readonly is: 'refused'; readonly message: string; readonly hint: string }

/** What people should know about a choice that is not the ordinary one. */
export interface NameReport {
  readonly type: 'Normal' | 'Warning'
  readonly reason: 'ClusterNameExtended' | 'ClusterNameUnchecked'
  readonly message: string
}

/** `account` is empty where it is not known. */
export function extendedName(
  { namespace, cluster, region }: Pick<NameFacts, 'namespace' | 'cluster' | 'region'>,
  account: string,
): string {
  return `${cluster}-${sha256(`${account}/${region}/${namespace}/${cluster}`).slice(0, 8)}`
}

export function chooseName(facts: NameFacts, mayWait: boolean): NameChoice {
  const { cluster, explicit, cloud } = facts
  if (cloud.is === 'unknown' && cloud.mayPass && mayWait)
    return { is: 'waiting', message: `Looking whether the name ${explicit ?? cluster} is taken: ${cloud.message}` }
  if (explicit !== undefined) {
    const taker = takerOf(facts, explicit)
    return taker === undefined ? settle(cloud, explicit) : refuse(explicit, taker, 'another spec.clusterName')
  }
  const taker = takerOf(facts, cluster)
  if (taker === undefined) return settle(cloud, cluster)
  const name = extendedName(facts, cloud.is === 'answered' ? cloud.account : '')
  const second = takerOf(facts, name)
  if (second !== undefined) return refuse(`${cluster} and ${name}`, `${taker} and ${second}`, 'spec.clusterName set')
  const message = `The name ${cluster} is taken by ${taker}: this cluster is ${name} in AWS`
  return { is: 'chosen', name, report: { type: 'Normal', reason: 'ClusterNameExtended', message } }
}

function takerOf({ claims, cloud, explicit }: NameFacts, name: string): string | undefined {
  const holder = cloud.is === 'answered' ? cloud.holders.find((one) => one.name === name && !one.isOwn) : undefined
  if (holder) return holder.what
  return claims.find((claim) => claim.name === name && takes(claim, cloud, explicit !== undefined))?.what
}

/**
 * Where nobody knows whether two clusters share an account, AWS's answer counts for one that has its name for good; without
 * an answer the name counts as taken. A name that a person chose is refused only to one that certainly comes second: an
 * object that never ran must not block another namespace.
 */
function takes(claim: Claim, cloud: CloudAnswer, isExplicit: boolean): boolean {
  if (claim.account === 'other') return false
  if (isExplicit) return claim.isChosen && claim.account === 'same'
  if (!claim.isChosen) return claim.isEarlier
  return claim.account === 'same' || cloud.is !== 'answered'
}

function settle(cloud: CloudAnswer, name: string): NameChoice {
  if (cloud.is !== 'unknown') return { is: 'chosen', name }
  const message = `Nobody could say whether the name ${name} is taken in AWS: ${cloud.message}. If it is, the run fails and changes nothing of the other cluster: ${cloud.hint}`
  return { is: 'chosen', name, report: { type: 'Warning', reason: 'ClusterNameUnchecked', message } }
}

function refuse(name: string, taker: string, other: string): NameChoice {
  return {
    is: 'refused',
    message: `The name ${name} is taken by ${taker}`,
    hint: `nothing was made yet: delete this Cluster and make it again with ${other} on its CAPTCluster, or delete what has the name`,
  }
}
