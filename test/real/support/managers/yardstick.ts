// CPU seconds grow when others share the processor and its caches. A yardstick is a bit of work that is always the same,
// done again and again beside what is measured: by as much as it takes longer than alone, so does everything else.
import { createHash } from 'node:crypto'

export interface Yardstick {
  stop(): void
  /** How much longer the same work took than on a machine that has nothing else to do; 1 at least. */
  slowness(): number
}

/** CPU milliseconds of one bit of work beside a fleet that comes up on a machine that has nothing else to do. */
const ALONE_MS = 7
const EVERY_MS = 500
const WARM_UP = 50

export function startYardstick(): Yardstick {
  for (let i = 0; i < WARM_UP; i++) work()
  const took: number[] = []
  const timer = setInterval(() => {
    const before = process.threadCpuUsage()
    work()
    const { user, system } = process.threadCpuUsage(before)
    took.push((user + system) / 1000)
  }, EVERY_MS)
  return {
    stop: () => clearInterval(timer),
    slowness() {
      const middle = took.toSorted((one, other) => one - other)[took.length >> 1]
      if (middle === undefined) throw new Error('the yardstick was not used once')
      return Math.max(1, middle / ALONE_MS)
    },
  }
}

const OBJECT = JSON.stringify({
  items: Array.from({ length: 200 }, (_, i) => ({ name: `item-${i}`, labels: { app: 'web', tier: String(i) } })),
})

/** What a manager does all day: reads, writes and hashes texts. */
function work(): string {
  const hash = createHash('sha256')
  for (let i = 0; i < 40; i++) hash.update(JSON.stringify(JSON.parse(OBJECT)))
  return hash.digest('hex')
}
