// node bench/fleet.ts [clusters …]: how the cost of a fleet grows with its size, on the real API server with core Cluster
// API and the simulated engine; what it asks when it is at rest; what it leaves when it is gone. The figures are counts,
// CPU seconds and ratios of one run; `10 100 1000` takes half an hour. What holds is a test: growth in test/real/manager.
// `make build` and `node test/real/run.ts kube-contract` once before it.
import { auditMark } from '../test/real/support/audit.ts'
import { until } from '../test/real/support/lab.ts'
import {
  describePerCluster,
  exponentOf,
  type Growth,
  inventoryBefore,
  inventoryOf,
  isDue,
  requestsOfCapt,
  startFleet,
} from '../test/real/support/managers/fleet.ts'
import { peakMiBOf } from '../test/real/support/managers/memory.ts'

const IDLE_SECONDS = 60
const sizes = process.argv.slice(2).map(Number)
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

const fleet = await startFleet()
try {
  const { management } = fleet.world
  const nothing = await inventoryBefore(fleet.world)
  const growths: Growth[] = []
  for (const clusters of sizes.length > 0 ? sizes : [10, 100, 300]) {
    const growth = await fleet.grow(`of${clusters}`, clusters)
    const each = growth.requests.length / clusters
    const peak = peakMiBOf(fleet.world.manager)
    console.log(
      `${clusters} clusters ready: ${growth.seconds.toFixed(1)} s, ${each.toFixed(1)} requests each, ${growth.cpuSeconds.toFixed(1)} CPU s, peak ${peak.toFixed(1)} MiB`,
    )
    for (const smaller of growths)
      console.log(
        `from ${smaller.clusters}: exponent of time ${exponentOf(smaller, growth).toFixed(2)}, of CPU ${exponentOf(smaller, growth, 'cpuSeconds').toFixed(2)}`,
      )
    console.log(describePerCluster(growth.requests, clusters))
    const asked = async (seconds: number) => {
      const mark = auditMark(management)
      await pause(seconds)
      return requestsOfCapt(management, mark)
    }
    const isStill = async () => (await asked(10)).every(isDue)
    await until('ten seconds pass without a request, re-checks aside', isStill, 240)
    const atRest = await asked(IDLE_SECONDS)
    const due = atRest.filter(isDue).length
    console.log(`at rest: ${atRest.length - due} requests in ${IDLE_SECONDS} s, and ${due} re-checks that were due`)
    await fleet.shrink(`of${clusters}`, clusters)
    await pause(10)
    const left = (await inventoryOf(fleet.world)).filter((line) => !nothing.has(line) && !line.startsWith('events.'))
    console.log(`left behind, Events aside: ${left.length === 0 ? 'nothing' : left.join(', ')}\n`)
    growths.push(growth)
  }
} finally {
  await fleet.stop()
}
