import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CAPTMachine,
  CAPTMachinePool,
  clusterKind,
  type Key,
  type KindRef,
  machineKind,
} from '#api'
import { nodeGroupOf } from './node-group.ts'
import { observeMachine } from './observe.ts'

const cacheOf = (...held: object[]) => ({
  get: <T extends AnyObject>({ kind }: KindRef, { namespace, name }: Key) =>
    (held as AnyObject[]).find(
      (one) => one.kind === kind && one.metadata.namespace === namespace && one.metadata.name === name,
    ) as T,
  list: ({ kind }: KindRef) => (held as AnyObject[]).filter((one) => one.kind === kind),
})
const objectOf = ({ group, version, kind }: KindRef, name: string, rest: object = {}) => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { namespace: 'a', name },
  ...rest,
})

describe('the node group of a machine', () => {
  const machineIn = (namespace: string) => ({
    metadata: { namespace, name: 'm-0' },
    spec: { nodeGroupRef: { namespace: 'a', name: 'workers' } } as never,
  })
  const pool = objectOf(CAPTMachinePool, 'workers')

  it('is missing without a pool and without an apply', () =>
    assert.deepEqual(nodeGroupOf(cacheOf() as never, machineIn('a')), { is: 'missing', ref: 'a/workers' }))

  it('is waited for while its pool waits for the control plane, where the pool allows it', () => {
    const cache = cacheOf(pool) as never
    assert.deepEqual(nodeGroupOf(cache, machineIn('a')), { is: 'waiting', apply: 'CAPTMachinePool workers' })
    assert.deepEqual(nodeGroupOf(cache, machineIn('b')), { is: 'missing', ref: 'a/workers' })
  })
})

describe('the request of a machine under an adopted control plane', () => {
  const refTo = ({ group, kind }: KindRef) => ({ apiGroup: group, kind, name: 'shop' })
  const Cluster = clusterKind('v1beta2')
  const cluster = objectOf(Cluster, 'shop', {
    spec: { infrastructureRef: refTo(CAPTCluster), controlPlaneRef: refTo(CAPTControlPlane) },
    status: { initialization: { controlPlaneInitialized: true } },
  })
  const identity = { roleArn: 'arn:aws:iam::1:role/other', secretRef: { name: 'keys' } }
  const infra = objectOf(CAPTCluster, 'shop', { spec: { region: 'eu-west-1', clusterName: 'shop-eks', identity } })
  const plane = objectOf(CAPTControlPlane, 'shop', {
    spec: { version: '1.35', policy: 'Adopted' },
    status: { version: 'v1.35.0' },
  })
  const spec = { workspaceTemplateRef: { name: 'machine' }, instanceType: 'm7i.large' }
  const machine = objectOf(CAPTMachine, 'm-0', {
    metadata: { namespace: 'a', name: 'm-0', labels: { 'cluster.x-k8s.io/cluster-name': 'shop' } },
    spec,
  })
  const observe = (...held: object[]) =>
    observeMachine(
      {
        cache: cacheOf(...held) as never,
        objects: {} as never,
        workloads: {} as never,
        drains: { get: () => undefined } as never,
        clusterKind: Cluster,
        machineKind: machineKind('v1beta2'),
      },
      machine as never,
      0,
    )

  it('has the name, region and identity of the EKS cluster, and waits for no run', async () => {
    const { request, hasHome, runningVersion } = await observe(cluster, infra, plane)
    assert.deepEqual([hasHome, runningVersion], [true, '1.35'])
    assert.partialDeepStrictEqual(request?.spec, {
      variables: { cluster_name: 'shop-eks', region: 'eu-west-1' },
      values: { assume_role_arn: identity.roleArn },
      credentialsRef: identity.secretRef,
    })
    assert.equal(request?.spec.waitForWorkspaces, undefined)
  })

  it('is not made before the region is known', async () => {
    const { hasHome, request } = await observe(cluster, plane)
    assert.deepEqual([hasHome, request], [false, undefined])
  })
})
