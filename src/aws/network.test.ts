import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Call } from './call.ts'
import { findNetwork, isGroup, isOwned, removeNetwork } from './network.ts'
import { AwsError, isAwsError } from './port.ts'

const base = { region: 'eu-west-1', keys: { accessKeyId: 'AKID', secretAccessKey: 'hidden' } }

/** Answers by action and version; each list of answers is one page after the other. */
function scripted(answers: Readonly<Record<string, readonly string[]>>) {
  const asked: URLSearchParams[] = []
  const given = new Map<string, number>()
  const ask = async ({ body }: Call): Promise<string> => {
    const parameters = new URLSearchParams(body)
    asked.push(parameters)
    const name = `${parameters.get('Action')} ${parameters.get('Version')}`
    const at = given.get(name) ?? 0
    given.set(name, at + 1)
    return answers[name]?.[at] ?? `<R><${parameters.get('Action')}Result></${parameters.get('Action')}Result></R>`
  }
  return { ask, asked, of: (action: string) => asked.filter((one) => one.get('Action') === action) }
}

const result = (action: string, inner: string) =>
  `<${action}Response><${action}Result>${inner}</${action}Result></${action}Response>`
const balancer = (arn: string, vpc = 'vpc-1') =>
  `<member><LoadBalancerArn>${arn}</LoadBalancerArn><VpcId>${vpc}</VpcId></member>`
const tagsOf = (id: string, key: string, value: string) =>
  `<member><ResourceArn>${id}</ResourceArn><Tags><member><Key>${key}</Key><Value>${value}</Value></member></Tags></member>`

