// What an account has before a first cluster: its VPCs, its Elastic IP addresses, and what the policies of the caller deny.
import type { ScopedActions } from '#catalog'
import { nodesAt, textAt } from '../xml.ts'
import { type AwsRequests, ec2List, iamList } from './requests.ts'

export async function listVpcs(aws: AwsRequests): Promise<readonly { readonly id: string; readonly cidr: string }[]> {
  const found = await ec2List(aws, 'DescribeVpcs', {}, 'vpcSet', 'item')
  return found.map((item) => ({ id: textAt(item, 'vpcId') ?? '', cidr: textAt(item, 'cidrBlock') ?? '' }))
}

/** `most` is undefined where the account does not say. */
export async function readAddresses(
  aws: AwsRequests,
): Promise<{ readonly used: number; readonly most: number | undefined }> {
  const used = nodesAt(await aws.query('ec2', 'DescribeAddresses'), 'addressesSet', 'item').length
  const name = 'vpc-max-elastic-ips'
  const page = await aws.query('ec2', 'DescribeAccountAttributes', { 'AttributeName.1': name })
  const values = nodesAt(page, 'accountAttributeSet', 'item', 'attributeValueSet', 'item')
  const most = Number(values.map((value) => textAt(value, 'attributeValue'))[0])
  return { used, most: Number.isInteger(most) && most > 0 ? most : undefined }
}

/** One request names at most this many. */
const AT_ONCE = 50

/** Those of the actions that are denied. `caller` is the ARN of the identity; a session stands for its role. */
export async function simulateActions(
  aws: AwsRequests,
  caller: string,
  needed: readonly ScopedActions[],
): Promise<readonly string[]> {
  const [, partition = 'aws', , , account = ''] = caller.split(':')
  const place = { partition, region: aws.region, account }
  const denied = new Set<string>()
  for (const { actions, resources = [], condition = {} } of needed)
    for (let from = 0; from < actions.length; from += AT_ONCE) {
      const asked = {
        PolicySourceArn: roleOf(caller),
        ...numbered('ActionNames.member', actions.slice(from, from + AT_ONCE)),
        ...numbered(
          'ResourceArns.member',
          resources.map((pattern) => exampleOf(pattern, place)),
        ),
        ...contextOf(condition, place),
      }
      const results = await iamList(aws, 'SimulatePrincipalPolicy', asked, 'EvaluationResults', 'member')
      for (const one of results)
        if (textAt(one, 'EvalDecision') !== 'allowed') denied.add(textAt(one, 'EvalActionName') ?? '')
    }
  return [...denied].sort()
}

const numbered = (name: string, values: readonly string[]): Record<string, string> =>
  Object.fromEntries(values.map((value, i) => [`${name}.${i + 1}`, value]))

interface Place {
  readonly partition: string
  readonly region: string
  readonly account: string
}

/** Something that a pattern of the table matches, in this account and region. */
function exampleOf(pattern: string, { partition, region, account }: Place): string {
  const [arn, ...rest] = pattern.split(':')
  if (arn !== 'arn' || rest.length < 5) return pattern.replaceAll('*', 'capt')
  const [first, service, third, fourth, ...name] = rest
  const filled = [
    first === '*' ? partition : first,
    service,
    third === '*' ? region : third,
    fourth === '*' ? account : fourth,
    name.join(':').replaceAll('*', 'capt'),
  ]
  return ['arn', ...filled].join(':')
}

/** A simulation knows no request, so what conditions of the table ask about is given with it. */
function contextOf(condition: NonNullable<ScopedActions['condition']>, place: Place): Record<string, string> {
  const keys = Object.values(condition).flatMap((tests) => Object.entries(tests))
  return Object.fromEntries(
    keys.flatMap(([key, [first = '']], i) => [
      [`ContextEntries.member.${i + 1}.ContextKeyName`, key],
      [`ContextEntries.member.${i + 1}.ContextKeyType`, 'string'],
      [`ContextEntries.member.${i + 1}.ContextKeyValues.member.1`, exampleOf(first, place)],
    ]),
  )
}

function roleOf(arn: string): string {
  const match = /^(arn:[^:]+):sts::(\d+):assumed-role\/([^/]+)\//.exec(arn)
  return match ? `${match[1]}:iam::${match[2]}:role/${match[3]}` : arn
}
