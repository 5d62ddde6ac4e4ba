// Terraform runs of `capt up` that is killed and started again: adopted, cancelled, found at another port, cut off for good.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { readRecord, suffixOf } from '#engine'
import { connect, loadKubeconfig } from '#kube'
import { anApply, aTemplate } from '#testing'
import { findTool } from '../../support/tools.ts'
import { freePort, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const skip = findTool('terraform') ? false : 'terraform is not installed'

describe('a Terraform run of an embedded home', { skip }, () => {
  let shipped: Shipped
  let hold: string
  before(() => {
    shipped = shippedProgram()
    hold = join(shipped.folder, 'hold')
  })
  after(() => shipped.end())

  const KEY = { namespace: 'default', name: 'slow' }
  const withObjects = async <T>(home: UpHome, work: (objects: ReturnType<typeof connect>['objects']) => Promise<T>) => {
    const connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    try {
      return await work(connection.objects)
    } finally {
      await connection.close()
    }
  }
  const recordOf = (home: UpHome) => withObjects(home, async (objects) => (await readRecord(objects, KEY))?.record)

  /** A run that waits as long as the hold is there. */
  async function begin(home: UpHome, command = `while test -f ${hold}; do sleep 0.1; done`): Promise<void> {
    writeFileSync(hold, '')
    const module = `resource "terraform_data" "x" {
  provisioner "local-exec" {
    command = "${command}"
  }
}`
    await withObjects(home, async (objects) => {
      await objects.create(WorkspaceTemplate, aTemplate(module, {}, { name: 'slow' }))
      await objects.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'slow' } }, { name: 'slow' }))
    })
  }
  const untilApplying = (home: UpHome) =>
    waitUntil('the apply', async () => (await recordOf(home))?.run?.phase === 'Apply', 120_000, home.err)
  /** The phase is written before the runner ends. */
  const untilEnded = async (home: UpHome, phase: string) => {
    const isEnded = async () => (await recordOf(home))?.run?.phase === phase && shipped.runners().length === 0
    await waitUntil(phase, isEnded, 120_000, () => home.err().slice(-2000))
  }

  it('goes on over a restart and ends', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const name = `ends-${signal}`
      const first = await shipped.up(name)
      await begin(first)
      await untilApplying(first)
      const { id, runner } = (await recordOf(first))!.run!
      await first.stop(signal)
      assert.deepEqual(shipped.runners(), [runner!.pid])
      const second = await shipped.up(name)
      rmSync(hold)
      await untilEnded(second, 'Succeeded')
      const { run } = (await recordOf(second))!
      assert.deepEqual([run!.id, run!.resumed], [id, 0], 'it was adopted, not begun again')
      await second.stop()
    }
  })

  it('that was adopted is stopped by capt cancel', async () => {
    const first = await shipped.up('cancel')
    await begin(first)
    await untilApplying(first)
    await first.stop('SIGKILL')
    const second = await shipped.up('cancel')
    await shipped.captOk(['cancel', 'slow', '--kubeconfig', second.kubeconfig])
    await untilEnded(second, 'Cancelled')
    await second.stop()
  })

  it('finds a home that came back at another port by its kubeconfig', async () => {
    const first = await shipped.up('moved')
    await begin(first)
    await untilApplying(first)
    await first.stop('SIGKILL')
    rmSync(hold)
    const second = await shipped.up('moved', ['--listen', `127.0.0.1:${await freePort()}`])
    await untilEnded(second, 'Succeeded')
    assert.equal((await recordOf(second))!.run!.resumed, 0)
    await second.stop()
  })

  it('ends when its data folder is gone', async () => {
    const home = await shipped.up('gone')
    await begin(home)
    await untilApplying(home)
    await home.stop('SIGKILL')
    assert.equal(shipped.runners().length, 1)
    rmSync(home.dataDir, { recursive: true, force: true, maxRetries: 5 })
    await waitUntil('the end of runner and Terraform', () => shipped.processes().length === 0, 60_000)
    rmSync(hold, { force: true })
  })

  it('survives a disk that has no room for its log', async () => {
    const home = await shipped.up('full')
    const folder = join(home.dataDir, 'runs', 'workspaces', suffixOf(KEY))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    symlinkSync('/dev/full', join(folder, 'runner.log'))
    await begin(home, 'exit 1')
    // A runner logs that its run failed, and must not end by that before the run is closed.
    await untilEnded(home, 'Failed')
    const { run } = (await recordOf(home))!
    assert.equal(run?.resumed, 0)
    assert.notEqual(run?.fault?.kind, 'lost')
    await home.stop()
  })
})
