// An upgrade of capt itself: the data folder that commit ededa56 left behind is opened by the program as it ships. Nothing
// is run, everything is readable, manifests of then and now apply, and deletion leaves nothing.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type RunRecord, readRecord } from '#engine'
import { connect, loadKubeconfig } from '#kube'
import { findTool, run } from '../../support/tools.ts'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const FIXTURE = join(import.meta.dirname, '..', '..', 'support', 'fixtures', 'home-ededa56', 'home.tar.gz')
const PORT = 19_911
const APPLIES = ['demo-eks-controlplane-apply', 'demo-vpc'] as const
const TIMEOUT_MS = 180_000
const missing = ['terraform', 'kubectl', 'tar'].filter((tool) => !findTool(tool))

describe('a home of an earlier version', { skip: missing.length > 0 && `not installed: ${missing.join(', ')}` }, () => {
  let shipped: Shipped
  let home: UpHome
  let left: ReadonlyMap<string, RunRecord>

  before(async () => {
    shipped = shippedProgram()
    const { code, err } = await run('tar', ['-xzf', FIXTURE, '-C', shipped.folder])
    assert.equal(code, 0, err)
    left = recordsInFolder(join(shipped.folder, 'home', 'runs', 'workspaces'))
    await waitUntil(`port ${PORT} to be free`, () => isFree(PORT))
    home = await shipped.up()
  })
  after(() => shipped.end())

  const capt = (...args: readonly string[]) =>
    shipped.captOk([...args, '--kubeconfig', home.kubeconfig], { timeoutMs: TIMEOUT_MS })
  const kubectl = async (kubeconfig: string, ...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await shipped.kubectl(kubeconfig, args)
    assert.equal(code, 0, err)
    return out.trim()
  }
  const recordOf = async (name: string): Promise<RunRecord> => {
    const { objects, close } = connect(await loadKubeconfig({ path: home.kubeconfig }))
    try {
      return (await readRecord(objects, { namespace: 'default', name }))!.record
    } finally {
      await close()
    }
  }
  const untilReady = () =>
    waitUntil(
      'the cluster to be ready',
      async () => {
        const tree = await capt('describe', 'cluster', 'demo')
        return (
          /^Cluster\/demo +ready/m.test(tree) && /AddonDelivery\/demo +ready +flux .*karpenter .*node-pool/.test(tree)
        )
      },
      TIMEOUT_MS,
      () => home.err().slice(-3000),
    )
  const assertNothingRun = async () => {
    for (const name of APPLIES) {
      const record = await recordOf(name)
      const { run: before, state, applied } = left.get(name)!
      assert.deepEqual(
        [record.run?.id, record.run?.phase, record.state, record.applied, record.history.length],
        [before?.id, 'Succeeded', state, applied, 1],
        name,
      )
    }
  }

  it('is served where it was served, with its Secrets encrypted from now on', async () => {
    assert.equal(home.url, `https://127.0.0.1:${PORT}`)
    assert.ok(existsSync(join(home.dataDir, 'encryption.key')))
  })

  it('is ready with nothing run, and its kubeconfigs work', async () => {
    await untilReady()
    await assertNothingRun()
    const workload = join(shipped.folder, 'workload')
    writeFileSync(workload, await capt('kubeconfig', 'demo', '--token'), { mode: 0o600 })
    assert.match(await kubectl(workload, 'get', 'deployments', '-A', '-o', 'name'), /karpenter/)
  })

  it('has records, states and inputs that can be read, and plans nothing', async () => {
    assert.match(await capt('doctor'), /Nothing was found/)
    assert.match(await capt('logs', 'demo-vpc'), /Apply complete! Resources: 9 added/)
    for (const name of APPLIES) {
      const { serial, lineage } = left.get(name)!.state!
      assert.match(await capt('state', 'list', name), new RegExp(`^ +${serial} .*holds, lineage ${lineage}`, 'm'))
    }
    const plans = JSON.parse(await capt('plan', 'demo', '-o', 'json')) as { plan: { changes: unknown[] } }[]
    assert.deepEqual(
      plans.map(({ plan }) => plan.changes),
      [[], []],
    )
    await assertNothingRun()
  })

  it('takes its own manifests again without a change', async () => {
    const printed = await capt('apply', '-f', 'simulation.yaml')
    assert.deepEqual(verbs(printed), Array(5).fill('unchanged'))
    await assertNothingRun()
  })

  it('takes the manifests of today: one run of each template, which changes addresses and outputs alone', async () => {
    const today = join(shipped.folder, 'program', 'dist', 'program', 'simulation.yaml')
    const printed = await capt('apply', '-f', today, '--wait', '2m')
    assert.deepEqual(verbs(printed).toSorted(), [...Array(2).fill('changed'), ...Array(3).fill('unchanged')])
    const plane = await recordOf('demo-eks-controlplane-apply')
    assert.deepEqual(plane.history.length, 2)
    assert.deepEqual(plane.run?.plan, { add: 0, change: 0, destroy: 0, replace: 0, moved: 4 })
    assert.equal(plane.state?.resources, left.get('demo-eks-controlplane-apply')!.state!.resources)
    const network = await recordOf('demo-vpc')
    assert.equal(network.history.length, 2)
    assert.deepEqual(network.run?.plan, { add: 0, change: 0, destroy: 0, replace: 0 })
    await untilReady()
  })

  it('is deleted with nothing left', async () => {
    await capt('delete', 'cluster', 'demo', '--yes')
    const kinds = 'cluster,captcluster,captcontrolplane,wtapply,addondelivery,clusterresourceset,secret'
    assert.equal(await kubectl(home.kubeconfig, 'get', kinds, '-o', 'name'), '')
    assert.deepEqual(readdirSync(join(home.dataDir, 'runs', 'workspaces')), [])
  })
})

/** The last word of each line that `capt apply` prints. */
const verbs = (printed: string): readonly string[] =>
  printed.split('\n').flatMap((line) => /^\w+\/\S+ (\w+)$/.exec(line)?.[1] ?? [])

/** The record of each workspace as the runner last reported it. */
function recordsInFolder(folder: string): ReadonlyMap<string, RunRecord> {
  const found = APPLIES.map((name) => {
    const workspace = readdirSync(folder).find((entry) => entry.startsWith(name))!
    const { record } = JSON.parse(readFileSync(join(folder, workspace, 'report.json'), 'utf8')) as { record: RunRecord }
    return [name, record] as const
  })
  return new Map(found)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
