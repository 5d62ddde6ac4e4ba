// The machines of a cluster in AWS: which tags are asked for, where, and with whose credentials.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CAPTCluster, CAPTControlPlane, clusterKind, SecretKind, WorkspaceTemplateApply } from '#api'
import type { AwsIdentity, ClusterNetwork, Ec2, TaggedVolume } from '#aws'
import { isCaptError } from '#lib'
import { memoryCluster } from '#testing'
import { awsInstances, eitherInstances } from '../../../src/controllers/shared/aws/instances.ts'
import { createMemoryInformers } from '../../../src/testing/memory/informers.ts'
import { planted } from '../../support/secrets/planted.ts'

const cluster = { namespace: 'shop', name: 'demo' }
const base64 = (text: string) => Buffer.from(text).toString('base64')

interface Asked {
  readonly what: string
  readonly identity: AwsIdentity
  readonly region: string
  readonly of: unknown
}

async function open(
  apply: { readonly spec?: object; readonly status?: object } | 'gone' = {},
  connection: Readonly<Record<string, string>> = {},
  given: { readonly infra?: object; readonly planeStatus?: object } = {},
) {
  const { objects, storage } = memoryCluster()
  const asked: Asked[] = []
  const volumes: TaggedVolume[] = []
  const note =
    <T>(what: string, answer: T) =>
    async (identity: AwsIdentity, region: string, of: unknown): Promise<T> => {
      asked.push({ what, identity, region, of })
      return answer
    }
  const aws: Ec2 & ClusterNetwork = {
    findMachines: note('machines', [{ id: 'i-1', state: 'running', tags: { 'karpenter.sh/nodepool': 'default' } }]),
    findVolumes: note('volumes', volumes),
    terminateMachines: note('terminate', undefined),
    findInstanceProfiles: note('profiles', ['demo_1']),
    findNetwork: note('network', [{ kind: 'load balancer', id: 'arn-1', vpcId: 'vpc-1' }]),
    removeNetwork: note('remove', undefined),
  }
  const cache = createMemoryInformers(storage, 'sync')
  cache.register(clusterKind('v1beta2'))
  cache.register(CAPTControlPlane)
  cache.start()
  await cache.synced()
  await objects.create(clusterKind('v1beta2'), {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: cluster,
    spec: {
      controlPlaneRef: { apiGroup: CAPTControlPlane.group, kind: CAPTControlPlane.kind, name: 'plane' },
      infrastructureRef: { apiGroup: CAPTCluster.group, kind: CAPTCluster.kind, name: 'infra' },
    },
  } as never)
  if (given.infra)
    storage.seed(CAPTCluster, {
      apiVersion: CAPTCluster.apiVersion,
      kind: CAPTCluster.kind,
      metadata: { namespace: 'shop', name: 'infra' },
      ...given.infra,
    } as never)
  await objects.create(CAPTControlPlane, {
    apiVersion: CAPTControlPlane.apiVersion,
    kind: CAPTControlPlane.kind,
    metadata: { namespace: 'shop', name: 'plane' },
    spec: { version: '1.35', workspaceTemplateRef: { name: 'eks' } },
  } as never)
  if (given.planeStatus)
    await objects.patch(
      CAPTControlPlane,
      { namespace: 'shop', name: 'plane' },
      { type: 'merge', body: { status: given.planeStatus } },
      { subresource: 'status' },
    )
  if (apply !== 'gone')
    await objects.create(WorkspaceTemplateApply, {
      apiVersion: WorkspaceTemplateApply.apiVersion,
      kind: WorkspaceTemplateApply.kind,
      metadata: { namespace: 'shop', name: 'demo-eks-controlplane-apply' },
      spec: {
        templateRef: { name: 'eks' },
        variables: { region: 'us-gov-west-1', cluster_name: 'shop-demo' },
        writeConnectionSecretToRef: { name: 'demo-eks-connection' },
        ...apply.spec,
      },
    } as never)
  if (apply !== 'gone' && apply.status)
    await objects.patch(
      WorkspaceTemplateApply,
      { namespace: 'shop', name: 'demo-eks-controlplane-apply' },
      { type: 'merge', body: { status: apply.status } },
      { subresource: 'status' },
    )
  const secret = async (name: string, data: Readonly<Record<string, string>>) =>
    await objects.create(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'shop', name },
      data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)])),
    } as never)
  await secret('demo-eks-connection', connection)
  const instances = awsInstances({ objects, cache, clusterApi: 'v1beta2', aws })
  return { instances, asked, volumes, secret, cache }
}

