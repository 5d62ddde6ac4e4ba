// An EKS cluster that exists before capt comes: network, node group, OIDC provider and cluster in moto; its Kubernetes API
// is the embedded one with a simulated workload, in which Flux runs unless the test asks for a cluster without.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  CustomResourceDefinitionKind,
  DeploymentKind,
  NamespaceKind,
  type Secret,
  SecretKind,
  type UnknownObject,
} from '#api'
import { loadFluxDefinitions } from '#catalog'
import type { Objects } from '#kube'
import { type EmbeddedWorld, embeddedWorld } from '../addons/embedded.ts'
import { type EksEndpoint, startEksEndpoint } from './eks-endpoint.ts'
import { type Moto, type MotoProgram, startMoto } from './moto.ts'

export const REGION = 'eu-west-1'
export const CLUSTER = 'demo'

export interface ExistingCluster {
  readonly moto: Moto
  readonly world: EmbeddedWorld
  /** Objects of the workload. */
  readonly objects: Objects
  /** The API endpoint that EKS names. */
  readonly endpoint: EksEndpoint
  readonly env: Readonly<Record<string, string>>
  readonly subnets: readonly string[]
  ec2(action: string, parameters: Readonly<Record<string, string>>): Promise<string>
  /** Everything in the account that an installation may touch, by name. */
  account(): Promise<Readonly<Record<string, unknown>>>
  close(): Promise<void>
}

interface NodeGroup {
  readonly nodegroup: { readonly scalingConfig: object }
}

const TRUST = JSON.stringify({ Version: '2012-10-17', Statement: [] })
const idIn = (xml: string, element: string): string => new RegExp(`<${element}>([^<]+)<`).exec(xml)![1]!

export async function startExistingCluster(
  program: MotoProgram,
  folder: string,
  { hasFlux = true } = {},
): Promise<ExistingCluster> {
  const [moto, world] = await Promise.all([startMoto(program), embeddedWorld()])
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
    name: CLUSTER,
    version: '1.35',
    roleArn: 'arn:aws:iam::123456789012:role/eks',
    resourcesVpcConfig: { subnetIds: subnets },
    accessConfig: { authenticationMode: 'API_AND_CONFIG_MAP' },
  })
  await eks('POST', `/clusters/${CLUSTER}/node-groups`, {
    nodegroupName: 'simulated',
    nodeRole: 'arn:aws:iam::123456789012:role/nodes',
    subnets,
    scalingConfig: { minSize: 2, maxSize: 6, desiredSize: 3 },
  })
  for (const addonName of ['coredns', 'vpc-cni']) await eks('POST', `/clusters/${CLUSTER}/addons`, { addonName })
  const { cluster } = (await eks('GET', `/clusters/${CLUSTER}`)) as unknown as {
    cluster: { identity: { oidc: { issuer: string } } }
  }
  await iam('CreateOpenIDConnectProvider', {
    Url: cluster.identity.oidc.issuer,
    'ThumbprintList.member.1': 'a'.repeat(40),
    'ClientIDList.member.1': 'sts.amazonaws.com',
  })

  await world.addCluster(CLUSTER, {}, {})
  const secret = (await world.objects.get<Secret>(SecretKind, { namespace: 'default', name: `${CLUSTER}-kubeconfig` }))!
  const file = join(folder, 'workload-kubeconfig')
  writeFileSync(file, Buffer.from(secret.data!['value']!, 'base64'))
  const endpoint: EksEndpoint = await startEksEndpoint(file)
  moto.standIn.api = { url: endpoint.url, caData: endpoint.caData }
  const objects = await world.workload(CLUSTER)
  if (hasFlux) await bringFlux(objects)
  await bringDeployment(objects, 'kube-system', 'cluster-autoscaler')

  return {
    moto,
    world,
    objects,
    endpoint,
    subnets,
    ec2,
    env: {
      AWS_ENDPOINT_URL: moto.url,
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: 'key-of-a-person',
      AWS_SECRET_ACCESS_KEY: 'secret/of+a-person',
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
        entries: (await eks('GET', `/clusters/${CLUSTER}/access-entries`))['accessEntries'],
        nodeGroup: ((await eks('GET', `/clusters/${CLUSTER}/node-groups/simulated`)) as unknown as NodeGroup).nodegroup
          .scalingConfig,
        associations: (await eks('GET', `/clusters/${CLUSTER}/pod-identity-associations`))['associations'],
      }
    },
    async close() {
      await endpoint.close()
      await world.close()
      await moto.stop()
    },
  }
}

async function bringDeployment(objects: Objects, namespace: string, name: string, labels = {}): Promise<void> {
  await objects.create(DeploymentKind, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace, name, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'manager', image: name }] } },
    },
  } as never)
}

/** Its definitions and two Deployments, which the simulation brings to life. */
async function bringFlux(objects: Objects): Promise<void> {
  const definitions = (await loadFluxDefinitions('2.9.5')) as unknown as readonly UnknownObject[]
  for (const definition of definitions) await objects.create(CustomResourceDefinitionKind, definition as never)
  await objects.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'flux-system' } })
  for (const name of ['source-controller', 'helm-controller'])
    await bringDeployment(objects, 'flux-system', name, { 'app.kubernetes.io/version': 'v2.9.5' })
  const deadline = Date.now() + 60_000
  for (const name of ['source-controller', 'helm-controller'])
    for (;;) {
      const one = await objects.get<UnknownObject>(DeploymentKind, { namespace: 'flux-system', name })
      if ((one as { status?: { availableReplicas?: number } }).status?.availableReplicas === 1) break
      assert.ok(Date.now() < deadline, `${name} does not run`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
}
