// Two managers, one leader, whatever happens to it: stopped, killed, paused, cut off. From the audit log: nobody writes
// while another leads. From the ledger of the runs: nothing is made twice.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { LeaseKind } from '#api'
import { describeRequests } from '../support/audit.ts'
import { freePort, until, VERSIONS } from '../support/lab.ts'
import {
  type CompetingManagers,
  type Competitor,
  startCompetingManagers,
} from '../support/managers/competing-managers.ts'
import {
  intrusions,
  isElection,
  LEASE,
  type Term,
  termsOf,
  writesOfManagers,
} from '../support/managers/leadership-terms.ts'
import { prove } from '../support/proofs.ts'
import { HOME_NAMESPACE, startManagerProcess, writeTemp } from '../support/world.ts'

const ONCE = ['made 0', 'made 1', 'made 2', 'made 3']
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('two managers', () => {
  let managers: CompetingManagers
  let leaseMs: number

  before(async () => {
    managers = await startCompetingManagers()
    for (const competitor of managers.both) await competitor.start()
    await managers.eventually('one of them leads', async () => Boolean(await managers.leader()))
    await managers.leads(await managers.leader())
    const lease = await managers.api.get(LeaseKind, LEASE, HOME_NAMESPACE)
    leaseMs = lease['spec'].leaseDurationSeconds * 1000
  })
  after(() => managers?.stop())

  /** The last handover: who led before, who after. */
  const handover = async (): Promise<readonly [Term, Term]> => {
    const terms = termsOf(await managers.audited())
    return [terms.at(-2)!, terms.at(-1)!]
  }
  const isBusy = (...names: readonly string[]) =>
    managers.eventually(`the runs ${names} are under way`, () =>
      names.every((name) => managers.made(name).length === 3),
    )
  const isReady = (...names: readonly string[]) =>
    managers.eventually(`the applies ${names} are ready`, async () => {
      for (const name of names) if (!(await managers.isReady(name))) return false
      return true
    })
  /** Only a term with writes can show who writes while another leads; how long it takes until then is the machine's. */
  const ENOUGH_WRITES = 20
  const hasWritten = (competitor: Competitor) =>
    managers.eventually(`${competitor.user} writes as the leader`, async () => {
      const term = termsOf(await managers.audited()).at(-1)
      return term?.user === competitor.user && term.writes >= ENOUGH_WRITES
    })
  const roles = async (): Promise<{ first: Competitor; second: Competitor }> => {
    const first = await managers.leader()
    return { first, second: managers.both.find((competitor) => competitor !== first)! }
  }

  it('are ready when they have seen everything and not before, also without leadership', async () => {
    const { kube, folder } = managers
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

  it('alternate: the one that is stopped releases the Lease, and the other need not wait for it to expire', async () => {
    const { first, second } = await roles()
    await managers.startRun('stopped')
    await isBusy('stopped')
    await hasWritten(first)
    process.kill(first.process.pid, 'SIGTERM')
    await first.ended()
    await managers.leads(second)
    const [before, after] = await handover()
    const gap = after.from - before.renewed
    assert.ok(gap < leaseMs / 2, `${seconds(gap)} between the two, with a lease of ${seconds(leaseMs)}`)
    managers.letEnd('stopped')
    await isReady('stopped')
    assert.deepEqual(managers.made('stopped'), ONCE)
    await first.start()
    prove('two managers', VERSIONS.kube, 'stopped leader hands over at once', `${seconds(gap)} of ${seconds(leaseMs)}`)
  })

  it('lose nothing when the leader is killed in the middle of runs', async () => {
    const { first, second } = await roles()
    await managers.startRun('adopted')
    await managers.startRun('torn')
    await isBusy('adopted', 'torn')
    // What is in flight at the moment of a kill is suspected; what is saved is not made again.
    await managers.eventually('what was made is saved', async () => {
      const saved = await managers.saved('torn')
      return saved.filter((address) => address.startsWith('terraform_data.x[')).length === 3
    })
    await hasWritten(first)
    process.kill(first.process.pid, 'SIGKILL')
    await killRun('torn')
    await managers.leads(second)
    const [before, after] = await handover()
    const gap = after.from - before.renewed
    assert.ok(gap >= leaseMs, `taken after ${seconds(gap)}, before the lease of ${seconds(leaseMs)} was over`)
    await managers.eventually('the living run is found', () => second.says('Found a run under way'))
    for (const name of ['adopted', 'torn']) managers.letEnd(name)
    await isReady('adopted', 'torn')
    for (const name of ['adopted', 'torn']) assert.deepEqual(managers.made(name), ONCE, name)
    assert.equal((await managers.record('adopted'))?.run?.resumed, 0, 'its runner lived: adopted')
    assert.equal((await managers.record('torn'))?.run?.resumed, 1, 'its runner died: resumed')
    await first.start()
    prove('two managers', VERSIONS.kube, 'killed leader: runs adopted or resumed', `after ${seconds(gap)}, made once`)
  })

  it('never write both, although the leader slept through its lease and woke up with much to say', async () => {
    const { first, second } = await roles()
    // Two runs at once: the other two wait in the line of a manager that lives but does not act.
    const names = ['asleep-1', 'asleep-2', 'asleep-3', 'asleep-4']
    for (const name of names.slice(0, 2)) await managers.startRun(name)
    await isBusy('asleep-1', 'asleep-2')
    for (const name of names.slice(2)) await managers.startRun(name)
    await managers.eventually('the others are in line', async () => {
      const phases = await Promise.all(names.slice(2).map(async (name) => (await managers.record(name))?.run?.phase))
      return phases.every((phase) => phase === 'Queued')
    })
    await hasWritten(first)
    process.kill(first.process.pid, 'SIGSTOP')
    await managers.leads(second)
    const term = termsOf(await managers.audited()).at(-1)!
    await hasWritten(second)
    process.kill(first.process.pid, 'SIGCONT')
    await first.ended()
    assert.ok(first.says('CAPT_LEADERSHIP_LOST'), 'it says why it ended')
    for (const name of names) managers.letEnd(name)
    await isReady(...names)
    for (const name of names) assert.deepEqual(managers.made(name), ONCE, name)
    const late = writesOfManagers(await managers.audited()).filter(
      ({ user, until }) => user === first.user && until >= term.from,
    )
    assert.equal(describeRequests(late), '')
    assert.equal(await managers.leader(), second)
    await first.start()
    prove('two managers', VERSIONS.kube, 'leader asleep beyond its lease: its writes afterwards', String(late.length))
  })

  it('are one leader again after an outage of the API server, and the runs went on', async () => {
    const { first } = await roles()
    await managers.startRun('outage')
    await isBusy('outage')
    await hasWritten(first)
    for (const { gate } of managers.both) gate.shut()
    const began = Date.now()
    managers.letEnd('outage')
    await first.ended()
    assert.ok(first.says('CAPT_LEADERSHIP_LOST'))
    await managers.eventually('the run has made everything', () => managers.made('outage').length === 4)
    // A manager that is started meanwhile reports what is missing and ends; its supervisor starts it again.
    await first.start()
    await first.ended()
    assert.ok(first.says('CAPT_KUBE_UNREACHABLE'))
    await pause(Math.max(0, began + leaseMs + 10_000 - Date.now()))
    const away = Date.now() - began
    for (const { gate } of managers.both) gate.open()
    await first.start()
    await managers.eventually('one of them leads', async () => Boolean(await managers.leader()))
    const { first: next, second: other } = await roles()
    await managers.leads(next)
    await isReady('outage')
    assert.deepEqual(managers.made('outage'), ONCE)
    const since = Date.now()
    await managers.eventually('it has renewed its lease three times', async () => {
      const claims = writesOfManagers(await managers.audited()).filter((one) => isElection(one) && one.at > since)
      assert.deepEqual([...new Set(claims.map(({ user }) => user))].slice(1), [], 'one of them only')
      return claims.length >= 3
    })
    await hasWritten(next)
    assert.ok(next.isAlive() && other.isAlive())
    assert.ok(!other.says('Started controllers'), 'the other one waits')
    prove('two managers', VERSIONS.kube, 'API server away from both: one leads again, runs went on', seconds(away))
  })

  it('have never been two writers: the audit log has no write outside of its writer’s term', async () => {
    const requests = await managers.audited()
    const terms = termsOf(requests)
    assert.ok(terms.length >= 4, `${terms.length} terms`)
    for (const { user, writes } of terms)
      assert.ok(writes >= ENOUGH_WRITES, `${user} had something to write in each term`)
    assert.equal(describeRequests(intrusions(requests)), '')
    const count = writesOfManagers(requests).length
    prove('two managers', VERSIONS.kube, 'writes while another led', `0 of ${count} in ${terms.length} terms`)
  })

  /** As the end of a container does: the runner and everything it started. */
  async function killRun(name: string): Promise<void> {
    const run = (await managers.record(name))!.run!
    process.kill(run.runner!.pid, 'SIGKILL')
    const { process: terraform } = JSON.parse(readFileSync(join(run.folder, 'terraform.json'), 'utf8'))
    process.kill(-terraform.pid, 'SIGKILL')
  }
})
