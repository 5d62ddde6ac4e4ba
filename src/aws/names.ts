// What has the name that a cluster would get: the EKS cluster, and the queue that Karpenter's interruptions go to.
import type { Call } from './call.ts'
import type { Ask } from './ec2.ts'
import { AwsError, type EksDescription, isAwsError, type NamedResource } from './port.ts'

type Base = Pick<Call, 'region' | 'keys'>
type Answer = Readonly<Record<string, unknown>>

export async function findNamed(
  ask: Ask,
  base: Base,
  { cluster, queue }: { readonly cluster: string; readonly queue: string },
): Promise<readonly NamedResource[]> {
  const found: NamedResource[] = []
  const described = await readIfThere(ask, describeCluster(base, cluster))
  if (described)
    found.push({
      kind: 'EKS cluster',
      name: cluster,
      tags: tagsIn((described['cluster'] as Answer | undefined)?.['tags']),
    })
  const url = (await readIfThere(ask, queueCall(base, 'GetQueueUrl', { QueueName: queue })))?.['QueueUrl']
  if (url !== undefined) {
    const tags = await readIfThere(ask, queueCall(base, 'ListQueueTags', { QueueUrl: url }))
    found.push({ kind: 'queue', name: queue, tags: tagsIn(tags?.['Tags']) })
  }
  return found
}

export async function readDescription(ask: Ask, base: Base, name: string): Promise<EksDescription | undefined> {
  const cluster = (await readIfThere(ask, describeCluster(base, name)))?.['cluster'] as Answer | undefined
  if (!cluster) return undefined
  const text = (value: unknown): string => (typeof value === 'string' ? value : '')
  const inner = (field: string): Answer => (cluster[field] ?? {}) as Answer
  const services = inner('kubernetesNetworkConfig')
  return {
    status: text(cluster['status']),
    version: text(cluster['version']),
    arn: text(cluster['arn']),
    endpoint: text(cluster['endpoint']),
    caData: text(inner('certificateAuthority')['data']),
    vpcId: text(inner('resourcesVpcConfig')['vpcId']) || undefined,
    serviceCidr: text(services['serviceIpv4Cidr']) || text(services['serviceIpv6Cidr']) || undefined,
  }
}

const describeCluster = (base: Base, name: string): Call => ({
  ...base,
  service: 'eks',
  action: 'eks:DescribeCluster',
  rest: { method: 'GET', path: `/clusters/${encodeURIComponent(name)}`, query: {} },
  headers: {},
  body: '',
})

const queueCall = (base: Base, action: string, body: object): Call => ({
  ...base,
  service: 'sqs',
  action: `sqs:${action}`,
  headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${action}` },
  body: JSON.stringify(body),
})

/** Only an answer that names the resource as missing counts as missing. */
const MISSING = /^(ResourceNotFoundException|QueueDoesNotExist|AWS\.SimpleQueueService\.NonExistentQueue)$/

async function readIfThere(ask: Ask, call: Call): Promise<Answer | undefined> {
  try {
    return JSON.parse(await ask(call)) as Answer
  } catch (error) {
    if (isAwsError(error) && MISSING.test(error.awsCode ?? '')) return undefined
    if (isAwsError(error)) throw error
    throw new AwsError('Refused', `${call.action} gave an answer that cannot be read`, {
      hint: 'something between capt and AWS may have changed it',
    })
  }
}

function tagsIn(value: unknown): Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, string>) : {}
}
