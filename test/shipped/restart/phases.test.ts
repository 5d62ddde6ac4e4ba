// `capt up` is stopped and killed at each phase of the runs, the delivery and the deletion of a simulated cluster, and
// started again with the same command line each time.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type RestartedHome, restartedHome } from '../../support/restarted-home.ts'
import { findTool } from '../../support/tools.ts'
import { type Shipped, shippedProgram, waitUntil } from '../support.ts'

const skip = findTool('terraform') ? false : 'terraform is not installed'

describe('a cluster of a home that is restarted at each phase', { skip }, () => {
  let shipped: Shipped
  let story: RestartedHome
  before(async () => {
    shipped = shippedProgram()
    story = await restartedHome(shipped, 'phases')
  })
  after(() => shipped.end())

  const hasRun = async (name: string) => (await story.recordOf(name))?.run !== undefined
  const says = async (pattern: RegExp) => pattern.test(await story.describe())
  const signals = ['SIGTERM', 'SIGKILL'] as const
  let restarts = 0
  async function restartWhen(what: string, reached: () => Promise<boolean>): Promise<void> {
    await waitUntil(what, reached, 180_000, () => story.home().err().slice(-3000))
    await story.restart(signals[restarts++ % 2]!)
  }

  it('becomes ready, every run ends, and its kubeconfig works', async () => {
    const { url } = story.home()
    await story.create()
    await restartWhen('the run of the VPC', () => hasRun('demo-vpc'))
    await restartWhen('the run of the witness', () => hasRun('witness'))
    await restartWhen('the delivery of Flux', () => says(/flux/i))
    await restartWhen('the delivery of Karpenter', () => says(/karpenter/i))
    await story.untilReady()
    await story.assertKubeconfigWorks()
    await story.restart('SIGKILL')
    await story.untilReady()
    assert.equal(story.home().url, url)
    await story.assertKubeconfigWorks()
    story.assertOnce(false)
    for (const name of ['demo-vpc', 'witness']) assert.equal((await story.recordOf(name))?.run?.phase, 'Succeeded')
  })

  it('is deleted, and no process is left', async () => {
    await story.remove()
    await restartWhen('the destruction of the witness', async () => {
      const record = await story.recordOf('witness')
      return record === undefined || record.run?.verb === 'destroy'
    })
    await restartWhen('the deletion of the VPC to be under way or over', async () => {
      const record = await story.recordOf('demo-vpc')
      return record === undefined || record.run?.verb === 'destroy'
    })
    await story.untilGone()
    story.assertOnce(true)
    await story.home().stop()
    assert.deepEqual(shipped.processes(), [])
  })
})
