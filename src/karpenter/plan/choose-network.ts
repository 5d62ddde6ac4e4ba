// Which subnets nodes of Karpenter start in, and the one security group they get. Ambiguity is refused unless chosen.
import type { Survey } from '../survey/survey.ts'
import type { Chosen, Options, Refuse } from './options.ts'

const list = (names: readonly string[]): string => [...names].sort().join(', ')

/** Ids, sorted. */
export function chooseSubnets(
  survey: Survey,
  options: Options,
  tagKey: string,
  refuse: Refuse,
): Chosen<readonly string[]> {
  const { subnets, cluster, closedZones } = survey
  const known = new Map(subnets.map((subnet) => [subnet.id, subnet]))
  const isClosed = (id: string) => closedZones.includes(known.get(id)?.zone ?? '')
  const isForeign = (id: string) => ![undefined, '', cluster.name].includes(known.get(id)?.tags[tagKey])
  const refused = (message: string, hint: string): Chosen<readonly string[]> => {
    refuse('CAPT_KARPENTER_SUBNETS', '--subnet', message, hint)
    return { value: [], reason: 'refused' }
  }
  const freeKey = `${tagKey.split('/').slice(0, 2).join('/')}/${cluster.name}`
  const foreignHint = `choose others with --subnet, or a tag key of this cluster alone: --discovery-tag ${freeKey}`

  const asked = options.subnets ?? []
  const unknown = asked.filter((id) => !known.has(id))
  if (unknown.length > 0)
    return refused(
      `${list(unknown)} is not a subnet of ${cluster.vpcId}, the VPC of the cluster`,
      `it has ${list(subnets.map(({ id }) => id))}`,
    )
  if (asked.some(isClosed))
    return refused(
      `${list(asked.filter(isClosed))} is in a zone that this account has not opted in to`,
      'choose subnets in other zones, or opt in: aws ec2 modify-availability-zone-group',
    )
  const found = foundSubnets(survey, tagKey)
  const candidates = asked.length > 0 ? { value: asked, reason: 'chosen by --subnet' } : found
  const open = candidates.value.filter((id) => !isClosed(id))
  if (open.length === 0)
    return refused(`there is no subnet that nodes could start in`, 'name subnets of the VPC with --subnet')
  const foreign = open.filter(isForeign)
  if (foreign.length > 0) {
    const [id] = foreign
    return refused(
      `${list(foreign)} carries ${tagKey}=${known.get(id!)?.tags[tagKey]}: it is another cluster's, and a tag has one value`,
      foreignHint,
    )
  }
  const left = candidates.value.length - open.length
  const reason = left === 0 ? candidates.reason : `${candidates.reason}; ${left} left out: zone not opted in`
  return { value: [...new Set(open)].sort(), reason }
}

/** Those that carry the tag; else those of the node groups, or of the cluster; private ones where there are any. */
function foundSubnets(survey: Survey, tagKey: string): Chosen<readonly string[]> {
  const { subnets, cluster, nodeGroups } = survey
  // A run that was interrupted may have tagged some of those it chose.
  const begun = begunTags(survey, tagKey)
  const tagged = subnets
    .filter(({ id, tags }) => tags[tagKey] === cluster.name || begun.includes(id))
    .map(({ id }) => id)
  if (tagged.some((id) => begun.includes(id))) return { value: tagged, reason: 'chosen when the installation began' }
  if (tagged.length > 0) return { value: tagged, reason: `they carry ${tagKey}=${cluster.name}` }
  const ofGroups = nodeGroups.flatMap(({ subnetIds }) => subnetIds)
  const [ids, origin] =
    ofGroups.length > 0 ? [ofGroups, 'subnets of the node groups'] : [cluster.subnetIds, 'subnets of the cluster']
  const present = subnets.filter(({ id }) => ids.includes(id))
  const isPrivate = present.filter(({ isPublic }) => !isPublic)
  if (isPrivate.length > 0 && isPrivate.length < present.length)
    return { value: isPrivate.map(({ id }) => id), reason: `${origin}, without the public ones` }
  return { value: present.map(({ id }) => id), reason: origin }
}

function begunTags({ kubernetes: { journal } }: Survey, tagKey: string): readonly string[] {
  if (journal?.phase !== 'installing') return []
  return journal.made.filter(({ type, of }) => type === 'tag' && of === tagKey).map(({ name }) => name)
}

/** Every group that carries the tag is attached to nodes, and a load balancer works with one group of the cluster alone. */
export function chooseSecurityGroup(survey: Survey, options: Options, tagKey: string, refuse: Refuse): Chosen<string> {
  const { securityGroups, cluster, nodeGroups } = survey
  const tagged = securityGroups.filter(({ tags }) => tags[tagKey] === cluster.name).map(({ id }) => id)
  const refused = (message: string, hint: string): Chosen<string> => {
    refuse('CAPT_KARPENTER_SECURITY_GROUP', '--security-group', message, hint)
    return { value: '', reason: 'refused' }
  }
  const untag = (ids: readonly string[]) => `aws ec2 delete-tags --resources ${ids.join(' ')} --tags Key=${tagKey}`
  if (tagged.length > 1)
    return refused(
      `${list(tagged)} carry ${tagKey}=${cluster.name}: nodes would get all of them`,
      `leave the tag on one: ${untag(tagged.slice(1))}`,
    )
  const asked = options.securityGroup
  if (asked !== undefined) {
    const group = securityGroups.find(({ id }) => id === asked)
    if (!group) return refused(`${asked} is not a security group of ${cluster.vpcId}`, 'choose one of that VPC')
    if (tagged[0] !== undefined && tagged[0] !== asked)
      return refused(`${tagged[0]} carries ${tagKey} already: nodes would get both`, untag(tagged))
    return checkedGroup(survey, { value: asked, reason: 'chosen by --security-group' }, tagKey, refused)
  }
  if (tagged[0] !== undefined) return { value: tagged[0], reason: `it carries ${tagKey}=${cluster.name}` }
  const own = cluster.clusterSecurityGroupId
  const ofGroups = nodeGroups.flatMap(({ securityGroups: ids }) => (ids.length > 0 ? ids : own ? [own] : []))
  const candidates = [...new Set(ofGroups.length > 0 ? ofGroups : own ? [own] : [])]
  if (candidates.length === 0)
    return refused('the cluster has no security group of its own', 'name the one of its nodes with --security-group')
  if (candidates.length > 1)
    return refused(`the node groups use ${list(candidates)}`, `choose one: --security-group ${candidates.sort()[0]}`)
  const reason = candidates[0] === own ? 'the security group of the cluster' : 'the launch template of the node groups'
  return checkedGroup(survey, { value: candidates[0]!, reason }, tagKey, refused)
}

function checkedGroup(
  { securityGroups, cluster }: Survey,
  chosen: Chosen<string>,
  tagKey: string,
  refused: (message: string, hint: string) => Chosen<string>,
): Chosen<string> {
  const owner = securityGroups.find(({ id }) => id === chosen.value)?.tags[tagKey]
  if (owner === undefined || owner === '' || owner === cluster.name) return chosen
  return refused(
    `${chosen.value} carries ${tagKey}=${owner}: it is another cluster's`,
    `choose another one, or a tag key of this cluster alone: --discovery-tag ${tagKey.split('/').slice(0, 2).join('/')}/${cluster.name}`,
  )
}
