// A fleet with core Cluster API and an instant engine: what a cluster costs, whether more of them cost more than their
// number, whether a fleet at rest is left alone, and what is left when it is gone. bench/fleet.ts measures larger ones.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { auditMark, describeRequests } from '../support/audit.ts'
import { until, VERSIONS } from '../support/lab.ts'
import {
  cpuSecondsOf,
  describePerCluster,
  exponentOf,
  type Fleet,
  type Growth,
  inventoryBefore,
  inventoryOf,
  isDue,
  requestsOfCapt,
  startFleet,
} from '../support/managers/fleet.ts'
import { peakMiBOf } from '../support/managers/memory.ts'
import { startYardstick } from '../support/managers/yardstick.ts'
import { prove } from '../support/proofs.ts'

const [version] = VERSIONS.capi
const FEW = 10
const MANY = 100
const MAX_REQUESTS = 40
/** On a machine that has nothing else to do; beside other work as much more as the yardstick takes more, within reason. */
const MAX_CPU_SECONDS = 10
const MAX_BUSY_CPU_SECONDS = 14
const MAX_EXPONENT = 1.1
/** Coming up takes more than being there: `node bench/fleet.ts 10 1000` shows what a thousand take. */
const MAX_MIB = 110
const IDLE_SECONDS = 60
/** What a machine of its own costs, from its CAPTMachineDeployment to its healthy Node; docs/adr/0008 has the parts. */
const MACHINES_EACH = 10
const MAX_MACHINE_REQUESTS = 24
/** For a hundred machines. */
const MAX_MACHINES_CPU_SECONDS = 8
/**
 * `CAPT_REAL_MACHINES=all node test/real/run.ts growth` gives machines to all the clusters instead of the few, which takes
 * ten minutes and more. The gates are the same; docs/adr/0008 has the figures.
 */
const WITH_MACHINES = process.env['CAPT_REAL_MACHINES'] === 'all' ? (['many', MANY] as const) : (['few', FEW] as const)

/** Kept by the API server for an hour, also about objects that are gone; docs/clusters.md says so. */
const isEvent = (line: string): boolean => line.startsWith('events.')
/** Of the workload clusters, whose API is the same here; they go with the cluster. */
const isNode = (line: string): boolean => line.startsWith('nodes.')
const isMachineTemplate = (line: string): boolean => line.endsWith(' fleet/simulation-machine')
/** Kubernetes itself puts these into every namespace, in its own time. */
const isOfNamespace = (line: string): boolean =>
  /^(configmaps\.v1 .*kube-root-ca\.crt|serviceaccounts\.v1 .*\/default)$/.test(line)

