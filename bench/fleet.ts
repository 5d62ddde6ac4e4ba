// node bench/fleet.ts [clusters …]: how the cost of a fleet grows with its size, on the real API server with core Cluster
// API. The figures are ratios and CPU seconds of one run; `make build` and `node test/real/run.ts` once before it.
import { exponentOf, type Growth, startFleet } from '../test/real/fleet.ts'

const sizes = process.argv.slice(2).map(Number)
const fleet = await startFleet()
try {
  console.log('clusters  seconds  requests each  CPU s  exponent to the row before')
  let last: Growth | undefined
  for (const clusters of sizes.length > 0 ? sizes : [10, 100, 300]) {
    const growth = await fleet.grow(`of${clusters}`, clusters)
    const cells = [
      clusters,
      growth.seconds.toFixed(1),
      (growth.requests.length / clusters).toFixed(1),
      growth.cpuSeconds.toFixed(1),
      last ? exponentOf(last, growth).toFixed(2) : '',
    ]
    console.log(cells.map((cell, i) => String(cell).padStart([8, 7, 13, 5, 26][i]!)).join('  '))
    await fleet.shrink(`of${clusters}`, clusters)
    last = growth
  }
} finally {
  await fleet.stop()
}
