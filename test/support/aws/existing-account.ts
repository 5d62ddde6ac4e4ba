// The AWS side of an EKS cluster that exists before capt comes: network, node group, OIDC provider and cluster in moto.
import assert from 'node:assert/strict'
import { planted } from '../secrets/planted.ts'
import { type Moto, type MotoProgram, startMoto } from './moto.ts'

export const REGION = 'eu-west-1'
export const CLUSTER = 'demo'

export interface ExistingAccount {
  readonly moto: Moto
  /** For commands of a person. */
  readonly env: Readonly<Record<string, string>>
  readonly vpc: string
  readonly subnets: readonly string[]
  ec2(action: string, parameters: Readonly<Record<string, string>>): Promise<string>
  iam(action: string, parameters?: Readonly<Record<string, string>>): Promise<string>
  /** Everything in the account that an installation may touch, by name. */
  account(): Promise<Readonly<Record<string, unknown>>>
}

interface NodeGroup {
  readonly nodegroup: { readonly scalingConfig: object }
}

const TRUST = JSON.stringify({ Version: '2012-10-17', Statement: [] })
const idIn = (xml: string, element: string): string => new RegExp(`<${element}>([^<]+)<`).exec(xml)![1]!

export async function startExistingAccount(program: MotoProgram, cluster = CLUSTER): Promise<ExistingAccount> {
  const moto = await startMoto(program)
  const ec2 = (Action: string, parameters: Readonly<Record<string, string>>) =>
    moto.query('ec2', REGION, { Action, Version: '2016-11-15', ...parameters })
  const iam = (Action: string, parameters: Readonly<Record<string, string>> = {}) =>
    moto.query('iam', 'us-east-1', { Action, Version: '2010-05-08', ...parameters })
  const eks = async (method: string, path: string, body?: object) => {
    const answer = await moto.rest('eks', REGION, method, path, body && JSON.stringify(body))
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    return JSON.parse(text) as Record<string, never>
  }
  const json = async (service: string, target: string) => {
    const headers = {
      ...moto.headersFor(service, REGION),
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': target,
    }
    return (await (await fetch(moto.url, { method: 'POST', headers, body: '{}' })).json()) as Record<string, unknown>
  }

  const vpc = idIn(await ec2('CreateVpc', { CidrBlock: '10.0.0.0/16' }), 'vpcId')
  const subnets: string[] = []
  for (const [i, zone] of ['a', 'b'].entries())
    subnets.push(
      idIn(
        await ec2('CreateSubnet', { VpcId: vpc, CidrBlock: `10.0.${i}.0/24`, AvailabilityZone: `${REGION}${zone}` }),
        'subnetId',
      ),
    )
  await iam('CreateRole', { RoleName: 'nodes', AssumeRolePolicyDocument: TRUST })
  await eks('POST', '/clusters', {
    name: cluster,
    version: '1.35',
    roleArn: 'arn:aws:iam::123456789012:role/eks',
    resourcesVpcConfig: { subnetIds: subnets },
    accessConfig: { authenticationMode: 'API_AND_CONFIG_MAP' },
  })
  await eks('POST', `/clusters/${cluster}/node-groups`, {
    nodegroupName: 'simulated',
    nodeRole: 'arn:aws:iam::123456789012:role/nodes',
    subnets,
    scalingConfig: { minSize: 2, maxSize: 6, desiredSize: 3 },
  })
  for (const addonName of ['coredns', 'vpc-cni']) await eks('POST', `/clusters/${cluster}/addons`, { addonName })
  const { cluster: made } = (await eks('GET', `/clusters/${cluster}`)) as unknown as {
    cluster: { identity: { oidc: { issuer: string } } }
  }
  await iam('CreateOpenIDConnectProvider', {
    Url: made.identity.oidc.issuer,
    'ThumbprintList.member.1': 'a'.repeat(40),
    'ClientIDList.member.1': 'sts.amazonaws.com',
  })

  return {
    moto,
    vpc,
    subnets,
    ec2,
    iam,
    env: {
      AWS_ENDPOINT_URL: moto.url,
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: 'key-of-a-person',
      AWS_SECRET_ACCESS_KEY: planted('/of+a-person'),
    },
    async account() {
      const names = (xml: string, element: string) =>
        [...xml.matchAll(new RegExp(`<${element}>([^<]*)<`, 'g'))].map(([, name]) => name).sort()
      const tags = await ec2('DescribeTags', {})
      return {
        roles: names(await iam('ListRoles', { MaxItems: '1000' }), 'RoleName').filter(
          (name) => !name?.startsWith('AWSServiceRole'),
        ),
        profiles: names(await iam('ListInstanceProfiles'), 'InstanceProfileName'),
        policies: names(await iam('ListPolicies', { Scope: 'Local' }), 'PolicyName'),
        queues: (await json('sqs', 'AmazonSQS.ListQueues'))['QueueUrls'] ?? [],
        rules: (await json('events', 'AWSEvents.ListRules'))['Rules'] ?? [],
        tags: [...tags.matchAll(/<item>.*?<\/item>/gs)].map(([item]) => item.replace(/\s+/g, ' ')).sort(),
        cluster: (await eks('GET', `/clusters/${cluster}`))['cluster'],
        addons: (await eks('GET', `/clusters/${cluster}/addons`))['addons'],
        entries: (await eks('GET', `/clusters/${cluster}/access-entries`))['accessEntries'],
        nodeGroup: ((await eks('GET', `/clusters/${cluster}/node-groups/simulated`)) as unknown as NodeGroup).nodegroup
          .scalingConfig,
        associations: (await eks('GET', `/clusters/${cluster}/pod-identity-associations`))['associations'],
      }
    },
  }
}