describe('the network of a cluster in AWS', () => {
  it('is read from every page, with the tags of twenty at a time', async () => {
    const arns = Array.from({ length: 25 }, (_, i) => `arn-${i}`)
    const page = (some: readonly string[], marker: string) =>
      result(
        'DescribeLoadBalancers',
        `<LoadBalancers>${some.map((arn) => balancer(arn)).join('')}</LoadBalancers>${marker}`,
      )
    const tags = (some: readonly string[]) =>
      result(
        'DescribeTags',
        `<TagDescriptions>${some.map((arn) => tagsOf(arn, 'elbv2.k8s.aws/cluster', 'demo')).join('')}</TagDescriptions>`,
      )
    const { ask, of } = scripted({
      'DescribeLoadBalancers 2015-12-01': [
        page(arns.slice(0, 10), '<NextMarker>page-2</NextMarker>'),
        page(arns.slice(10), ''),
      ],
      'DescribeTags 2015-12-01': [tags(arns.slice(0, 20)), tags(arns.slice(20))],
    })
    const found = await findNetwork(ask, base, { cluster: 'demo', vpcId: 'vpc-1' })
    assert.deepEqual(
      found.map(({ id }) => id),
      arns,
    )
    assert.equal(of('DescribeLoadBalancers')[1]!.get('Marker'), 'page-2')
    assert.equal([...of('DescribeTags')[0]!.keys()].filter((name) => name.startsWith('ResourceArns')).length, 20)
    for (const action of ['DescribeNetworkInterfaces', 'DescribeSecurityGroups'])
      assert.equal(of(action)[0]!.get('MaxResults'), '200', `${action} is read in pages`)
  })

  it('leaves out what is in another VPC before its tags are asked for', async () => {
    const { ask, of } = scripted({
      'DescribeLoadBalancers 2015-12-01': [
        result('DescribeLoadBalancers', `<LoadBalancers>${balancer('arn-1', 'vpc-2')}</LoadBalancers>`),
      ],
    })
    assert.deepEqual(await findNetwork(ask, base, { cluster: 'demo', vpcId: 'vpc-1' }), [])
    assert.equal(of('DescribeTags').length, 0)
  })

  it('is not guessed from an answer of another form', async () => {
    const { ask } = scripted({ 'DescribeLoadBalancers 2015-12-01': ['<html></html>'] })
    await assert.rejects(findNetwork(ask, base, { cluster: 'demo' }), (error) => isAwsError(error, 'Refused'))
  })

  for (const [tags, expected] of [
    [{ 'kubernetes.io/cluster/demo': 'owned' }, true],
    [{ 'kubernetes.io/cluster/demo': 'shared' }, false],
    [{ 'kubernetes.io/cluster/demo-2': 'owned' }, false],
    [{ 'elbv2.k8s.aws/cluster': 'demo' }, true],
    [{ 'elbv2.k8s.aws/cluster': 'other' }, false],
    [{}, false],
  ] as const)
    it(`${expected ? 'has' : 'does not have'} what is tagged ${JSON.stringify(tags)}`, () =>
      assert.equal(isOwned(tags, 'demo'), expected))

  for (const [what, tags, name, expected] of [
    ['of the AWS Load Balancer Controller', { 'elbv2.k8s.aws/cluster': 'demo' }, 'k8s-traffic-demo', true],
    ['of the cloud controller manager', { 'kubernetes.io/cluster/demo': 'owned' }, 'k8s-elb-a1', true],
    ['that EKS made', { 'kubernetes.io/cluster/demo': 'owned' }, 'eks-cluster-sg-demo-1', false],
    ['of nodes, made by Terraform', { 'kubernetes.io/cluster/demo': 'owned' }, 'demo-node', false],
    ['of a balancer of another cluster', { 'kubernetes.io/cluster/other': 'owned' }, 'k8s-elb-b1', false],
  ] as const)
    it(`${expected ? 'has' : 'does not have'} the security group ${what}`, () =>
      assert.equal(isGroup(tags, name, 'demo'), expected))

  it('takes a security group out of the rules of others before it deletes it', async () => {
    const groups = (element: string) =>
      `<R><securityGroupInfo><item><groupId>sg-nodes</groupId><${element}><item><ipProtocol>tcp</ipProtocol>` +
      `<fromPort>80</fromPort><toPort>81</toPort><groups><item><groupId>sg-1</groupId></item></groups></item>` +
      `<item><ipProtocol>-1</ipProtocol><groups><item><groupId>sg-other</groupId></item></groups></item></${element}></item></securityGroupInfo></R>`
    const { ask, asked } = scripted({
      'DescribeSecurityGroups 2016-11-15': [groups('ipPermissions'), groups('ipPermissionsEgress')],
    })
    await removeNetwork(ask, base, { kind: 'security group', id: 'sg-1' })
    assert.deepEqual(
      asked.map((one) => one.get('Action')),
      [
        'DescribeSecurityGroups',
        'RevokeSecurityGroupIngress',
        'DescribeSecurityGroups',
        'RevokeSecurityGroupEgress',
        'DeleteSecurityGroup',
      ],
    )
    const revoked = Object.fromEntries([...asked[1]!].filter(([name]) => name.startsWith('IpPermissions')))
    assert.deepEqual(revoked, {
      'IpPermissions.1.IpProtocol': 'tcp',
      'IpPermissions.1.FromPort': '80',
      'IpPermissions.1.ToPort': '81',
      'IpPermissions.1.Groups.1.GroupId': 'sg-1',
    })
    assert.equal(asked[1]!.get('GroupId'), 'sg-nodes')
  })

  for (const [kind, action, parameter] of [
    ['load balancer', 'DeleteLoadBalancer', 'LoadBalancerArn'],
    ['classic load balancer', 'DeleteLoadBalancer', 'LoadBalancerName'],
    ['target group', 'DeleteTargetGroup', 'TargetGroupArn'],
    ['network interface', 'DeleteNetworkInterface', 'NetworkInterfaceId'],
  ] as const)
    it(`deletes a ${kind} by ${parameter}, and does not mind one that is gone`, async () => {
      const { ask, asked } = scripted({})
      await removeNetwork(ask, base, { kind, id: 'x-1' })
      assert.deepEqual([asked[0]!.get('Action'), asked[0]!.get(parameter)], [action, 'x-1'])
      const fails = (awsCode: string) => async () => {
        throw new AwsError('Refused', 'no', { awsCode })
      }
      await removeNetwork(fails('TargetGroupNotFound'), base, { kind, id: 'x-1' })
      await removeNetwork(fails('InvalidNetworkInterfaceID.NotFound'), base, { kind, id: 'x-1' })
      await assert.rejects(removeNetwork(fails('DependencyViolation'), base, { kind, id: 'x-1' }))
    })
})
