// Load balancers and target groups of a region with their tags, in both APIs of Elastic Load Balancing, and their
// deletion. What the answers mean is pure and tested on recorded XML.
import { type Call, queryCall } from './call.ts'
import type { Ask } from './ec2.ts'
import { AwsError, type NetworkObject, type TaggedNetworkObject } from './port.ts'
import { nodesAt, parseXml, textAt, type XmlNode } from './xml.ts'

const V2 = '2015-12-01'
const CLASSIC = '2012-06-01'
const PAGE_SIZE = '200'
/** Both APIs describe the tags of at most this many at once. */
const MOST_TAGGED = 20

type Base = Pick<Call, 'region' | 'keys'>
type Parameters = Readonly<Record<string, string | undefined>>

/** Without a VPC: those of the whole region. */
export async function listBalancers(ask: Ask, base: Base, vpcId?: string): Promise<readonly TaggedNetworkObject[]> {
  const pages = await readPages(ask, base, V2, 'DescribeLoadBalancers')
  const found = pages
    .flatMap((page) => nodesAt(page, 'LoadBalancers', 'member'))
    .map((item) => toObject('load balancer', item, 'LoadBalancerArn', 'VpcId'))
  return await withTags(ask, base, V2, 'ResourceArns', 'ResourceArn', inVpc(found, vpcId))
}

export async function listTargetGroups(ask: Ask, base: Base, vpcId?: string): Promise<readonly TaggedNetworkObject[]> {
  const pages = await readPages(ask, base, V2, 'DescribeTargetGroups')
  const found = pages
    .flatMap((page) => nodesAt(page, 'TargetGroups', 'member'))
    .map((item) => toObject('target group', item, 'TargetGroupArn', 'VpcId'))
  return await withTags(ask, base, V2, 'ResourceArns', 'ResourceArn', inVpc(found, vpcId))
}

export async function listClassic(ask: Ask, base: Base, vpcId?: string): Promise<readonly TaggedNetworkObject[]> {
  const pages = await readPages(ask, base, CLASSIC, 'DescribeLoadBalancers')
  const found = pages
    .flatMap((page) => nodesAt(page, 'LoadBalancerDescriptions', 'member'))
    .map((item) => toObject('classic load balancer', item, 'LoadBalancerName', 'VPCId'))
  return await withTags(ask, base, CLASSIC, 'LoadBalancerNames', 'LoadBalancerName', inVpc(found, vpcId))
}

export async function deleteBalancer(ask: Ask, base: Base, { kind, id }: NetworkObject): Promise<void> {
  if (kind === 'classic load balancer') await ask(call(base, CLASSIC, 'DeleteLoadBalancer', { LoadBalancerName: id }))
  else if (kind === 'target group') await ask(call(base, V2, 'DeleteTargetGroup', { TargetGroupArn: id }))
  else await ask(call(base, V2, 'DeleteLoadBalancer', { LoadBalancerArn: id }))
}

function toObject(kind: NetworkObject['kind'], item: XmlNode, id: string, vpc: string): NetworkObject {
  const vpcId = textAt(item, vpc)
  return { kind, id: textAt(item, id) ?? '', ...(vpcId ? { vpcId } : {}) }
}

/** A target group for Lambda functions has no VPC and is never one of a cluster. */
function inVpc(found: readonly NetworkObject[], vpcId: string | undefined): readonly NetworkObject[] {
  return found.filter((one) => one.id !== '' && (vpcId === undefined || one.vpcId === vpcId))
}

async function readPages(ask: Ask, base: Base, version: string, action: string): Promise<readonly XmlNode[]> {
  const pages: XmlNode[] = []
  let Marker: string | undefined
  do {
    const text = await ask(call(base, version, action, { PageSize: PAGE_SIZE, Marker }))
    const page = resultOf(text, action)
    pages.push(page)
    Marker = textAt(page, 'NextMarker') || undefined
  } while (Marker !== undefined)
  return pages
}

async function withTags(
  ask: Ask,
  base: Base,
  version: string,
  parameter: string,
  element: string,
  objects: readonly NetworkObject[],
): Promise<readonly TaggedNetworkObject[]> {
  const tags = new Map<string, Readonly<Record<string, string>>>()
  for (let at = 0; at < objects.length; at += MOST_TAGGED) {
    const some = objects.slice(at, at + MOST_TAGGED)
    const asked = Object.fromEntries(some.map(({ id }, i) => [`${parameter}.member.${i + 1}`, id]))
    const page = resultOf(await ask(call(base, version, 'DescribeTags', asked)), 'DescribeTags')
    for (const row of nodesAt(page, 'TagDescriptions', 'member'))
      tags.set(
        textAt(row, element) ?? '',
        Object.fromEntries(
          nodesAt(row, 'Tags', 'member').map((tag) => [textAt(tag, 'Key') ?? '', textAt(tag, 'Value') ?? '']),
        ),
      )
  }
  return objects.map((object) => ({ ...object, tags: tags.get(object.id) ?? {} }))
}

function call(base: Base, version: string, action: string, parameters: Parameters): Call {
  return queryCall({ service: 'elasticloadbalancing', ...base }, action, version, parameters)
}

/** `<XResponse><XResult>…`. */
function resultOf(text: string, action: string): XmlNode {
  try {
    const [result] = nodesAt(parseXml(text), `${action}Result`)
    if (result) return result
  } catch (cause) {
    throw unreadable(action, cause)
  }
  throw unreadable(action)
}

function unreadable(action: string, cause?: unknown): AwsError {
  return new AwsError('Refused', `elasticloadbalancing:${action} gave an answer that cannot be read`, {
    hint: 'something between capt and AWS may have changed it; it is asked again',
    cause,
  })
}
