// Clusters change their home: from one embedded home to another, with real Terraform state. What Terraform makes and
// destroys is written down by its own provisioners, so that nothing can be destroyed unseen.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import {
  AddonDelivery,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  ConfigMapKind,
  type KindRef,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { startApiServer } from '#apiserver'
import type { Clock } from '#lib'
import { pushedClock } from '../../support/cluster/story-clock.ts'
import { storyCluster, storyTemplates } from '../../support/cluster/story-manifests.ts'
import {
  applies,
  ClusterKind,
  isTrue,
  readLedger,
  type StoryHome,
  storyHome,
  terraform,
} from '../../support/cluster/story-world.ts'

const undo: (() => Promise<unknown> | unknown)[] = []
after(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function aHome(clock?: Clock): Promise<StoryHome> {
  const world = await storyHome(clock ? { clock } : {})
  undo.push(() => world.stop())
  return world
}

/** An API server that belongs to neither home: what EKS is in earnest. */
async function aWorkload() {
  const folder = mkdtempSync(join(tmpdir(), 'capt-workload-'))
  const server = await startApiServer({ dataDir: join(folder, 'home') })
  undo.push(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { folder, server }
}

async function namesOf({ home }: StoryHome, kind: KindRef): Promise<readonly string[]> {
  const names: string[] = []
  for await (const { metadata } of home.objects.list<AnyObject>(kind, { namespace: 'default' }))
    names.push(metadata.name)
  return names.sort()
}

const isReady = (object: AnyObject) => isTrue(object, 'Ready')
const LONG_WAIT = { seconds: 240 }
const fluxOf = (object: AnyObject) => (object as AddonDelivery).status?.stages?.find(({ name }) => name === 'flux')
const isFluxWell = (object: AnyObject) => isReady(object) && fluxOf(object)?.state === 'Healthy'
const isFluxMissing = (object: AnyObject) => fluxOf(object)?.reason === 'ObjectsMissing'

describe('a move from one embedded home to another', () => {
  it('runs nothing, destroys nothing, and leaves nothing behind', { timeout: 180_000 }, async () => {
    const { folder, server } = await aWorkload()
    const ledger = join(folder, 'ledger')
    const here = await aHome()
    const there = await aHome()
    await here.apply(storyTemplates(terraform ? ledger : undefined, server))
    await here.apply(storyCluster('shop', { labels: {} }))
    await here.until(ClusterKind, 'shop', (cluster) => isTrue(cluster, 'Available'))
    const runs = async (world: StoryHome) =>
      (await applies(world)).map(({ metadata, status }) => `${metadata.name} ${status?.run?.id}`)
    const before = await runs(here)
    const made = ['create vpc shop-vpc', 'create cluster shop']
    if (terraform) assert.deepEqual(readLedger(ledger), made)

    const moved = await here.capt('move', 'shop', '--to-kubeconfig', there.kubeconfig, '--yes')
    assert.equal(moved.code, 0, moved.stderr)
    await there.until(CAPTControlPlane, 'shop', isReady)
    await there.until(CAPTCluster, 'shop', isReady)
    await there.until(ClusterKind, 'shop', (cluster) => isTrue(cluster, 'Available'))
    assert.deepEqual(await runs(there), before, 'no run was needed')
    await here.untilGone(ClusterKind, 'shop')
    for (const kind of [
      ClusterKind,
      CAPTCluster,
      CAPTControlPlane,
      WorkspaceTemplateApply,
      WorkspaceTemplate,
      SecretKind,
    ])
      assert.deepEqual(await namesOf(here, kind), [], kind.kind)

    // Asked for by a person, a run there finds its state and nothing to do.
    for (const name of ['shop-vpc', 'shop-eks-controlplane-apply']) {
      const asked = await there.capt('retry', name)
      assert.equal(asked.code, 0, asked.stderr)
      const last = before.find((text) => text.startsWith(`${name} `))
      const apply = await there.until<WorkspaceTemplateApply>(
        WorkspaceTemplateApply,
        name,
        (found) => `${name} ${found.status?.run?.id}` !== last && isReady(found),
      )
      const { add, change, destroy } = apply.status?.plan ?? {}
      assert.deepEqual({ add, change, destroy }, { add: 0, change: 0, destroy: 0 }, name)
    }
    if (terraform) assert.deepEqual(readLedger(ledger), made)

    const deleted = await there.capt('delete', 'cluster', 'shop', '--yes')
    assert.equal(deleted.code, 0, deleted.stderr)
    await there.untilGone(ClusterKind, 'shop')
    if (terraform)
      assert.deepEqual(readLedger(ledger), [...made, 'destroy cluster shop', 'destroy vpc shop-vpc'], 'in this order')
  })

  it('takes a simulated workload to the one that the new home plays', { timeout: 180_000 }, async () => {
    const here = await aHome()
    const there = await aHome()
    await here.apply(storyTemplates(undefined))
    await here.apply(storyCluster('shop'))
    await here.until(ClusterKind, 'shop', (cluster) => isTrue(cluster, 'Available'))
    const moved = await here.capt('move', '--to-kubeconfig', there.kubeconfig, '--yes')
    assert.equal(moved.code, 0, moved.stderr)
    await there.until<CAPTControlPlane>(
      CAPTControlPlane,
      'shop',
      (plane) => isReady(plane) && JSON.stringify(plane.status?.workspaceStatus).includes(new URL(there.home.url).host),
    )
    await there.until(ClusterKind, 'shop', (cluster) => isTrue(cluster, 'Available'))
    const vpc = await there.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'shop-vpc')
    assert.equal(vpc?.status?.attempts ?? 1, 1)
    await here.untilGone(SecretKind, 'shop-simulated-workload')
    assert.deepEqual(await namesOf(here, SecretKind), [])
    assert.deepEqual(await namesOf(here, ConfigMapKind), [])
  })

  it('brings the add-ons to the workload that the new home plays', { timeout: 900_000 }, async () => {
    const clock = pushedClock()
    const here = await aHome()
    const there = await aHome(clock)
    const labels = { 'capt.appthrust.com/simulation': 'workload', 'fluxcd.io/enabled': 'true' }
    const ledger = join(here.folder, 'ledger')
    await here.apply(storyTemplates(terraform ? ledger : undefined))
    await here.apply(storyCluster('shop', { labels }))
    await here.until(AddonDelivery, 'shop', isFluxWell, LONG_WAIT)
    const before = new Map((await applies(here)).map(({ metadata, status }) => [metadata.name, status?.run?.id]))
    const made = readLedger(ledger)
    const moved = await here.capt('move', '--to-kubeconfig', there.kubeconfig, '--yes')
    assert.equal(moved.code, 0, moved.stderr)
    await there.until<CAPTControlPlane>(
      CAPTControlPlane,
      'shop',
      (plane) => isReady(plane) && JSON.stringify(plane.status?.workspaceStatus).includes(new URL(there.home.url).host),
      LONG_WAIT,
    )
    // The binding that came along says that everything is applied; the workload here has nothing of it.
    await there.until(AddonDelivery, 'shop', isFluxMissing, LONG_WAIT)
    await clock.push(60_000)
    const delivery = await there.until<AddonDelivery>(AddonDelivery, 'shop', isFluxWell, LONG_WAIT)
    assert.equal(delivery.status?.stages?.[0]?.redelivery?.[0]?.times, 1)
    for (const { metadata, status } of await applies(there)) {
      if (status?.run?.id === before.get(metadata.name)) continue
      const { add, change, destroy } = status?.plan ?? {}
      assert.deepEqual({ add, change, destroy }, { add: 0, change: 0, destroy: 0 }, metadata.name)
    }
    assert.deepEqual(readLedger(ledger), made, 'Terraform made and destroyed nothing')
  })
})