describe('the machines of a cluster in AWS', () => {
  it('are asked for by the name, region and credentials that the control plane was made with', async () => {
    const values = { assume_role_arn: 'arn:aws-us-gov:iam::123456789012:role/capt', assume_role_external_id: 'x-1' }
    const { instances, asked, secret } = await open({ spec: { credentialsRef: { name: 'shop-aws' }, values } })
    await secret('shop-aws', { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: planted('keys') })
    assert.deepEqual(await instances.list(cluster), [{ id: 'i-1', nodePool: 'default' }])
    assert.deepEqual(asked, [
      {
        what: 'machines',
        identity: {
          keys: { accessKeyId: 'AKID', secretAccessKey: planted('keys') },
          role: { arn: values.assume_role_arn, externalId: 'x-1' },
        },
        region: 'us-gov-west-1',
        of: { 'kubernetes.io/cluster/shop-demo': 'owned', 'karpenter.sh/nodepool': true },
      },
    ])
  })

  it('are asked for by the name that EKS answered with, when the template chose another', async () => {
    const { instances, asked } = await open({ status: { outputs: { cluster_name: 'chosen' } } })
    await instances.list(cluster)
    assert.deepEqual(Object.keys(asked[0]!.of as object)[0], 'kubernetes.io/cluster/chosen')
    assert.deepEqual(asked[0]!.identity, {}, 'without an identity of its own: that of capt')
  })

  it('are terminated where they were found', async () => {
    const { instances, asked } = await open()
    await instances.terminate(cluster, ['i-1'])
    assert.deepEqual(asked, [{ what: 'terminate', identity: {}, region: 'us-gov-west-1', of: ['i-1'] }])
  })

  it('leave disks behind: those of claims, and those that no machine takes along', async () => {
    const { instances, volumes, asked } = await open()
    assert.deepEqual(await instances.profiles?.(cluster), ['demo_1'])
    assert.deepEqual(asked.at(-1), { what: 'profiles', identity: {}, region: 'us-gov-west-1', of: 'shop-demo' })
    volumes.push(
      { id: 'vol-root', goesWithMachine: true, tags: {} },
      { id: 'vol-claim', goesWithMachine: true, tags: { 'ebs.csi.aws.com/cluster': 'true' } },
      { id: 'vol-free', goesWithMachine: false, tags: {} },
    )
    assert.deepEqual(await instances.volumes?.(cluster), ['vol-claim', 'vol-free'])
  })

  for (const [what, infra, isRemovable] of [
    ['may be removed when they are in the VPC of the cluster', { spec: {}, status: { vpcId: 'vpc-1' } }, true],
    ['are only reported when the VPC of the cluster is not known', { spec: {} }, false],
  ] as const)
    it(`leave load balancers behind, which ${what}`, async () => {
      const { instances, asked } = await open({}, {}, { infra })
      const found = await instances.network!(cluster)
      assert.deepEqual(found, [{ kind: 'load balancer', id: 'arn-1', isRemovable }])
      assert.deepEqual(asked[0]!.of, { cluster: 'shop-demo', ...(isRemovable ? { vpcId: 'vpc-1' } : {}) })
    })

  it('are not asked for when the template brings its own kubeconfig: it is no EKS cluster', async () => {
    const { instances, asked } = await open({}, { kubeconfig: 'apiVersion: v1' })
    assert.deepEqual(await instances.list(cluster), [])
    assert.equal(await instances.network!(cluster), undefined)
    await instances.terminate(cluster, ['i-1'])
    assert.deepEqual(asked, [])
  })

  const began = { kubeconfig: { expiresAt: '2026-01-01T00:15:00Z' } }
  for (const [what, apply] of [
    ['the apply of the control plane is gone', 'gone'],
    ['it has no region', { spec: { variables: {} } }],
  ] as const)
    it(`are asked for in the region of the CAPTCluster when ${what}`, async () => {
      const infra = {
        spec: { region: 'eu-west-1', clusterName: 'shop-demo', identity: { roleArn: 'arn:aws:iam::1:role/capt' } },
      }
      const { instances, asked } = await open(apply, {}, { infra, planeStatus: began })
      await instances.list(cluster)
      assert.equal(asked[0]!.region, 'eu-west-1')
      if (apply === 'gone') {
        assert.deepEqual(asked[0]!.identity, { role: { arn: 'arn:aws:iam::1:role/capt' } })
        assert.deepEqual(Object.keys(asked[0]!.of as object)[0], 'kubernetes.io/cluster/shop-demo')
      }
    })

  it('are none when its apply is gone and EKS never answered', async () => {
    const { instances, asked } = await open('gone', {}, { infra: { spec: { region: 'eu-west-1' } } })
    assert.deepEqual(await instances.list(cluster), [])
    assert.deepEqual(asked, [])
  })

  for (const [what, apply] of [
    ['the apply of the control plane is gone', 'gone'],
    ['it has no region', { spec: { variables: {} } }],
  ] as const)
    it(`are not claimed to be none when ${what} and nothing names a region`, async () => {
      const { instances } = await open(apply, {}, { planeStatus: began })
      await assert.rejects(instances.list(cluster), (error) => isCaptError(error, 'CAPT_AWS_PLACE_UNKNOWN'))
    })

  it('of a cluster that is not there are none', async () => {
    const { instances, asked } = await open()
    assert.deepEqual(await instances.list({ namespace: 'shop', name: 'nobody' }), [])
    assert.deepEqual(asked, [])
  })
})

describe('an embedded home', () => {
  it('terminates each machine in the cloud that has it', async () => {
    const cloud = (...ids: string[]) => {
      const gone: string[] = []
      return {
        gone,
        list: async () => ids.map((id) => ({ id })),
        terminate: async (_: unknown, some: readonly string[]) => void gone.push(...some),
      }
    }
    const simulated = cloud('sim-1')
    const real = cloud('i-1')
    const both = eitherInstances(simulated, real)
    assert.deepEqual(await both.list(cluster), [{ id: 'sim-1' }])
    await both.terminate(cluster, ['sim-1', 'i-1'])
    assert.deepEqual([simulated.gone, real.gone], [['sim-1'], ['i-1']])
    assert.deepEqual(await eitherInstances(cloud(), real).list(cluster), [{ id: 'i-1' }])
  })
})
