// What the controllers inside one EKS cluster make in its VPC: load balancers, target groups, network interfaces and
// security groups, distinguished by their tags from what Terraform and EKS made.
import type { Call } from './call.ts'
import { type Ask, deleteInterface, deleteSecurityGroup, listFreeInterfaces, listSecurityGroups } from './ec2.ts'
import { deleteBalancer, listBalancers, listClassic, listTargetGroups } from './elb.ts'
import { isAwsError, type NetworkObject, type NetworkOwner, type TaggedNetworkObject } from './port.ts'

type Base = Pick<Call, 'region' | 'keys'>
type Tags = Readonly<Record<string, string>>

/** In the order in which AWS lets them go. */
export async function findNetwork(ask: Ask, base: Base, owner: NetworkOwner): Promise<readonly NetworkObject[]> {
  const { cluster, vpcId } = owner
  const found = [
    ...(await listBalancers(ask, base, vpcId)).filter(({ tags }) => isOwned(tags, cluster)),
    ...(await listClassic(ask, base, vpcId)).filter(({ tags }) => isOwned(tags, cluster)),
    ...(await listTargetGroups(ask, base, vpcId)).filter(({ tags }) => isOwned(tags, cluster)),
    ...(await listFreeInterfaces(ask, base, vpcId)).filter(({ tags }) => isInterface(tags, cluster)),
    ...(await listSecurityGroups(ask, base, vpcId)).filter(({ tags, name }) => isGroup(tags, name, cluster)),
  ]
  return found.map(toNetworkObject)
}

/** Deleting what is gone already is no error. */
export async function removeNetwork(ask: Ask, base: Base, object: NetworkObject): Promise<void> {
  try {
    if (object.kind === 'network interface') await deleteInterface(ask, base, object.id)
    else if (object.kind === 'security group') await deleteSecurityGroup(ask, base, object.id)
    else await deleteBalancer(ask, base, object)
  } catch (error) {
    if (!isAwsError(error) || !/NotFound$/.test(error.awsCode ?? '')) throw error
  }
}

/** Tags of the cloud controller manager and of the AWS Load Balancer Controller. */
export function isOwned(tags: Tags, cluster: string): boolean {
  return tags[`kubernetes.io/cluster/${cluster}`] === 'owned' || tags['elbv2.k8s.aws/cluster'] === cluster
}

/** The VPC CNI has a tag of its own. */
function isInterface(tags: Tags, cluster: string): boolean {
  return isOwned(tags, cluster) || tags['cluster.k8s.amazonaws.com/name'] === cluster
}

/** EKS and Terraform tag their groups `kubernetes.io/cluster/<name>` too: of these only the balancers' own are meant. */
export function isGroup(tags: Tags, name: string, cluster: string): boolean {
  if (tags['elbv2.k8s.aws/cluster'] === cluster) return true
  return isOwned(tags, cluster) && name.startsWith('k8s-elb-')
}

function toNetworkObject({ kind, id, vpcId }: TaggedNetworkObject): NetworkObject {
  return { kind, id, ...(vpcId === undefined ? {} : { vpcId }) }
}
