// Reads who else has the name that a cluster would get in AWS: other CAPTClusters from the cache, and AWS itself once,
// before the first run of a cluster whose template uses AWS.
import {
  type AnyObject,
  type CAPTCluster,
  CAPTCluster as CAPTClusterKind,
  CAPTControlPlane,
  keyOf,
  keyText,
  WorkspaceTemplateApply,
} from '#api'
import { type Aws, type ClusterNames, isAwsError } from '#aws'
import type { Cache, Objects, Projected } from '#kube'
import { CaptError, jsonEqual, messageOf, redact, sha256 } from '#lib'
import { resolveIdentity } from '../../control-plane/identity.ts'
import { eksApplyName, nameIn } from '../../control-plane/variables.ts'
import { foreignOwner } from '../../shared/apply.ts'
import { OWNER_TAG, ownerTagOf } from '../../shared/aws/owner-tag.ts'
import { usesAws } from '../../shared/aws/uses-aws.ts'
import { secondsLeft } from '../../shared/deadline.ts'
import { BY_CLUSTER, clusterNameOf } from '../../shared/owner-cluster.ts'
import { vpcApplyName } from '../variables.ts'
import { type Claim, type CloudAnswer, chooseName, extendedName, type Holder, type NameChoice } from './choose.ts'

/** Index of CAPTClusters by region and name in AWS. */
export const BY_NAME = 'name'
export const nameValues = (object: CAPTCluster): readonly string[] => [nameValue(object.spec.region, nameOf(object))]
const nameValue = (region: string, name: string): string => `${region}/${name}`
/** The one it has, or would get. */
const nameOf = (object: CAPTCluster): string =>
  object.spec.clusterName ?? object.status?.clusterName ?? clusterNameOf(object)

/** How long AWS may be out of reach, and how long after the Cluster its template may come, before the choice is made. */
const AWS_GRACE_SECONDS = 60
const TEMPLATE_GRACE_SECONDS = 5

export interface NamePorts {
  readonly objects: Objects
  readonly cache: Cache
  /** Undefined where every run is simulated. */
  readonly aws: (Pick<Aws, 'whoAmI'> & ClusterNames) | undefined
  /**
   * Accounts that answered, by uid of the CAPTCluster. Lost at a restart: two clusters with different credentials are
   * then distinguished by what exists in AWS.
   */
  readonly accounts: Map<string, string>
}

/** The name that was recorded or used before; undefined for a cluster without a run. */
export function knownName(cache: Cache, object: Projected<CAPTCluster>): string | undefined {
  const { status, spec } = object
  const used = status?.clusterName ?? usedName(cache, object)
  return used === undefined ? undefined : (spec.clusterName ?? used)
}

function usedName(cache: Cache, object: Projected<CAPTCluster>): string | undefined {
  const namespace = object.metadata.namespace ?? ''
  const cluster = clusterNameOf(object)
  const read = (name: string, owner: AnyObject): string | undefined => {
    const apply = cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
    return apply && !foreignOwner(apply, owner) ? nameIn(apply, cluster) : undefined
  }
  const ofVpc = object.spec.vpcTemplateRef && read(vpcApplyName(object, cluster), object)
  if (ofVpc !== undefined) return ofVpc
  return planesOf(cache, object)
    .map((plane) => read(eksApplyName(plane, cluster), plane))
    .find((name) => name !== undefined)
}

const planesOf = (cache: Cache, object: CAPTCluster): readonly Projected<CAPTControlPlane>[] =>
  cache.list<CAPTControlPlane>(CAPTControlPlane, {
    index: BY_CLUSTER,
    value: keyText({ namespace: object.metadata.namespace ?? '', name: clusterNameOf(object) }),
  })

/** Undefined while nothing needs a name: the VPC exists, and there is no control plane yet. */
export async function observeName(
  ports: NamePorts,
  object: Projected<CAPTCluster>,
  nowMs: number,
): Promise<NameChoice | undefined> {
  const { cache } = ports
  const known = knownName(cache, object)
  if (known !== undefined) return { is: 'chosen', name: known }
  const templateRef = object.spec.vpcTemplateRef ?? planesOf(cache, object)[0]?.spec.workspaceTemplateRef
  if (!templateRef) return undefined
  const { metadata, spec } = object
  const place = { namespace: metadata.namespace ?? '', cluster: clusterNameOf(object), region: spec.region }
  const leftOf = (seconds: number): number => secondsLeft(metadata.creationTimestamp, seconds, nowMs)
  const isInAws = ports.aws && usesAws(cache, templateRef, place.namespace)
  if (isInAws === 'missing' && leftOf(TEMPLATE_GRACE_SECONDS) > 0)
    return { is: 'waiting', message: `Waiting for WorkspaceTemplate ${templateRef.name}` }
  const wanted = spec.clusterName ?? place.cluster
  const isContested = cache.keys(CAPTClusterKind, { index: BY_NAME, value: nameValue(spec.region, wanted) }).length > 1
  const cloud: CloudAnswer =
    ports.aws && isInAws === true
      ? await ask(ports, ports.aws, object, place, { wanted, isContested })
      : { is: 'not-asked' }
  const account = cloud.is === 'answered' ? cloud.account : accountOfRole(object)
  const names = [wanted, extendedName(place, cloud.is === 'answered' ? cloud.account : '')]
  const claims = names.flatMap((name) => claimsOf(ports, object, account, name))
  return chooseName({ ...place, explicit: spec.clusterName, claims, cloud }, leftOf(AWS_GRACE_SECONDS) > 0)
}

