// What it costs the management API to bring two stages to many clusters, core's part included. Arrives in waves, as
// clusters do; ends with an error when a cluster needs more writes than promised.
import { defaultPipeline } from '#controllers'
import { addonsWorld, conditionStatus, HOME } from '../test/support/addons/world.ts'

const CLUSTERS = Number(process.env['CLUSTERS'] ?? 100)
const WAVE = 50
const MOST_WRITES = 40

const shipped = defaultPipeline(HOME)
const world = await addonsWorld({
  pipeline: { ...shipped, spec: { ...shipped.spec, stages: shipped.spec.stages.slice(0, 2) } },
})
const isReady = (name: string) => conditionStatus(world.delivery(name), 'Ready') === 'True'
const began = performance.now()
const names = Array.from({ length: CLUSTERS }, (_, i) => `c${i}`)
for (let from = 0; from < CLUSTERS; from += WAVE) {
  const wave = names.slice(from, from + WAVE)
  for (const name of wave) await world.addCluster(name)
  await world.until('the wave is ready', () => wave.every(isReady), 110)
  // Who is settled needs nobody to play its workload.
  for (const name of wave) await world.stopActors(name)
}
await world.until('all are ready', () => names.every(isReady), 110)
const writes = world.home.writes.length / CLUSTERS
const reads = (world.home.requests.length - world.home.writes.length) / CLUSTERS
const seconds = ((performance.now() - began) / 1000).toFixed(0)
const mebibytes = (process.memoryUsage().rss / 2 ** 20).toFixed(0)
process.stdout.write(
  `add-ons: ${CLUSTERS} clusters, two stages: ${writes.toFixed(1)} writes (at most ${MOST_WRITES}) and ${reads.toFixed(1)} reads each, ${seconds} s, ${mebibytes} MiB with everything played in one process\n`,
)
// Everything lives in this process: what is still open ends with it.
process.exit(writes <= MOST_WRITES ? 0 : 1)
