// The life of a cluster against memory: the provider's controllers and core's stand-in run as they do in the embedded
// home; only Terraform and AWS are played. Each bug of the older project (B1 to B15) has a test that would catch it.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  CLUSTER_SECRET_TYPE,
  readCluster,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import {
  aCluster,
  applyAll,
  ClusterKind,
  type ClusterWorld,
  type ClusterWorldOptions,
  clusterWorld,
} from './cluster-world.ts'

const worlds: ClusterWorld[] = []
after(() => Promise.all(worlds.map((world) => world.stop())))

async function begin(options: ClusterWorldOptions = {}): Promise<ClusterWorld> {
  const world = await clusterWorld(options)
  worlds.push(world)
  return world
}

async function ready(
  over: Parameters<typeof aCluster>[1] = {},
  options: ClusterWorldOptions = {},
): Promise<ClusterWorld> {
  const world = await begin(options)
  await applyAll(world, aCluster('demo', over))
  await world.settle()
  return world
}

describe('a cluster', () => {
  it('goes from three manifests to a control plane that Cluster API can use', async () => {
    const world = await ready()
    assert.deepEqual(
      world.ledger.map(({ verb, name }) => `${verb} ${name}`),
      ['apply demo-vpc', 'apply demo-eks-controlplane-apply'],
    )
    const facts = readCluster(world.get(ClusterKind, 'demo')!)
    assert.partialDeepStrictEqual(facts, {
      infrastructureProvisioned: true,
      controlPlaneInitialized: true,
      endpoint: { host: 'demo.eks.test', port: 443 },
    })
    const infra = world.get<CAPTCluster>(CAPTCluster, 'demo')!
    assert.partialDeepStrictEqual(infra.status, {
      ready: true,
      initialization: { provisioned: true },
      vpcId: 'vpc-0demo',
      privateSubnets: ['subnet-a', 'subnet-b'],
      availabilityZones: ['eu-west-1a', 'eu-west-1b'],
    })
    const plane = world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')!
    assert.partialDeepStrictEqual(plane.status, {
      ready: true,
      initialized: true,
      initialization: { controlPlaneInitialized: true },
      externalManagedControlPlane: true,
      version: 'v1.34.0',
      versions: [{ version: 'v1.34.0' }],
      phase: 'Ready',
      secretsReady: true,
      workspaceStatus: { ready: true, atProvider: { outputs: { cluster_name: 'demo' } } },
    })
    for (const [kind, type] of [
      [CAPTCluster, 'Ready'],
      [CAPTCluster, 'VPCReady'],
      [CAPTControlPlane, 'Ready'],
      [CAPTControlPlane, 'Available'],
      [CAPTControlPlane, 'KubeconfigAvailable'],
      [ClusterKind, 'Available'],
    ] as const)
      assert.equal(world.condition(kind, 'demo', type)?.status, 'True', `${kind.kind} ${type}`)
  })

  it('writes the kubeconfig Secret exactly as the contract wants it', async () => {
    const world = await ready()
    const plane = world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')!
    const secret = world.get<Secret>(SecretKind, 'demo-kubeconfig')!
    assert.equal(secret.type, CLUSTER_SECRET_TYPE)
    assert.equal(secret.metadata.labels?.[CLUSTER_NAME_LABEL], 'demo')
    assert.deepEqual(Object.keys(secret.data ?? {}), ['value'])
    assert.partialDeepStrictEqual(secret.metadata.ownerReferences, [
      { kind: 'CAPTControlPlane', uid: plane.metadata.uid, controller: true },
    ])
    const text = Buffer.from(secret.data!['value']!, 'base64').toString()
    assert.match(text, /server: https:\/\/demo\.eks\.test/)
    assert.match(text, /token: k8s-aws-v1\./)
  })

  it('asks for nothing but its watches when it is ready and idle', async () => {
    const world = await ready()
    const before = world.cluster.requests.length
    await world.clock.advance(6 * 60_000)
    assert.deepEqual(world.cluster.requests.slice(before), [])
    void WorkspaceTemplateApply
  })
})
