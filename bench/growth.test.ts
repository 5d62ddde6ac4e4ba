// node --test bench/growth.test.ts after make build; beside the benches until its limits hold.
// A fleet with core Cluster API and an instant engine: what a cluster costs, whether ten times as many cost more than ten
// times as much, whether a fleet at rest is left alone, and what is left when it is gone.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { auditMark, describeRequests } from '../test/real/audit.ts'
import {
  describePerCluster,
  exponentOf,
  type Fleet,
  type Growth,
  inventoryOf,
  requestsOfCapt,
  startFleet,
} from '../test/real/fleet.ts'
import { until, VERSIONS } from '../test/real/lab.ts'
import { prove } from '../test/real/proofs.ts'

const [version] = VERSIONS.capi
const FEW = 10
const MANY = 100
const MAX_REQUESTS = 40
const MAX_CPU_SECONDS = 10
const MAX_EXPONENT = 1.1
const IDLE_SECONDS = 60

/** Kept by the API server for an hour, also about objects that are gone; docs/clusters.md says so. */
const isEvent = (line: string): boolean => line.startsWith('events.')

describe('a fleet', () => {
  let fleet: Fleet
  let nothing: readonly string[]
  let few: Growth
  let many: Growth

  before(async () => {
    fleet = await startFleet()
    nothing = await inventoryOf(fleet.world)
  })
  after(() => fleet?.stop())

  it(`of ${MANY} clusters gets ready with at most ${MAX_REQUESTS} requests each and ${MAX_CPU_SECONDS} CPU seconds`, async () => {
    few = await fleet.grow('few', FEW)
    many = await fleet.grow('many', MANY)
    const each = many.requests.length / MANY
    assert.ok(each <= MAX_REQUESTS, `${each} requests each:\n${describePerCluster(many.requests, MANY)}`)
    assert.ok(many.cpuSeconds <= MAX_CPU_SECONDS, `${many.cpuSeconds} CPU seconds`)
    prove('fleet', version, `${MANY} clusters ready, requests each, at most ${MAX_REQUESTS}`, each.toFixed(1))
    prove('fleet', version, `${MANY} clusters ready, CPU of the manager`, `${many.cpuSeconds.toFixed(1)} s`)
  })

  it('takes time in proportion to its size', () => {
    const exponent = exponentOf(few, many)
    assert.ok(exponent <= MAX_EXPONENT, `exponent ${exponent}: ${few.seconds} s, then ${many.seconds} s`)
    prove('fleet', version, `${FEW} to ${MANY} clusters, exponent of time`, exponent.toFixed(2))
  })

  it('is left alone once it is ready: no request but watches for a minute', async () => {
    const { management } = fleet.world
    const during = async (seconds: number) => {
      const mark = auditMark(management)
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
      return requestsOfCapt(management, mark)
    }
    // Core's last writes wake us; refreshes come after seven minutes at the earliest.
    await until('ten seconds pass without a request', async () => (await during(10)).length === 0, 240)
    assert.equal(describeRequests(await during(IDLE_SECONDS)), '')
    prove('fleet', version, `${FEW + MANY} clusters at rest, requests in ${IDLE_SECONDS} s`, '0')
  })

  it('leaves nothing behind but Events when it is deleted', async () => {
    await fleet.shrink('many', MANY)
    await fleet.shrink('few', FEW)
    let left: readonly string[] = []
    const isClean = async () => {
      const now = new Set(await inventoryOf(fleet.world))
      const before = new Set(nothing)
      left = [...now].filter((line) => !before.has(line) && !isEvent(line))
      return left.length === 0
    }
    // The garbage collector takes its time; what it does not take stays in `left`.
    await until('everything is gone', isClean, 120).catch(() => undefined)
    assert.deepEqual(left, [])
    prove('fleet', version, `left in any namespace after ${FEW + MANY} clusters`, 'Events only')
  })
})
