// An import that is cut off at any write: nothing is at work on an apply without its state, and running it again ends well.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  ALL_KINDS,
  type AnyObject,
  clusterKind,
  type KindRef,
  keyOf,
  LeaseKind,
  PAUSED_ANNOTATION,
  type UnknownObject,
  WorkspaceTemplateApply,
} from '#api'
import { loadState } from '#engine'
import type { Connected, Objects } from '#kube'
import { systemClock } from '#lib'
import { type MemoryCluster, memoryCluster } from '#testing'
import { land } from './land.ts'
import { mapObjects } from './map.ts'
import { apply, make, network, plane, template } from './older-examples.ts'
import { assignStates, readStates } from './states.ts'

const NAMES = ['demo-vpc', 'demo-eks-controlplane', 'bucket']
const stateOf = (lineage: string) => JSON.stringify({ version: 4, serial: 2, lineage, outputs: {}, resources: [] })
const states = NAMES.map(
  (name): UnknownObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `tfstate-${name}-x`, namespace: 'c', labels: { tfstateWorkspace: name } },
    data: { tfstate: gzipSync(stateOf(name)).toString('base64') },
  }),
)
const older = [template('vpc'), make('Cluster', 'demo', { spec: {} }), network(), plane(), apply('bucket-apply')]
const mapped = mapObjects(
  older.map((object) => ({ object })),
  { namespace: 'default' },
)
const assignments = assignStates(mapped.applies, readStates(states), [])
const CLUSTER = clusterKind('v1beta1')

function bring(objects: Objects): Promise<void> {
  const find = async (apiVersion: string, kind: string): Promise<KindRef> =>
    [...ALL_KINDS, CLUSTER].find((one) => one.kind === kind && apiVersion.startsWith(one.group))!
  const to = { objects, namespace: 'default', server: 'https://target' } as unknown as Connected
  return land(mapped, assignments, { to, clock: systemClock, find, report: () => undefined })
}

const WRITES = ['create', 'replace', 'patch', 'apply', 'delete']

/** The same objects, until so many writes were made; then nothing is written any more. */
function cutAfter(objects: Objects, writes: number): Objects {
  let left = writes
  return new Proxy(objects, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name)
      if (typeof found !== 'function') return found
      return (...args: unknown[]) => {
        if (WRITES.includes(String(name)) && left-- <= 0) throw new Error('cut off')
        return (found as (...all: unknown[]) => unknown).apply(target, args)
      }
    },
  })
}

/** An apply on which work may begin has its state. */
async function assertHeld({ objects }: MemoryCluster): Promise<void> {
  for (const { object } of mapped.applies) {
    const key = { namespace: 'default', name: object.metadata.name }
    const there = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key)
    if (!there || there.metadata.annotations?.[PAUSED_ANNOTATION] === 'true') continue
    assert.ok(await loadState(objects, key), `${key.name} has its state`)
  }
}

describe('an import', () => {
  it('brings every state and resumes what it paused', async () => {
    const cluster = memoryCluster()
    await bring(cluster.objects)
    await assertHeld(cluster)
    for (const { object } of mapped.applies) {
      const key = { namespace: 'default', name: object.metadata.name }
      const there = await cluster.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key)
      assert.equal(there?.metadata.annotations?.[PAUSED_ANNOTATION], undefined)
    }
    const found = await cluster.objects.get<UnknownObject>(CLUSTER, { namespace: 'default', name: 'demo' })
    assert.deepEqual(found?.['spec'], { paused: false })
  })

  it('that is cut off at any write leaves nothing at work without its state, and can be run again', async () => {
    let wasCut = true
    let writes = 0
    for (; wasCut; writes++) {
      const cluster = memoryCluster()
      wasCut = await bring(cutAfter(cluster.objects, writes)).then(
        () => false,
        () => true,
      )
      await assertHeld(cluster)
      // A lock of a process that ended is free; this one lives on.
      for await (const lease of cluster.objects.list<AnyObject>(LeaseKind, { namespace: 'default' }))
        await cluster.objects.patch(LeaseKind, keyOf(lease), {
          type: 'merge',
          body: { spec: { holderIdentity: null } },
        })
      await bring(cluster.objects)
      for (const name of ['demo-vpc', 'demo-eks-controlplane-apply', 'bucket-apply'])
        assert.equal(
          await loadState(cluster.objects, { namespace: 'default', name }),
          stateOf(name.replace(/-apply$/, '')),
        )
    }
    assert.ok(writes > 15, `${writes} writes were cut`)
  })
})
