// What an AWS account holds of clusters, as moto knows it, in the words of a report: machines, disks, balancers, target
// groups, free interfaces and security groups of one region; roles, policies, instance profiles, queues and rules.
import assert from 'node:assert/strict'
import { nodesAt, parseXml, textAt } from '../../../src/aws/xml.ts'
import type { Moto } from './moto.ts'

type Parameters = Readonly<Record<string, string>>

/** Calls of the services that clusters use, in one region. */
export function callsOf(moto: Moto, region: string) {
  const balancing = (Action: string, Version: string, more: Parameters) =>
    moto.query('elasticloadbalancing', region, { Action, Version, ...more })
  return {
    ec2: (Action: string, more: Parameters = {}) =>
      moto.query('ec2', region, { Action, Version: '2016-11-15', ...more }),
    elb: (Action: string, more: Parameters = {}) => balancing(Action, '2015-12-01', more),
    classic: (Action: string, more: Parameters = {}) => balancing(Action, '2012-06-01', more),
    iam: (Action: string, more: Parameters = {}) =>
      moto.query('iam', 'us-east-1', { Action, Version: '2010-05-08', ...more }),
    sqs: (Action: string, more: Parameters = {}) =>
      moto.query('sqs', region, { Action, Version: '2012-11-05', ...more }),
    async events(action: string, body: object): Promise<string> {
      const answer = await fetch(moto.url, {
        method: 'POST',
        headers: {
          ...moto.headersFor('events', region),
          'content-type': 'application/x-amz-json-1.1',
          'x-amz-target': `AWSEvents.${action}`,
        },
        body: JSON.stringify(body),
      })
      assert.equal(answer.status, 200)
      return await answer.text()
    },
  }
}

/** The texts of all elements of this name. */
export const textsOf = (xml: string, element: string): readonly string[] =>
  [...xml.matchAll(new RegExp(`<${element}>([^<]+)<`, 'g'))].map(([, value]) => value!)

/** Everything that a cluster can leave in the region and in the account, sorted. */
export async function readAccount(moto: Moto, region: string): Promise<readonly string[]> {
  const { ec2, elb, classic } = callsOf(moto, region)
  const running = await ec2('DescribeInstances', {
    'Filter.1.Name': 'instance-state-name',
    'Filter.1.Value.1': 'running',
  })
  const groups = nodesAt(parseXml(await ec2('DescribeSecurityGroups')), 'securityGroupInfo', 'item').filter(
    (group) => textAt(group, 'groupName') !== 'default',
  )
  const free = { 'Filter.1.Name': 'status', 'Filter.1.Value.1': 'available' }
  return [
    ...textsOf(await elb('DescribeLoadBalancers'), 'LoadBalancerArn').map((id) => `load balancer ${id}`),
    ...textsOf(await classic('DescribeLoadBalancers'), 'LoadBalancerName').map((id) => `classic load balancer ${id}`),
    ...textsOf(await elb('DescribeTargetGroups'), 'TargetGroupArn').map((id) => `target group ${id}`),
    ...textsOf(await ec2('DescribeNetworkInterfaces', free), 'networkInterfaceId').map(
      (id) => `network interface ${id}`,
    ),
    ...groups.map((group) => `security group ${textAt(group, 'groupId')}`),
    ...textsOf(running, 'instanceId').map((id) => `instance ${id}`),
    ...new Set(textsOf(await ec2('DescribeVolumes'), 'volumeId').map((id) => `volume ${id}`)),
    ...(await readIdentities(moto, region)),
  ].sort()
}

async function readIdentities(moto: Moto, region: string): Promise<readonly string[]> {
  const { iam, sqs, events } = callsOf(moto, region)
  const { Rules } = JSON.parse(await events('ListRules', {})) as { Rules: { Name: string }[] }
  return [
    ...textsOf(await iam('ListRoles', { MaxItems: '1000' }), 'RoleName').map((name) => `role ${name}`),
    ...textsOf(await iam('ListPolicies', { Scope: 'Local' }), 'PolicyName').map((name) => `policy ${name}`),
    ...textsOf(await iam('ListInstanceProfiles'), 'InstanceProfileName').map((name) => `instance profile ${name}`),
    ...textsOf(await sqs('ListQueues'), 'QueueUrl').map((url) => `queue ${url.split('/').at(-1)}`),
    ...Rules.map(({ Name }) => `rule ${Name}`),
  ]
}
