// Other ways to lose a run: the API server is away, two managers want the same, somebody says stop, the disk is full.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RETRY_ANNOTATION, WorkspaceTemplateApply } from '#api'
import { declareGone, findOwner, readLog } from '#engine'
import { systemClock } from '#lib'
import { recoveryWorld } from './recovery-world.ts'
import { isReady } from './world.ts'

const KEY = { namespace: 'default', name: 'victim' }

/** Terraform goes on meanwhile; what it made is saved as soon as somebody listens. */
export async function surviveAbsence(awayMs: number): Promise<void> {
  const world = await recoveryWorld()
  try {
    await world.startManager()
    await world.createApply()
    await world.reach('apply')
    await world.withoutServer(awayMs)
    await world.until('victim', isReady)
    await world.assertWhole()
    assert.deepEqual((await world.record())?.suspects, [])
  } finally {
    await world.close()
  }
}

/** Without an election both see the same object and act on it; exactly one run comes of it. */
export async function surviveTwoManagers(): Promise<void> {
  const world = await recoveryWorld()
  try {
    await Promise.all([world.startManager(), world.startManager()])
    await world.createApply()
    await world.until('victim', isReady)
    await world.assertWhole()
    const record = await world.record()
    assert.equal(record?.history.length, 1, 'one run, not two')
    await world.connection.objects.delete(WorkspaceTemplateApply, KEY)
    await world.untilGone('victim')
    const gone = world.ledger().filter((line) => line.startsWith('gone'))
    assert.equal(gone.length, 6, 'each resource was destroyed once')
  } finally {
    await world.close()
  }
}

/** SIGTERM reaches Terraform alone; what ignores it gets its time and no more, and nothing is lost. */
export async function surviveStubbornResource(): Promise<void> {
  const world = await recoveryWorld({ slow: 'trap "" TERM INT; sleep 20;' })
  try {
    await world.startManager()
    await world.createApply()
    await world.reach('first')
    const runner = (await world.record())?.run?.runner
    assert.ok(runner)
    const said = world.messages()
    process.kill(runner.pid, 'SIGTERM')
    const { status } = await world.until('victim', (apply) => apply.status?.lastError !== undefined)
    assert.equal(status?.lastError?.kind, 'lost')
    const state = await world.state()
    const named = new Set((await world.record())?.suspects.map(({ address }) => address))
    const begun = [...said.matchAll(/"addr":"([^"]+)"[^\n]*"type":"apply_start"/g)].map((match) => match[1]!)
    assert.ok(begun.length > 0)
    for (const address of begun) {
      assert.ok(state?.addresses.includes(address) || named.has(address), `${address} is neither known nor suspected`)
    }
  } finally {
    await world.close()
  }
}

/** What runs after the machine is lost: the same run, the next one, or one whose Terraform does not take the plan. */
export type Successor = 'same-run' | 'next-run' | 'refused'

/** A plan is stored, and its machine is lost before the apply: the successor applies that plan and no other. */
export async function surviveWithPlan(successor: Successor): Promise<void> {
  const world = await recoveryWorld({ pauseAt: 'between', pauseSeconds: 300 })
  const { objects } = world.connection
  const plannings = () => world.commands().filter((command) => command === 'plan').length
  try {
    const manager = await world.startManager()
    await world.createApply()
    await world.reach('between')
    await world.untilStored()
    const { id, plan } = (await world.record())!.run!
    assert.deepEqual(plan, { add: 6, change: 0, destroy: 0, replace: 0 })
    await world.kill('machine', manager)
    if (successor === 'next-run') await declareGone(objects, systemClock, (await findOwner(objects, KEY)).owner)
    if (successor === 'refused') world.refuseNextApply()
    await world.startManager()
    await world.until('victim', isReady)
    await world.assertWhole()
    const record = await world.record()
    const log = await readLog(objects, KEY, record!.run!.id)
    assert.equal(plannings(), successor === 'refused' ? 2 : 1, log)
    assert.equal(record?.plan, undefined)
    assert.deepEqual(record?.run?.plan, plan)
    assert.equal(record?.run?.id === id, successor !== 'next-run')
    assert.match(log ?? '', /Applying the plan of .* that was made before the run was interrupted/)
    if (successor === 'refused') assert.match(log ?? '', /Planning again: Terraform refuses the earlier plan/)
    await world.removeApply()
  } finally {
    await world.close()
  }
}

/** A full disk stops a run in order, and the object says so; with room again it goes on. */
export async function surviveFullDisk(disk: {
  mount(folder: string): void
  unmount(folder: string): void
}): Promise<void> {
  const world = await recoveryWorld({ slow: 'sleep $((i / 2 * 3));' })
  const ballast = join(world.workDir, 'ballast')
  try {
    mkdirSync(world.workDir, { recursive: true })
    disk.mount(world.workDir)
    await world.startManager()
    await world.createApply()
    await world.reach('apply')
    fill(ballast)
    const { status } = await world.until('victim', (apply) => apply.status?.lastError !== undefined)
    assert.equal(status?.lastError?.code, 'CAPT_DISK_FULL')
    rmSync(ballast)
    const annotations = { [RETRY_ANNOTATION]: 'room again' }
    await world.connection.objects.patch(WorkspaceTemplateApply, KEY, {
      type: 'merge',
      body: { metadata: { annotations } },
    })
    await world.until('victim', isReady)
    await world.assertWhole()
  } finally {
    await world.stopAll()
    disk.unmount(world.workDir)
    await world.close()
  }
}

function fill(path: string): void {
  for (const size of [1024 * 1024, 4096]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: 'a' })
    } catch {
      // Full to this grain.
    }
  }
}
