import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, NodeKind } from '#api'
import { silentLog } from '#lib'
import { manualClock, memoryCluster } from '#testing'
import { startActors } from '../actors.ts'
import { simulatedLedger } from '../ledger.ts'
import { hasJoined, joinNode } from './nodes.ts'
import type { Node } from './placement.ts'

const node = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } }) as AnyObject

describe('a simulated Node', () => {
  for (const [what, status, expected] of [
    ['without a status', undefined, false],
    ['with resources alone', { allocatable: { cpu: '2' } }, false],
    ['with conditions', { conditions: [] }, true],
  ] as const)
    it(`${what} has ${expected ? '' : 'not '}joined`, () => assert.equal(hasJoined({ ...node('a'), status }), expected))

  it('that was made and got no status is completed', async () => {
    const { objects } = memoryCluster()
    await objects.create(NodeKind, node('a'))
    await joinNode(objects, node('a'), { conditions: [{ type: 'Ready' }] })
    assert.ok(hasJoined(await objects.get<Node>(NodeKind, { name: 'a' })))
  })

  it('of the first node group is completed when the home starts again', async () => {
    const clock = manualClock()
    const workload = memoryCluster({ clock })
    await workload.objects.create(NodeKind, node('simulated-node-2'))
    const actors = await startActors({
      connection: {
        objects: workload.objects,
        events: { emit: () => undefined },
        informers: () => workload.connect().informers,
      },
      ledger: simulatedLedger(memoryCluster({ clock }).others, { namespace: 'default', name: 'demo' }),
      clock,
      log: silentLog,
    })
    try {
      for (const name of ['simulated-node-1', 'simulated-node-2'])
        assert.ok(hasJoined(await workload.objects.get<Node>(NodeKind, { name })), name)
    } finally {
      await actors.stop()
    }
  })
})
