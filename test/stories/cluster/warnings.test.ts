// Failures of every part of a Cluster are Warnings on the part and on the Cluster, with their cause.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply } from '#api'
import { addonsWorld } from '../../support/addons/world.ts'
import {
  aCluster,
  applyAll,
  ClusterKind,
  type ClusterWorldOptions,
  clusterWorld,
  fakeAws,
} from '../../support/cluster/world.ts'

const ends: (() => Promise<unknown>)[] = []
after(async () => {
  for (const end of ends) await end()
})

async function open(options: ClusterWorldOptions = {}) {
  const world = await clusterWorld(options)
  ends.push(() => world.stop())
  const warnings = (about: string) =>
    world.events.filter((event) => event.type === 'Warning' && event.about === about).map(({ message }) => message)
  return { ...world, warnings }
}

const FAILURE = {
  kind: 'capacity',
  code: 'CAPT_TF_QUOTA',
  message: 'VpcLimitExceeded',
  hint: 'raise the quota',
} as const

describe('a Warning with its cause', () => {
  it('is on a CAPTCluster and on its Cluster when the VPC cannot be made', async () => {
    const world = await open()
    world.failures.set('demo-vpc', FAILURE)
    await applyAll(world, aCluster('demo'))
    await world.settle()
    assert.deepEqual(world.warnings('CAPTCluster/demo'), ['VpcLimitExceeded. raise the quota'])
    assert.deepEqual(world.warnings('Cluster/demo'), ['CAPTCluster demo: VpcLimitExceeded. raise the quota'])
  })

  it('is on a CAPTControlPlane and on its Cluster when EKS cannot be made', async () => {
    const world = await open()
    world.failures.set('demo-eks-controlplane-apply', FAILURE)
    await applyAll(world, aCluster('demo'))
    await world.settle()
    assert.deepEqual(world.warnings('CAPTControlPlane/demo'), ['VpcLimitExceeded. raise the quota'])
    assert.deepEqual(world.warnings('Cluster/demo'), ['CAPTControlPlane demo: VpcLimitExceeded. raise the quota'])
  })

  it('is there for each attempt to reach an API server that does not answer', async () => {
    const world = await open({ controllers: { reach: async () => 'connection refused' } })
    await applyAll(world, aCluster('demo'))
    await world.settle()
    await world.clock.advance(25_000)
    await world.settle()
    const onPlane = world.warnings('CAPTControlPlane/demo')
    assert.ok(onPlane.length >= 2, `${onPlane.length} attempts`)
    assert.equal(new Set(onPlane).size, 1, 'the same words, so that they are one series')
    assert.match(onPlane[0]!, /^The API server does not answer: connection refused\. check endpointAccess/)
    assert.equal(world.warnings('Cluster/demo').length, onPlane.length)
  })

  it('is there for each attempt to sign for a kubeconfig', async () => {
    const aws = fakeAws({ now: () => 0 })
    aws.failure = new Error('ExpiredToken')
    const world = await open({ aws })
    await applyAll(world, aCluster('demo'))
    await world.settle()
    await world.clock.advance(65_000)
    await world.settle()
    assert.ok(world.warnings('CAPTControlPlane/demo').length >= 2)
    for (const message of world.warnings('Cluster/demo'))
      assert.match(message, /^CAPTControlPlane demo: .*ExpiredToken/)
  })

  it('names every way out when a deletion stopped, also on what owns the apply', async () => {
    const world = await open()
    await applyAll(world, aCluster('demo'))
    await world.settle()
    world.held.add('demo-eks-controlplane-apply')
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    const apply = world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'demo-eks-controlplane-apply')!
    const condition = {
      status: 'True',
      reason: 'RetriesExhausted',
      message: 'it failed',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: apply.metadata.generation,
    }
    const conditions = [
      { ...condition, type: 'Ready', status: 'False' },
      { ...condition, type: 'Stalled' },
    ]
    const body = {
      status: { conditions, lastError: { ...FAILURE, message: 'DependencyViolation', hint: 'detach it' } },
    }
    const key = { namespace: 'default', name: apply.metadata.name }
    await world.cluster.others.patch(WorkspaceTemplateApply, key, { type: 'merge', body }, { subresource: 'status' })
    await world.settle()
    const stalled = world.condition(CAPTControlPlane, 'demo', 'Stalled')
    assert.equal(stalled?.reason, 'ControlPlaneDeletionFailed')
    for (const text of [stalled?.message ?? '', ...world.warnings('Cluster/demo').slice(-1)]) {
      assert.match(text, /DependencyViolation.*detach it.*capt retry demo-eks-controlplane-apply/)
      assert.match(
        text,
        /kubectl patch wtapply demo-eks-controlplane-apply -n default .*"retainWorkspaceOnDelete":true/,
      )
    }
    assert.equal(world.condition(CAPTCluster, 'demo', 'Stalled'), undefined)
  })

  it('is on an AddonDelivery and on its Cluster for every failed attempt of a stage', async () => {
    const world = await addonsWorld()
    ends.push(() => world.close())
    await world.addCluster('demo', { faults: { karpenter: 'crash' } })
    await world.until('two retries', () => (world.stage('demo', 'karpenter')?.attempts ?? 0) >= 2, 12_000)
    const warnings = (about: string) =>
      world.events.filter(
        (event) =>
          event.about === about &&
          event.type === 'Warning' &&
          /^(AddonDelivery \S+: )?Stage karpenter: /.test(event.message),
      )
    assert.ok(warnings('AddonDelivery').length >= 2, JSON.stringify(world.events))
    assert.equal(warnings('Cluster').length, warnings('AddonDelivery').length)
    for (const { message } of warnings('Cluster')) assert.match(message, /CrashLoopBackOff/)
  })
})
