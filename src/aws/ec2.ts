// Machines, disks, network interfaces and security groups as EC2 describes them, and the few calls that remove them.
// What the answers mean is pure and tested on recorded XML.
import { type Call, queryCall } from './call.ts'
import { AwsError, type TagFilter, type TaggedMachine, type TaggedNetworkObject, type TaggedVolume } from './port.ts'
import { nodesAt, parseXml, textAt, type XmlNode } from './xml.ts'

const VERSION = '2016-11-15'
/** A machine needs as much as 10 KiB of XML; a page must stay below the limit of one answer. */
const PAGE_SIZE = 200
/** Machines that cost money or may come back; those that are shutting down are on their way out. */
const LIVING = ['pending', 'running', 'stopping', 'stopped']
const MOST_IDS = 100

type Base = Pick<Call, 'region' | 'keys'>
/** Sends one call and answers with its text. */
export type Ask = (call: Call) => Promise<string>

export async function listMachines(ask: Ask, base: Base, tags: TagFilter): Promise<readonly TaggedMachine[]> {
  const filters: readonly Filter[] = [...tagFilters(tags), ['instance-state-name', LIVING]]
  const pages = await readPages(ask, base, 'DescribeInstances', filters)
  return pages.flatMap((page) => nodesAt(page, 'reservationSet', 'item', 'instancesSet', 'item')).flatMap(toMachine)
}

export async function listVolumes(ask: Ask, base: Base, tags: TagFilter): Promise<readonly TaggedVolume[]> {
  const pages = await readPages(ask, base, 'DescribeVolumes', tagFilters(tags))
  return pages.flatMap((page) => nodesAt(page, 'volumeSet', 'item')).flatMap(toVolume)
}

export async function terminateMachines(ask: Ask, base: Base, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += MOST_IDS) {
    const some = ids.slice(at, at + MOST_IDS)
    await ask(call(base, 'TerminateInstances', Object.fromEntries(some.map((id, i) => [`InstanceId.${i + 1}`, id]))))
  }
}

/** Interfaces that are attached go with their machine or balancer; these are the others. */
export async function listFreeInterfaces(
  ask: Ask,
  base: Base,
  vpcId: string | undefined,
): Promise<readonly TaggedNetworkObject[]> {
  const filters: readonly Filter[] = [['status', ['available']], ...vpcFilter(vpcId)]
  const pages = await readPages(ask, base, 'DescribeNetworkInterfaces', filters)
  return pages
    .flatMap((page) => nodesAt(page, 'networkInterfaceSet', 'item'))
    .map((item) => ({
      kind: 'network interface',
      id: textAt(item, 'networkInterfaceId') ?? '',
      vpcId: textAt(item, 'vpcId') ?? '',
      tags: tagsOf(item),
    }))
}

export async function deleteInterface(ask: Ask, base: Base, id: string): Promise<void> {
  await ask(call(base, 'DeleteNetworkInterface', { NetworkInterfaceId: id }))
}

interface NamedGroup extends TaggedNetworkObject {
  readonly name: string
}

export async function listSecurityGroups(
  ask: Ask,
  base: Base,
  vpcId: string | undefined,
): Promise<readonly NamedGroup[]> {
  const pages = await readPages(ask, base, 'DescribeSecurityGroups', vpcFilter(vpcId))
  return pages
    .flatMap((page) => nodesAt(page, 'securityGroupInfo', 'item'))
    .map((item) => ({
      kind: 'security group',
      id: textAt(item, 'groupId') ?? '',
      name: textAt(item, 'groupName') ?? '',
      vpcId: textAt(item, 'vpcId') ?? '',
      tags: tagsOf(item),
    }))
}

