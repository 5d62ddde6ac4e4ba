// The queue that Karpenter reads interruptions from, and the rules that fill it.
import type { JsonObject } from '#lib'
import { type AwsRequests, isMissing, unlessMissing } from './requests.ts'

type Tags = Readonly<Record<string, string>>

export interface Queue {
  readonly url: string
  readonly arn: string
  readonly policy: unknown
  readonly tags: Tags
}

export interface Rule {
  readonly arn: string
  readonly pattern: unknown
  readonly tags: Tags
  /** ARNs of its targets. */
  readonly targets: readonly string[]
}

/** The one target of each rule. */
const TARGET = 'KarpenterInterruptionQueue'

const parsed = (text: unknown): unknown => {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}

async function queueUrl(aws: AwsRequests, name: string): Promise<string | undefined> {
  const answer = await unlessMissing(aws.json('sqs', 'GetQueueUrl', { QueueName: name }))
  return answer ? String(answer['QueueUrl']) : undefined
}

export async function readQueue(aws: AwsRequests, name: string): Promise<Queue | undefined> {
  const url = await queueUrl(aws, name)
  if (url === undefined) return undefined
  const asked = { QueueUrl: url, AttributeNames: ['QueueArn', 'Policy'] }
  const { Attributes } = (await aws.json('sqs', 'GetQueueAttributes', asked)) as { Attributes?: JsonObject }
  const { Tags } = (await aws.json('sqs', 'ListQueueTags', { QueueUrl: url })) as { Tags?: Tags }
  return { url, arn: String(Attributes?.['QueueArn']), policy: parsed(Attributes?.['Policy']), tags: Tags ?? {} }
}

export async function createQueue(aws: AwsRequests, name: string, policy: object, tags: Tags): Promise<void> {
  const Attributes = {
    MessageRetentionPeriod: '300',
    SqsManagedSseEnabled: 'true',
    Policy: JSON.stringify(policy),
  }
  await aws.json('sqs', 'CreateQueue', { QueueName: name, Attributes, tags })
}

export async function setQueuePolicy(aws: AwsRequests, name: string, policy: object): Promise<void> {
  const QueueUrl = await queueUrl(aws, name)
  await aws.json('sqs', 'SetQueueAttributes', { QueueUrl, Attributes: { Policy: JSON.stringify(policy) } })
}

export async function deleteQueue(aws: AwsRequests, name: string): Promise<void> {
  const url = await queueUrl(aws, name)
  if (url !== undefined) await unlessMissing(aws.json('sqs', 'DeleteQueue', { QueueUrl: url }))
}

export async function readRule(aws: AwsRequests, name: string): Promise<Rule | undefined> {
  const rule = await unlessMissing(aws.json('events', 'DescribeRule', { Name: name }))
  if (!rule) return undefined
  const arn = String(rule['Arn'])
  const { Tags = [] } = (await aws.json('events', 'ListTagsForResource', { ResourceARN: arn })) as {
    Tags?: readonly { readonly Key: string; readonly Value: string }[]
  }
  return {
    arn,
    pattern: parsed(rule['EventPattern']),
    tags: Object.fromEntries(Tags.map(({ Key, Value }) => [Key, Value])),
    targets: (await listTargets(aws, name)).map(({ Arn }) => Arn),
  }
}

interface Target {
  readonly Id: string
  readonly Arn: string
}

async function listTargets(aws: AwsRequests, name: string): Promise<readonly Target[]> {
  const all: Target[] = []
  let NextToken: string | undefined
  do {
    const page = (await aws.json('events', 'ListTargetsByRule', {
      Rule: name,
      ...(NextToken ? { NextToken } : {}),
    })) as {
      Targets?: readonly Target[]
      NextToken?: string
    }
    all.push(...(page.Targets ?? []))
    NextToken = page.NextToken
  } while (NextToken)
  return all
}

export async function putRule(
  aws: AwsRequests,
  name: string,
  rule: { readonly pattern: object; readonly description: string; readonly queueArn: string },
  tags: Tags,
): Promise<void> {
  await aws.json('events', 'PutRule', {
    Name: name,
    Description: rule.description,
    EventPattern: JSON.stringify(rule.pattern),
    State: 'ENABLED',
    Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
  })
  await aws.json('events', 'PutTargets', { Rule: name, Targets: [{ Id: TARGET, Arn: rule.queueArn }] })
}

export async function deleteRule(aws: AwsRequests, name: string): Promise<void> {
  try {
    const Ids = (await listTargets(aws, name)).map(({ Id }) => Id)
    if (Ids.length > 0) await aws.json('events', 'RemoveTargets', { Rule: name, Ids })
    await aws.json('events', 'DeleteRule', { Name: name })
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}
