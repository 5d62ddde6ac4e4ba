import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, CoreEventKind, clusterKind } from '#api'
import { KubeError } from '#kube'
import { memoryCluster } from '#testing'
import { firstFact, readLeft } from './deletion.ts'

describe('What a deletion waits for', () => {
  for (const [what, message, fact] of [
    ['is the first line of a condition', 'Waiting for EKS\n  more', 'Waiting for EKS'],
    ['is shown without the mark of a list', '* Waiting for A: a\n* Waiting for B', 'Waiting for A: a'],
    ['is empty without a condition', undefined, ''],
  ] as const)
    it(what, () => assert.equal(firstFact(message), fact))
})

describe('What a deletion leaves in the cloud', () => {
  const message = 'AddonDelivery demo: Left behind: instance i-1. delete it by hand, unless it is still needed'
  const deleted = { kind: clusterKind('v1beta2'), namespace: 'default', name: 'demo' }
  const event = (name: string, uid: string, over: object = {}) =>
    ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'default', name },
      type: 'Warning',
      reason: 'LeftBehind',
      message,
      involvedObject: { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', name: 'demo', uid },
      ...over,
    }) as unknown as AnyObject
  const { seed, others } = memoryCluster({})
  for (const [name, uid, over] of [
    ['first', 'u-1', {}],
    ['repeated', 'u-1', {}],
    ['of-another-reason', 'u-1', { reason: 'Deleted', message: 'x' }],
    ['of-one-before', 'u-0', { message: 'Left behind: instance i-0' }],
  ] as const)
    seed(CoreEventKind, event(name, uid, over))

  it('is read from the Events of that Cluster, each report once, and of none of the same name before', async () =>
    assert.deepEqual(await readLeft(deleted, 'u-1', { objects: others }), [message]))

  it('is not known where Events may not be read', async () => {
    const forbidden = () => Promise.reject(new KubeError('Forbidden', 'events is forbidden'))
    const list = () => ({ [Symbol.asyncIterator]: () => ({ next: forbidden }) })
    assert.deepEqual(await readLeft(deleted, 'u-1', { objects: { ...others, list } as never }), [])
  })
})