/** EC2 refuses to delete a group that a rule of another one names: the nodes' group lets the balancer in. */
export async function deleteSecurityGroup(ask: Ask, base: Base, id: string): Promise<void> {
  const directions = [
    ['ip-permission.group-id', 'ipPermissions', 'RevokeSecurityGroupIngress'],
    ['egress.ip-permission.group-id', 'ipPermissionsEgress', 'RevokeSecurityGroupEgress'],
  ] as const
  for (const [filter, element, action] of directions) {
    const pages = await readPages(ask, base, 'DescribeSecurityGroups', [[filter, [id]]])
    for (const group of pages.flatMap((page) => nodesAt(page, 'securityGroupInfo', 'item'))) {
      const parameters = rulesNaming(id, nodesAt(group, element, 'item'))
      const GroupId = textAt(group, 'groupId')
      if (parameters && GroupId !== id) await ask(call(base, action, { GroupId, ...parameters }))
    }
  }
  await ask(call(base, 'DeleteSecurityGroup', { GroupId: id }))
}

function rulesNaming(id: string, rules: readonly XmlNode[]): Readonly<Record<string, string | undefined>> | undefined {
  const naming = rules.filter((rule) => nodesAt(rule, 'groups', 'item').some((one) => textAt(one, 'groupId') === id))
  if (naming.length === 0) return undefined
  return Object.fromEntries(
    naming.flatMap((rule, i) => [
      [`IpPermissions.${i + 1}.IpProtocol`, textAt(rule, 'ipProtocol')],
      [`IpPermissions.${i + 1}.FromPort`, textAt(rule, 'fromPort')],
      [`IpPermissions.${i + 1}.ToPort`, textAt(rule, 'toPort')],
      [`IpPermissions.${i + 1}.Groups.1.GroupId`, id],
    ]),
  )
}

type Filter = readonly [name: string, values: readonly string[]]

/** Filters must all hold, the values of one are alternatives: so each tag is a filter of its own. */
function tagFilters(tags: TagFilter): readonly Filter[] {
  return Object.entries(tags).map(([key, value]) => (value === true ? ['tag-key', [key]] : [`tag:${key}`, [value]]))
}

const vpcFilter = (vpcId: string | undefined): readonly Filter[] => (vpcId === undefined ? [] : [['vpc-id', [vpcId]]])

async function readPages(
  ask: Ask,
  base: Base,
  action: string,
  filters: readonly Filter[],
): Promise<readonly XmlNode[]> {
  const fixed = Object.fromEntries(
    filters.flatMap(([name, values], i) => [
      [`Filter.${i + 1}.Name`, name],
      ...values.map((value, j) => [`Filter.${i + 1}.Value.${j + 1}`, value]),
    ]),
  ) as Record<string, string>
  const pages: XmlNode[] = []
  let NextToken: string | undefined
  do {
    const text = await ask(call(base, action, { ...fixed, MaxResults: String(PAGE_SIZE), NextToken }))
    const page = read(text, action)
    pages.push(page)
    NextToken = textAt(page, 'nextToken') || undefined
  } while (NextToken !== undefined)
  return pages
}

function call(base: Base, action: string, parameters: Readonly<Record<string, string | undefined>>): Call {
  return queryCall({ service: 'ec2', ...base }, action, VERSION, parameters)
}

function read(text: string, action: string): XmlNode {
  try {
    return parseXml(text)
  } catch (cause) {
    throw new AwsError('Refused', `ec2:${action} gave an answer that cannot be read`, {
      hint: 'something between capt and AWS may have changed it; it is asked again',
      cause,
    })
  }
}

function toMachine(item: XmlNode): readonly TaggedMachine[] {
  const id = textAt(item, 'instanceId')
  // Machines of EKS Auto Mode: EKS alone may terminate them, and does so with the cluster.
  if (textAt(item, 'operator', 'managed') === 'true') return []
  return id ? [{ id, state: textAt(item, 'instanceState', 'name') ?? '', tags: tagsOf(item) }] : []
}

function toVolume(item: XmlNode): readonly TaggedVolume[] {
  const id = textAt(item, 'volumeId')
  if (!id) return []
  const attachments = nodesAt(item, 'attachmentSet', 'item')
  const goesWithMachine =
    attachments.length > 0 && attachments.every((one) => textAt(one, 'deleteOnTermination') === 'true')
  return [{ id, goesWithMachine, tags: tagsOf(item) }]
}

function tagsOf(item: XmlNode): Readonly<Record<string, string>> {
  return Object.fromEntries(
    nodesAt(item, 'tagSet', 'item').map((tag) => [textAt(tag, 'key') ?? '', textAt(tag, 'value') ?? '']),
  )
}
