// Runners that are cut off, killed in the middle of a save, or lose their work folder: never two Terraforms at once, never
// a newer state overwritten, nothing forgotten.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Secret, SecretKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { declareGone, findOwner, loadState, type RunRecord, readRecord, readState } from '#engine'
import { systemClock } from '#lib'
import { capt } from '../../support/cli-io.ts'
import { keptFor, ledgerModule, namesOf, readLedger } from '../../support/engine/ledger.ts'
import { type EngineWorld, engineWorld, hasTerraform, isReady, isStalled } from '../../support/engine/world.ts'

/** Somebody may write into it at the same time. */
const REMOVED = { recursive: true, force: true, maxRetries: 20, retryDelay: 20 } as const
const key = (name: string) => ({ namespace: 'default', name })

async function happens(what: string, test: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000
  while (!(await test())) {
    if (Date.now() > deadline) assert.fail(`${what}: it did not happen`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function kill(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid) process.kill(pid, signal)
  } catch {
    // It has ended by itself.
  }
}

const isAlive = (pid: number | undefined): boolean => {
  try {
    return pid !== undefined && process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a run that is interrupted', { skip: !hasTerraform && 'no terraform' }, () => {
  let world: EngineWorld
  before(async () => {
    world = await engineWorld()
  })
  after(() => world.close())

  const file = (name: string) => join(world.folder, name)
  const record = async (name: string): Promise<RunRecord | undefined> =>
    (await readRecord(world.connection.objects, key(name)))?.record
  const terraformPid = (folder: string): number | undefined => {
    try {
      return (JSON.parse(readFileSync(join(folder, 'terraform.json'), 'utf8')) as { process: { pid: number } }).process
        .pid
    } catch {
      return undefined
    }
  }
  const begun = async (name: string) =>
    (await record(name))?.inFlight?.addresses.filter(({ unconfirmed }) => !unconfirmed).length ?? 0
  const savedState = async (name: string) => readState((await loadState(world.connection.objects, key(name))) ?? '')

  it('never has two Terraforms at work when its runner dies and its work folder is removed', async () => {
    const log = file('terraforms')
    const binary = file('terraform')
    writeFileSync(
      binary,
      `#!/bin/sh\necho "begin $1" >> ${log}\nterraform "$@"\ncode=$?\necho "end $1" >> ${log}\nexit $code\n`,
    )
    chmodSync(binary, 0o755)
    const manager = await world.manager({ terraform: { binary } })
    const ledger = file('homeless-ledger')
    await world.make('homeless', ledgerModule(ledger, 2, 'sleep 6;'))
    await happens('both are in flight, and the record says so', async () => (await begun('homeless')) === 2)
    const { runner, folder } = (await record('homeless'))!.run!
    const terraform = terraformPid(folder)
    assert.ok(isAlive(terraform))
    kill(runner!.pid, 'SIGKILL')
    rmSync(folder, REMOVED)
    await world.until('homeless', isReady)
    await manager.stop()
    const lines = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .filter((line) => !/version$/.test(line))
    let atWork = 0
    for (const line of lines) {
      atWork += line.startsWith('begin') ? 1 : -1
      assert.ok(atWork <= 1, `two Terraforms at once:\n${lines.join('\n')}`)
    }
    const suspects = new Set((await record('homeless'))?.suspects.map(({ address }) => address))
    for (const i of ['0', '1']) {
      const made = readLedger(ledger).made.filter((one) => one === i).length
      assert.ok(
        made === 1 || suspects.has(`terraform_data.x[${i}]`),
        `${i} was made ${made} times and is not suspected`,
      )
    }
  })

  it('names what it made when its work folder is removed while its runner lives', async () => {
    const manager = await world.manager()
    const ledger = (name: string) => file(`${name}-ledger`)
    const hold = (name: string) => file(`${name}-hold`)
    // The Terraform of one ends by itself, that of the other is asked to stop: it marks what it works on in a state that is lost.
    const names = ['evicted', 'evicted-late']
    for (const name of names) {
      writeFileSync(hold(name), '')
      const held = `test $i = 0 || while test -f ${hold(name)}; do sleep 0.1; done;`
      await world.make(name, ledgerModule(ledger(name), 3, held))
    }
    for (const name of names) {
      // What is begun is written down within half a second.
      await happens('the others are in flight, and the record says so', async () => (await begun(name)) >= 2)
      const { folder, id } = (await record(name))!.run!
      rmSync(folder, REMOVED)
      const hasFailed = async () => (await record(name))?.history.some((one) => one.id === id) === true
      if (name === 'evicted-late') await happens('its runner stops Terraform', hasFailed)
      rmSync(hold(name))
    }
    for (const name of names) {
      await world.until(name, isReady)
      const suspects = new Set((await record(name))?.suspects.map(({ address }) => address))
      for (const i of ['0', '1', '2']) {
        const made = readLedger(ledger(name)).made.filter((one) => one === i).length
        assert.ok(
          made === 1 || suspects.has(`terraform_data.x[${i}]`),
          `${i} of ${name} was made ${made} times and is not suspected`,
        )
      }
    }
    await manager.stop()
  })

  it('does not overwrite what its successor saved; what it made itself is announced, and stops the next run', async () => {
    const { objects } = world.connection
    const hold = file('hold')
    writeFileSync(hold, '')
    const ledger = file('partitioned-ledger')
    // The first run is held before its last resource; its successor is not.
    const wait = `if [ $i = 0 ] && ! [ -f ${hold}.seen ]; then touch ${hold}.seen; while [ -f ${hold} ]; do sleep 0.1; done; fi;`
    const manager = await world.manager()
    await world.make(
      'partitioned',
      `${ledgerModule(ledger, 2, wait)}
resource "terraform_data" "late" {
  depends_on = [terraform_data.x]
  provisioner "local-exec" {
    command = "echo made late >> ${ledger}"
  }
}`,
    )
    await happens('the first resources are saved', async () => (await savedState('partitioned')) !== undefined)
    await happens('one is in flight', async () => (await begun('partitioned')) > 0)
    const first = (await record('partitioned'))!.run!
    await manager.stop()
    // From here on nobody hears of the first runner; its Terraform goes on.
    kill(first.runner!.pid, 'SIGSTOP')
    const { owner } = await findOwner(objects, key('partitioned'))
    await declareGone(objects, systemClock, owner)

    const other = await world.manager({ workDir: file('elsewhere') })
    await world.until('partitioned', isReady)
    const newer = await loadState(objects, key('partitioned'))
    assert.equal(readState(newer!)?.addresses.length, 3)

    rmSync(hold)
    kill(first.runner!.pid, 'SIGCONT')
    await happens('the first runner has ended', () => !isAlive(first.runner!.pid))
    assert.equal(await loadState(objects, key('partitioned')), newer, 'the newer state is untouched')
    const side = (await record('partitioned'))?.side ?? []
    assert.deepEqual(
      side.map(({ run }) => run),
      [first.id],
    )
    assert.equal((await record('partitioned'))?.run?.phase, 'Succeeded', 'the record of the successor is its own')

    // The last resource exists twice: one of them is in the copy alone.
    assert.equal(readLedger(ledger).made.filter((one) => one === 'late').length, 2)
    await objects.delete(WorkspaceTemplateApply, key('partitioned'))
    const stalled = await world.until('partitioned', isStalled)
    assert.equal(stalled.status?.lastError?.code, 'CAPT_STATE_SIDE_COPY')
    assert.deepEqual(readLedger(ledger).gone, [])

    const id = `${side[0]!.serial}-${first.id.slice(0, 8)}`
    const listed = await capt(['state', 'list', 'partitioned', '--kubeconfig', world.kubeconfig])
    assert.match(listed.stdout, new RegExp(`copy ${id}, saved by a run that had lost its lock`))
    const examined = await capt(['doctor', 'wtapply', 'partitioned', '--skip-aws', '--kubeconfig', world.kubeconfig])
    assert.match(examined.stdout, new RegExp(`capt state restore partitioned --copy ${id}`))
    const shown = await capt(['state', 'show', 'partitioned', '--copy', id, '--kubeconfig', world.kubeconfig])
    assert.match(shown.stdout, /terraform_data\.late/)
    const dropped = await capt([
      'state',
      'discard',
      'partitioned',
      '--copy',
      id,
      '-y',
      '--kubeconfig',
      world.kubeconfig,
    ])
    assert.equal(dropped.code, 0, dropped.stderr)
    await capt(['retry', 'partitioned', '--kubeconfig', world.kubeconfig])
    await world.untilGone('partitioned')
    assert.deepEqual(readLedger(ledger).gone, ['0', '1'])
    assert.deepEqual(await keptFor(objects, 'partitioned'), [])
    await other.stop()
  })

  it('goes on from the announced copy when it was killed between two parts of its state', async () => {
    const { objects } = world.connection
    const noise = file('noise')
    const ledger = file('torn-ledger')
    writeFileSync(noise, randomBytes(480_000).toString('base64'))
    const module = (count: number) => `
resource "terraform_data" "large" { input = file(${JSON.stringify(noise)}) }
${ledgerModule(ledger, count)}
resource "terraform_data" "last" {
  depends_on = [terraform_data.x]
  triggers_replace = ${count}
  provisioner "local-exec" { command = "sleep 2" }
}`
    let manager = await world.manager()
    await world.make('torn', module(1))
    await world.until('torn', isReady)
    const { state: saved } = namesOf('torn')
    assert.ok(await objects.get<Secret>(SecretKind, key(`${saved}-part-1`)), 'the state takes several Secrets')

    // The runner dies with the answer to its write of the first part, after Terraform has ended.
    const { promise: struck, resolve: strike } = Promise.withResolvers<void>()
    let victim: { pid: number; folder: string } | undefined
    const push = world.requests.push.bind(world.requests)
    world.requests.push = (...seen) => {
      for (const { method, path } of seen) {
        const isFirstPart = method === 'PATCH' && path.split('?')[0]!.endsWith(`/secrets/${saved}`)
        if (!victim || !isFirstPart || isAlive(terraformPid(victim.folder))) continue
        kill(victim.pid, 'SIGKILL')
        victim = undefined
        strike()
      }
      return push(...seen)
    }
    await objects.patch(WorkspaceTemplate, key('torn'), {
      type: 'merge',
      body: { spec: { template: { spec: { forProvider: { module: module(5) } } } } },
    })
    await happens('all are made', () => readLedger(ledger).made.length === 5)
    const run = (await record('torn'))!.run!
    victim = { pid: run.runner!.pid, folder: run.folder }
    await struck
    // The machine is gone with everything on it.
    await manager.stop()
    rmSync(run.folder, { recursive: true, force: true })
    world.requests.push = push
    assert.equal((await record('torn'))?.pending?.length, 1, 'the copy was announced before it was needed')

    manager = await world.manager({ workDir: file('runs-after-tear') })
    await world.until('torn', (apply) => isReady(apply) && apply.status?.run?.phase === 'Succeeded')
    assert.deepEqual(readLedger(ledger), { made: ['0', '1', '2', '3', '4'], gone: [] })
    assert.equal((await savedState('torn'))?.addresses.length, 7)
    assert.equal((await record('torn'))?.pending, undefined)

    await objects.delete(WorkspaceTemplateApply, key('torn'))
    await world.untilGone('torn')
    assert.equal(readLedger(ledger).gone.length, 5)
    assert.deepEqual(await keptFor(objects, 'torn'), [], 'no Secret is left')
    assert.ok(!existsSync(run.folder))
    await manager.stop()
  })
})