async function ask(
  { objects, accounts }: NamePorts,
  aws: NonNullable<NamePorts['aws']>,
  object: CAPTCluster,
  place: { readonly namespace: string; readonly cluster: string; readonly region: string },
  { wanted, isContested }: { readonly wanted: string; readonly isContested: boolean },
): Promise<CloudAnswer> {
  const { region, namespace, cluster } = place
  try {
    const identity = await resolveIdentity(objects, object.spec.identity, namespace)
    const { account } = await aws.whoAmI(identity, region)
    accounts.set(object.metadata.uid ?? '', account)
    const own = ownerTagOf(namespace, cluster)
    const holdersOf = async (name: string): Promise<readonly Holder[]> =>
      (await aws.findNamed(identity, region, { cluster: name, queue: queueName(name) })).map((found) => ({
        what: `${found.kind} ${found.name} in account ${account}`,
        name,
        isOwn: found.tags[OWNER_TAG] === own,
      }))
    const holders = await holdersOf(wanted)
    const mayExtend = object.spec.clusterName === undefined && (isContested || holders.some(({ isOwn }) => !isOwn))
    const second = mayExtend ? await holdersOf(extendedName(place, account)) : []
    return { is: 'answered', account, holders: [...holders, ...second] }
  } catch (error) {
    return {
      is: 'unknown',
      message: redact(messageOf(error)),
      hint: (error instanceof CaptError && error.hint) || 'set spec.clusterName to a name that is free',
      mayPass: isAwsError(error, 'Throttled', 'Unreachable'),
    }
  }
}

/** As the control plane template names it. */
export function queueName(cluster: string): string {
  const name = `Karpenter-${cluster}`
  return name.length <= 80 ? name : `${name.slice(0, 71)}-${sha256(name).slice(0, 8)}`
}

function claimsOf(
  { cache, accounts }: NamePorts,
  object: Projected<CAPTCluster>,
  account: string | undefined,
  name: string,
): readonly Claim[] {
  const value = nameValue(object.spec.region, name)
  const others = cache
    .list<CAPTCluster>(CAPTClusterKind, { index: BY_NAME, value })
    .filter((other) => other.metadata.uid !== object.metadata.uid)
  return others.flatMap((other) => {
    const known = knownName(cache, other)
    if (known === undefined && other.metadata.deletionTimestamp) return []
    return {
      what:
        other.metadata.namespace === object.metadata.namespace
          ? `CAPTCluster ${other.metadata.name}`
          : 'a cluster of another namespace',
      name: known ?? nameOf(other),
      account: compareAccounts(object, account, other, accounts.get(other.metadata.uid ?? '') ?? accountOfRole(other)),
      isChosen: known !== undefined,
      isEarlier: ageOf(other) < ageOf(object),
    }
  })
}

const ageOf = (object: CAPTCluster): string => `${object.metadata.creationTimestamp} ${keyText(keyOf(object))}`

const accountOfRole = ({ spec }: CAPTCluster): string | undefined => spec.identity?.roleArn?.split(':')[4]

function compareAccounts(
  object: CAPTCluster,
  account: string | undefined,
  other: CAPTCluster,
  itsAccount: string | undefined,
): Claim['account'] {
  if (account !== undefined && itsAccount !== undefined) return account === itsAccount ? 'same' : 'other'
  return jsonEqual(credentialsOf(object), credentialsOf(other)) ? 'same' : 'unknown'
}

function credentialsOf({ spec, metadata }: CAPTCluster) {
  const { secretRef, roleArn } = spec.identity ?? {}
  return {
    secretRef: secretRef ? { namespace: metadata.namespace ?? '', ...secretRef } : null,
    roleArn: roleArn ?? null,
  }
}
