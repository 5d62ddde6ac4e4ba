// What an account has before a first cluster: its VPCs, its Elastic IP addresses, and what the policies of the caller deny.
import { nodesAt, textAt } from '../xml.ts'
import { type AwsRequests, ec2List } from './requests.ts'

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

/** Those of the actions that are denied. `caller` is the ARN of the identity; a session stands for its role. */
export async function simulateActions(
  aws: AwsRequests,
  caller: string,
  actions: readonly string[],
): Promise<readonly string[]> {
  const names = actions.map((action, i) => [`ActionNames.member.${i + 1}`, action])
  const page = await aws.query('iam', 'SimulatePrincipalPolicy', {
    PolicySourceArn: roleOf(caller),
    ...Object.fromEntries(names),
  })
  return nodesAt(page, 'SimulatePrincipalPolicyResult', 'EvaluationResults', 'member')
    .filter((one) => textAt(one, 'EvalDecision') !== 'allowed')
    .map((one) => textAt(one, 'EvalActionName') ?? '')
}

function roleOf(arn: string): string {
  const match = /^(arn:[^:]+):sts::(\d+):assumed-role\/([^/]+)\//.exec(arn)
  return match ? `${match[1]}:iam::${match[2]}:role/${match[3]}` : arn
}