describe('a fleet', () => {
  let fleet: Fleet
  let nothing: ReadonlySet<string>
  let began: number
  let many: Growth

  const during = async (seconds: number) => {
    const { management } = fleet.world
    const mark = auditMark(management)
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    return requestsOfCapt(management, mark).filter((request) => !isDue(request))
  }
  /** What was asked since then. Core's last writes wake us, and the last Events are on their way: they count too. */
  const untilRest = async (mark: number) => {
    await until('ten seconds pass without a request', async () => (await during(10)).length === 0)
    return requestsOfCapt(fleet.world.management, mark)
  }

  const start = async () => {
    fleet = await startFleet()
    nothing = await inventoryBefore(fleet.world)
  }
  /** `share`: of what the manager may take. */
  const grow = async () => {
    const { management, manager } = fleet.world
    began = auditMark(management)
    const yardstick = startYardstick()
    many = await fleet.grow('many', MANY).finally(yardstick.stop)
    const seconds = cpuSecondsOf(manager.pid)
    const slowness = yardstick.slowness()
    const beside = slowness >= 1.05 ? `, on a machine ${slowness.toFixed(2)} times as slow as alone` : ''
    const share = seconds / Math.min(MAX_CPU_SECONDS * slowness, MAX_BUSY_CPU_SECONDS)
    return { share, figure: `${seconds.toFixed(1)} s${beside}` }
  }

  before(start)
  after(() => fleet?.stop())

  it(`of ${MANY} clusters gets ready within ${MAX_CPU_SECONDS} CPU seconds, the start of the manager included`, async () => {
    // The same build takes 8.7 to 10.8 s within an hour: a figure that is too high is measured twice more on a new fleet.
    const measured = [await grow()]
    while (measured[0]!.share > 1 && measured.length < 3) {
      await fleet.stop()
      await start()
      measured.push(await grow())
    }
    const all = measured.map(({ figure }) => figure).join('; ')
    const median = measured.sort((a, b) => a.share - b.share)[Math.floor(measured.length / 2)]!
    assert.ok(median.share <= 1, all)
    prove('fleet', version, `${MANY} clusters ready, CPU of the manager, at most ${MAX_CPU_SECONDS} s`, all)
    const peak = peakMiBOf(fleet.world.manager)
    assert.ok(peak <= MAX_MIB, `${peak} MiB`)
    prove('fleet', version, `${MANY} clusters ready, memory at most ${MAX_MIB} MiB`, `${peak.toFixed(1)} MiB`)
  })

  it(`costs at most ${MAX_REQUESTS} requests per cluster, and none once it is ready: a minute of watches alone`, async () => {
    const asked = await untilRest(began)
    const each = asked.length / MANY
    assert.ok(each <= MAX_REQUESTS, `${each} requests each:\n${describePerCluster(asked, MANY)}`)
    assert.equal(describeRequests(await during(IDLE_SECONDS)), '')
    prove('fleet', version, `${MANY} clusters ready, requests each, at most ${MAX_REQUESTS}`, each.toFixed(1))
    prove('fleet', version, `${MANY} clusters at rest, requests in ${IDLE_SECONDS} s`, '0')
  })

  it('takes time in proportion to its size, and no more', async () => {
    const few = await fleet.grow('few', FEW)
    const exponent = exponentOf(few, many)
    assert.ok(exponent <= MAX_EXPONENT, `exponent ${exponent}: ${few.seconds} s, then ${many.seconds} s`)
    prove(
      'fleet',
      version,
      `${FEW} to ${MANY} clusters, exponent of time, at most ${MAX_EXPONENT}`,
      exponent.toFixed(2),
    )
  })

  it(`has machines for at most ${MAX_MACHINE_REQUESTS} requests each, and none at rest`, async () => {
    const { management, manager } = fleet.world
    const [prefix, clusters] = WITH_MACHINES
    const count = clusters * MACHINES_EACH
    const mark = auditMark(management)
    const yardstick = startYardstick()
    const { cpuSeconds } = await fleet.growMachines(prefix, clusters, MACHINES_EACH).finally(yardstick.stop)
    const asked = await untilRest(mark)
    const each = asked.length / count
    const peak = peakMiBOf(manager)
    const maxCpuSeconds = (MAX_MACHINES_CPU_SECONDS * count) / 100
    const figures = `${each.toFixed(1)} requests each, ${cpuSeconds.toFixed(1)} CPU s, ${peak.toFixed(1)} MiB`
    assert.ok(each <= MAX_MACHINE_REQUESTS, `${figures}:\n${describePerCluster(asked, count)}`)
    assert.equal(describeRequests(await during(IDLE_SECONDS / 2)), '', figures)
    assert.ok(cpuSeconds <= maxCpuSeconds * yardstick.slowness(), figures)
    assert.ok(peak <= MAX_MIB, figures)
    const what = `${count} machines beside ${FEW + MANY} clusters`
    prove('fleet', version, `${what}, requests each, at most ${MAX_MACHINE_REQUESTS}`, each.toFixed(1))
    prove('fleet', version, `${what}, CPU at most ${maxCpuSeconds} s`, `${cpuSeconds.toFixed(1)} s`)
    prove('fleet', version, `${what}, memory at most ${MAX_MIB} MiB`, `${peak.toFixed(1)} MiB`)
  })

  it('leaves nothing behind but Events when it is deleted', async () => {
    await Promise.all([fleet.shrink('many', MANY), fleet.shrink('few', FEW)])
    let left: readonly string[] = []
    const isClean = async () => {
      const now = await inventoryOf(fleet.world)
      left = now.filter(
        (line) => !nothing.has(line) && ![isEvent, isNode, isMachineTemplate, isOfNamespace].some((is) => is(line)),
      )
      return left.length === 0
    }
    // The garbage collector takes its time; what it does not take is named.
    await until('everything is gone', isClean).catch(() => assert.deepEqual(left, []))
    prove('fleet', version, `left in any namespace after ${FEW + MANY} clusters`, 'Events only')
  })
})
