// An embedded home of the shipped program whose AWS is moto: what a test applies to it and observes of it.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { type AnyObject, conditionOf, type KindRef, type Secret, SecretKind } from '#api'
import { type Connection, connect, loadKubeconfig } from '#kube'
import { type Shipped, type UpHome, waitUntil } from '../../shipped/support.ts'
import type { Moto } from './moto.ts'

export const REGION = 'eu-west-1'
const TIMEOUT_MS = 180_000

export interface AwsHome extends UpHome {
  readonly connection: Connection
  apply(manifests: readonly object[]): Promise<void>
  get<T extends AnyObject>(kind: KindRef, name: string): Promise<T | undefined>
  remove(kind: KindRef, name: string): Promise<void>
  untilCondition(kind: KindRef, name: string, type: string): Promise<void>
  untilGone(kind: KindRef, name: string): Promise<void>
  /** The token in the kubeconfig Secret of a cluster. */
  tokenOf(cluster: string): Promise<string>
}

export async function openAwsHome(
  shipped: Shipped,
  moto: Moto,
  data: string,
  env: Readonly<Record<string, string>>,
): Promise<AwsHome> {
  const up = await shipped.up(data, [], { env: { ...env, AWS_ENDPOINT_URL: moto.url, AWS_REGION: REGION } })
  const connection = connect(await loadKubeconfig({ path: up.kubeconfig }))
  const keyOf = (name: string) => ({ namespace: 'default', name })
  const get: AwsHome['get'] = (kind, name) => connection.objects.get(kind, keyOf(name))
  return {
    ...up,
    connection,
    get,
    remove: async (kind, name) => void (await connection.objects.delete(kind, keyOf(name))),
    async apply(manifests) {
      const file = join(shipped.folder, `${data}.yaml`)
      writeFileSync(file, manifests.map((manifest) => stringify(manifest)).join('---\n'))
      await shipped.captOk(['apply', '-f', file, '--kubeconfig', up.kubeconfig], { timeoutMs: 60_000 })
    },
    async untilCondition(kind, name, type) {
      let last: AnyObject | undefined
      await waitUntil(
        `${type} of ${kind.kind} ${name}`,
        async () => {
          last = await get(kind, name)
          return last !== undefined && conditionOf(last as never, type)?.status === 'True'
        },
        TIMEOUT_MS,
        () => `${JSON.stringify(last?.['status' as never], null, 1)}\n${up.err().slice(-3000)}`,
      )
    },
    untilGone: (kind, name) =>
      waitUntil(
        `the end of ${kind.kind} ${name}`,
        async () => (await get(kind, name)) === undefined,
        TIMEOUT_MS,
        () => up.err().slice(-4000),
      ),
    async tokenOf(cluster) {
      const secret = await get<Secret>(SecretKind, `${cluster}-kubeconfig`)
      const text = Buffer.from(secret?.data?.['value'] ?? '', 'base64').toString()
      return /token: (\S+)/.exec(text)?.[1] ?? assert.fail(`the kubeconfig of ${cluster} has no token: ${text}`)
    },
  }
}

/** moto loads a service when it is first asked, which on a busy machine may take longer than the program waits for AWS. */
export const warmUp = (moto: Moto): Promise<unknown> =>
  Promise.all([
    moto.query('sts', REGION, { Action: 'GetCallerIdentity', Version: '2011-06-15' }),
    moto.query('ec2', REGION, { Action: 'DescribeInstances', Version: '2016-11-15' }),
    moto.query('elasticloadbalancing', REGION, { Action: 'DescribeLoadBalancers', Version: '2015-12-01' }),
    ...[REGION, 'us-east-1'].map((region) =>
      fetch(moto.url, {
        method: 'POST',
        headers: {
          ...moto.headersFor('tagging', region),
          'content-type': 'application/x-amz-json-1.1',
          'x-amz-target': 'ResourceGroupsTaggingAPI_20170126.GetResources',
        },
        body: '{}',
      }).then((answer) => answer.text()),
    ),
  ])

interface ClusterOptions {
  readonly labels?: object
  readonly infra?: object
  readonly plane?: object
}

/** A Cluster in a VPC that exists, with a control plane of the template `moto-eks`. */
export function clusterInMoto(
  name: string,
  { labels = {}, infra = {}, plane = {} }: ClusterOptions = {},
): readonly object[] {
  const metadata = { name, namespace: 'default' }
  const ref = (group: string, kind: string) => ({ apiVersion: `${group}.cluster.x-k8s.io/v1beta1`, kind, name })
  const infrastructureRef = ref('infrastructure', 'CAPTCluster')
  const controlPlaneRef = ref('controlplane', 'CAPTControlPlane')
  return [
    {
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      kind: 'Cluster',
      metadata: { ...metadata, labels },
      spec: { infrastructureRef, controlPlaneRef },
    },
    {
      apiVersion: infrastructureRef.apiVersion,
      kind: infrastructureRef.kind,
      metadata,
      spec: { region: REGION, existingVpcId: 'vpc-0123456789abcdef0', ...infra },
    },
    {
      apiVersion: controlPlaneRef.apiVersion,
      kind: controlPlaneRef.kind,
      metadata,
      spec: { version: 'v1.35.0', workspaceTemplateRef: { name: 'moto-eks' }, ...plane },
    },
  ]
}
