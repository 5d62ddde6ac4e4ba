// The queue Karpenter reads interruptions from, and the rules that fill it. Without it Spot nodes die undrained.

import { partitionOf } from '../partitions.ts'
import { isAtLeast } from '../version.ts'
import { karpenterNames, ruleName } from './names.ts'

interface EventRule {
  /** Key people know it by; the AWS name follows from it and the cluster. */
  readonly key: string
  readonly name: string
  readonly description: string
  readonly pattern: { readonly source: readonly string[]; readonly 'detail-type': readonly string[] }
}

interface InterruptionQueue {
  readonly name: string
  readonly arn: string
  readonly retentionSeconds: number
  readonly managedEncryption: boolean
  readonly policy: Readonly<Record<string, unknown>>
  readonly rules: readonly EventRule[]
}

interface RuleData {
  readonly key: string
  readonly source: string
  readonly type: string
  readonly about: string
  readonly since?: string
}

export const EVENT_RULES: readonly RuleData[] = [
  { key: 'health', source: 'aws.health', type: 'AWS Health Event', about: 'Scheduled changes of instances' },
  {
    key: 'spot',
    source: 'aws.ec2',
    type: 'EC2 Spot Instance Interruption Warning',
    about: 'Spot instances about to be taken back',
  },
  {
    key: 'rebalance',
    source: 'aws.ec2',
    type: 'EC2 Instance Rebalance Recommendation',
    about: 'Spot instances at risk',
  },
  {
    key: 'state',
    source: 'aws.ec2',
    type: 'EC2 Instance State-change Notification',
    about: 'Instances that stopped or ended',
  },
  {
    key: 'reservation',
    source: 'aws.ec2',
    type: 'EC2 Capacity Reservation Instance Interruption Warning',
    about: 'Instances of interruptible capacity reservations',
    since: '1.10.0',
  },
]

export function interruptionQueue(input: {
  readonly version: string
  readonly clusterName: string
  readonly partition: string
  readonly region: string
  readonly accountId: string
}): InterruptionQueue {
  const { version, clusterName, partition, region, accountId } = input
  const { queue } = karpenterNames(clusterName)
  const arn = `arn:${partitionOf(partition).name}:sqs:${region}:${accountId}:${queue}`
  return {
    name: queue,
    arn,
    retentionSeconds: 300,
    managedEncryption: true,
    policy: queuePolicy(arn),
    rules: EVENT_RULES.filter(({ since }) => since === undefined || isAtLeast(version, since)).map((rule) => ({
      key: rule.key,
      name: ruleName(clusterName, rule.key),
      description: rule.about,
      pattern: { source: [rule.source], 'detail-type': [rule.type] },
    })),
  }
}

export function queuePolicy(arn: string): Record<string, unknown> {
  return {
    Version: '2012-10-17',
    Statement: [
      {
        Sid: 'AllowEvents',
        Effect: 'Allow',
        Principal: { Service: ['events.amazonaws.com', 'sqs.amazonaws.com'] },
        Action: 'sqs:SendMessage',
        Resource: arn,
      },
      {
        Sid: 'DenyHTTP',
        Effect: 'Deny',
        Principal: '*',
        Action: 'sqs:*',
        Resource: arn,
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      },
    ],
  }
}
