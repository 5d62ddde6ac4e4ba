import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigMapKind } from '#api'
import { memoryCluster } from '#testing'
import { simulatedLedger } from './ledger.ts'

const CLUSTER = { namespace: 'default', name: 'demo' }
const KEY = { namespace: 'default', name: 'demo-simulated-instances' }
const profile = (id: string) => ({ kind: 'instance profile', id }) as const

describe('The simulated ledger', () => {
  it('is gone when nothing is held any more, and comes back with the next object', async () => {
    const { objects } = memoryCluster()
    const ledger = simulatedLedger(objects, CLUSTER)
    await ledger.hold(profile('a'), profile('b'))
    await ledger.remove('a')
    assert.deepEqual(await ledger.objects(), [profile('b')])
    await ledger.remove('b')
    assert.equal(await objects.get(ConfigMapKind, KEY), undefined)
    assert.deepEqual(await ledger.objects(), [])
    await ledger.remove('b')
    assert.equal(await objects.get(ConfigMapKind, KEY), undefined)
    await ledger.hold(profile('c'))
    assert.deepEqual(await ledger.objects(), [profile('c')])
  })

  it('keeps what another actor adds while the last object is removed', async () => {
    const { objects } = memoryCluster()
    const ledger = simulatedLedger(objects, CLUSTER)
    const interrupted = simulatedLedger(
      {
        ...objects,
        delete: async (...args) => {
          await ledger.hold(profile('late'))
          return await objects.delete(...args)
        },
      },
      CLUSTER,
    )
    await ledger.hold(profile('a'))
    await interrupted.remove('a')
    assert.deepEqual(await ledger.objects(), [profile('late')])
  })
})
