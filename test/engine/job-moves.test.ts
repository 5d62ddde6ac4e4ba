// An apply that moves between the engines `local` and `job`, or has both at once: nothing is run because of it, and each goes on
// from what the other has stored.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { WorkspaceTemplateApply } from '#api'
import { TrialWorld } from '../chaos/trial-world.ts'
import { hasProgram, jobWorld } from '../support/engine/job-world.ts'
import { keptFor, ledgerModule } from '../support/engine/ledger.ts'
import { hasTerraform, isReady } from '../support/engine/world.ts'

describe('an apply', { skip: !hasTerraform || !hasProgram }, () => {
  it('moves from local to job and back: nothing is run because of it', async () => {
    const jobs = await jobWorld()
    const world = await TrialWorld.open('mover', jobs)
    const runIdOf = async (name: string) => (await jobs.until(name, isReady)).status?.run?.id
    /** A manager that has brought another apply up has looked at this one too. */
    const settled = async (other: string) => {
      await jobs.make(other, 'resource "terraform_data" "x" {}')
      await jobs.until(other, isReady)
      return runIdOf('mover')
    }
    try {
      await world.startManager()
      await jobs.make('mover', ledgerModule(world.file, 2))
      const first = await runIdOf('mover')
      await world.stopManager()

      const process = await world.spawnManager({ runner: 'job' })
      assert.equal(await settled('by-job'), first, 'the engine job runs nothing')
      assert.deepEqual(
        jobs.actor.started.map((name) => name.replace(/-[^-]+$/, '')),
        ['capt-by-job'],
      )
      await world.retry()
      await world.poll('a run in a Job', async () => {
        const now = await world.find()
        return now !== undefined && isReady(now) && now.status?.run?.id !== first
      })
      const second = await runIdOf('mover')
      assert.deepEqual(world.ledger.made, ['0', '1'], 'it works from the state of the other engine')
      const ended = once(process, 'exit')
      process.kill('SIGKILL')
      await ended

      await world.startManager()
      assert.equal(await settled('by-local'), second, 'the engine local runs nothing')
      await jobs.connection.objects.delete(WorkspaceTemplateApply, world.key)
      await jobs.untilGone('mover')
      assert.deepEqual(world.ledger.gone, ['0', '1'])
      assert.deepEqual(await keptFor(jobs.connection.objects, 'mover'), [])
    } finally {
      await world.close()
    }
  })

  it('of two managers with different engines is made once, and destroyed once', async () => {
    const jobs = await jobWorld()
    const world = await TrialWorld.open('shared', jobs)
    try {
      await world.startManager()
      await world.spawnManager({ runner: 'job' })
      await jobs.make('shared', ledgerModule(world.file, 3, 'sleep 1;'))
      await world.settle('the apply', isReady)
      assert.deepEqual(world.ledger.made, ['0', '1', '2'])
      await world.finish()
      assert.deepEqual(world.ledger.gone, ['0', '1', '2'])
    } finally {
      await world.close()
    }
  })
})
