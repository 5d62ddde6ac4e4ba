// Two managers, one leader, whatever happens to it: stopped, killed, paused, cut off. From the audit log: nobody writes
// while another leads. From the ledger of the runs: nothing is made twice.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { LeaseKind } from '#api'
import { describeRequests } from './audit.ts'
import { freePort, until, VERSIONS } from './lab.ts'
import { prove } from './proofs.ts'
import { intrusions, isElection, LEASE, type Reign, reignsOf, writesOfManagers } from './reigns.ts'
import { type Rival, type Rivals, startRivals } from './rivals.ts'
import { HOME_NAMESPACE, startManagerProcess, writeTemp } from './world.ts'

const ONCE = ['made 0', 'made 1', 'made 2', 'made 3']
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('two managers', () => {
  let rivals: Rivals
  let leaseMs: number

  before(async () => {
    rivals = await startRivals()
    for (const rival of rivals.both) await rival.start()
    await rivals.eventually('one of them leads', async () => Boolean(await rivals.leader()))
    await rivals.leads(await rivals.leader())
    const lease = await rivals.api.get(LeaseKind, LEASE, HOME_NAMESPACE)
    leaseMs = lease['spec'].leaseDurationSeconds * 1000
  })
  after(() => rivals?.stop())

  /** The last handover: who led before, who after. */
  const handover = async (): Promise<readonly [Reign, Reign]> => {
    const reigns = reignsOf(await rivals.audited())
    return [reigns.at(-2)!, reigns.at(-1)!]
  }
  const isBusy = (...names: readonly string[]) =>
    rivals.eventually(`the runs ${names} are under way`, () => names.every((name) => rivals.made(name).length === 3))
  const isReady = (...names: readonly string[]) =>
    rivals.eventually(`the applies ${names} are ready`, async () => {
      for (const name of names) if (!(await rivals.isReady(name))) return false
      return true
    })
  /** Only a reign with writes can show who writes while another leads; how long it takes until then is the machine's. */
  const ENOUGH_WRITES = 20
  const hasWritten = (rival: Rival) =>
    rivals.eventually(`${rival.user} writes as the leader`, async () => {
      const reign = reignsOf(await rivals.audited()).at(-1)
      return reign?.user === rival.user && reign.writes >= ENOUGH_WRITES
    })
  const roles = async (): Promise<{ first: Rival; second: Rival }> => {
    const first = await rivals.leader()
    return { first, second: rivals.both.find((rival) => rival !== first)! }
  }

  it('are ready when they have seen everything and not before, whoever leads', async () => {
    const { kube, folder } = rivals
    kube.kubectl(['create', 'serviceaccount', 'early', '-n', HOME_NAMESPACE])
    const token = kube.kubectl(['create', 'token', 'early', '-n', HOME_NAMESPACE]).trim()
    const kubeconfig = writeTemp(folder, 'early.kubeconfig', kube.kubeconfigText.replaceAll(kube.token, token))
    const port = await freePort()
    const args = ['--leader-elect', `--health-probe-bind-address=127.0.0.1:${port}`]
    const early = await startManagerProcess(kubeconfig, folder, args, {}, { early: true })
    const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}/${path}`)).status
    try {
      await until('it answers', async () => (await ask('healthz')) === 200, 60, early)
      assert.equal(await ask('readyz'), 503, 'it may not list anything yet')
      const subject = `--serviceaccount=${HOME_NAMESPACE}:early`
      kube.kubectl(['create', 'clusterrolebinding', 'early', '--clusterrole=cluster-admin', subject])
      await until('it is ready', async () => (await ask('readyz')) === 200, 120, early)
      assert.ok(!readFileSync(early.log, 'utf8').includes('Started controllers'), 'another one leads')
    } finally {
      await early.stop()
    }
  })

  it('take turns: the one that is stopped gives the lease back, and the other need not wait for its end', async () => {
    const { first, second } = await roles()
    await rivals.startRun('stopped')
    await isBusy('stopped')
    await hasWritten(first)
    process.kill(first.process.pid, 'SIGTERM')
    await first.ended()
    await rivals.leads(second)
    const [before, after] = await handover()
    const gap = after.from - before.renewed
    assert.ok(gap < leaseMs / 2, `${seconds(gap)} between the two, with a lease of ${seconds(leaseMs)}`)
    rivals.letEnd('stopped')
    await isReady('stopped')
    assert.deepEqual(rivals.made('stopped'), ONCE)
    await first.start()
    prove('two managers', VERSIONS.kube, 'stopped leader hands over at once', `${seconds(gap)} of ${seconds(leaseMs)}`)
  })

  it('lose nothing when the leader is killed in the middle of runs', async () => {
    const { first, second } = await roles()
    await rivals.startRun('adopted')
    await rivals.startRun('torn')
    await isBusy('adopted', 'torn')
    // What is in flight at the moment of a kill is suspected; what is saved is not made again.
    await rivals.eventually('what was made is saved', async () => {
      const saved = await rivals.saved('torn')
      return saved.filter((address) => address.startsWith('terraform_data.x[')).length === 3
    })
    await hasWritten(first)
    process.kill(first.process.pid, 'SIGKILL')
    await killRun('torn')
    await rivals.leads(second)
    const [before, after] = await handover()
    const gap = after.from - before.renewed
    assert.ok(gap >= leaseMs, `taken after ${seconds(gap)}, before the lease of ${seconds(leaseMs)} was over`)
    await rivals.eventually('the living run is found', () => second.says('Found a run under way'))
    for (const name of ['adopted', 'torn']) rivals.letEnd(name)
    await isReady('adopted', 'torn')
    for (const name of ['adopted', 'torn']) assert.deepEqual(rivals.made(name), ONCE, name)
    assert.equal((await rivals.record('adopted'))?.run?.resumed, 0, 'its runner lived: adopted')
    assert.equal((await rivals.record('torn'))?.run?.resumed, 1, 'its runner died: taken up again')
    await first.start()
    prove('two managers', VERSIONS.kube, 'killed leader: runs adopted or taken up', `after ${seconds(gap)}, made once`)
  })

  it('never write both, although the leader slept through its lease and woke up with much to say', async () => {
    const { first, second } = await roles()
    // Two runs at once: the other two wait in the line of a manager that lives but does not act.
    const names = ['asleep-1', 'asleep-2', 'asleep-3', 'asleep-4']
    for (const name of names.slice(0, 2)) await rivals.startRun(name)
    await isBusy('asleep-1', 'asleep-2')
    for (const name of names.slice(2)) await rivals.startRun(name)
    await rivals.eventually('the others are in line', async () => {
      const phases = await Promise.all(names.slice(2).map(async (name) => (await rivals.record(name))?.run?.phase))
      return phases.every((phase) => phase === 'Queued')
    })
    await hasWritten(first)
    process.kill(first.process.pid, 'SIGSTOP')
    await rivals.leads(second)
    const reign = reignsOf(await rivals.audited()).at(-1)!
    await hasWritten(second)
    process.kill(first.process.pid, 'SIGCONT')
    await first.ended()
    assert.ok(first.says('CAPT_LEADERSHIP_LOST'), 'it says why it ended')
    for (const name of names) rivals.letEnd(name)
    await isReady(...names)
    for (const name of names) assert.deepEqual(rivals.made(name), ONCE, name)
    const late = writesOfManagers(await rivals.audited()).filter(
      ({ user, until }) => user === first.user && until >= reign.from,
    )
    assert.equal(describeRequests(late), '')
    assert.equal(await rivals.leader(), second)
    await first.start()
    prove('two managers', VERSIONS.kube, 'leader asleep beyond its lease: its writes afterwards', String(late.length))
  })

  it('are one leader again after an outage of the API server, and the runs went on', async () => {
    const { first } = await roles()
    await rivals.startRun('outage')
    await isBusy('outage')
    await hasWritten(first)
    for (const { gate } of rivals.both) gate.shut()
    const began = Date.now()
    rivals.letEnd('outage')
    await first.ended()
    assert.ok(first.says('CAPT_LEADERSHIP_LOST'))
    await rivals.eventually('the run has made everything', () => rivals.made('outage').length === 4)
    // One that is started meanwhile says what is missing and ends; whoever started it tries again.
    await first.start()
    await first.ended()
    assert.ok(first.says('CAPT_KUBE_UNREACHABLE'))
    await pause(Math.max(0, began + leaseMs + 10_000 - Date.now()))
    const away = Date.now() - began
    for (const { gate } of rivals.both) gate.open()
    await first.start()
    await rivals.eventually('one of them leads', async () => Boolean(await rivals.leader()))
    const { first: next, second: other } = await roles()
    await rivals.leads(next)
    await isReady('outage')
    assert.deepEqual(rivals.made('outage'), ONCE)
    const since = Date.now()
    await rivals.eventually('it has renewed its lease three times', async () => {
      const claims = writesOfManagers(await rivals.audited()).filter((one) => isElection(one) && one.at > since)
      assert.deepEqual([...new Set(claims.map(({ user }) => user))].slice(1), [], 'one of them only')
      return claims.length >= 3
    })
    await hasWritten(next)
    assert.ok(next.isAlive() && other.isAlive())
    assert.ok(!other.says('Started controllers'), 'the other one waits')
    prove('two managers', VERSIONS.kube, 'API server away from both: one leads again, runs went on', seconds(away))
  })

  it('have never been two writers: the audit log has no write outside of its writer’s reign', async () => {
    const requests = await rivals.audited()
    const reigns = reignsOf(requests)
    assert.ok(reigns.length >= 4, `${reigns.length} reigns`)
    for (const { user, writes } of reigns)
      assert.ok(writes >= ENOUGH_WRITES, `${user} had something to write in each reign`)
    assert.equal(describeRequests(intrusions(requests)), '')
    const count = writesOfManagers(requests).length
    prove('two managers', VERSIONS.kube, 'writes while another led', `0 of ${count} in ${reigns.length} reigns`)
  })

  /** As the end of a container does: the runner and everything it started. */
  async function killRun(name: string): Promise<void> {
    const run = (await rivals.record(name))!.run!
    process.kill(run.runner!.pid, 'SIGKILL')
    const { process: terraform } = JSON.parse(readFileSync(join(run.folder, 'terraform.json'), 'utf8'))
    process.kill(-terraform.pid, 'SIGKILL')
  }
})
