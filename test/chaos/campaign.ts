// What campaigns share: seeds, choices that a seed repeats, and a ledger that makes a campaign resumable.
//   SEEDS=1-300   the trials to run        LEDGER=FILE   one line per trial; a seed that has one is not run again
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** Small and repeatable: a linear congruential generator is enough to spread choices. */
export function randomOf(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Seeds that are to be run: those of SEEDS, without those that the ledger has. */
export function seedsToRun(most: number): readonly number[] {
  const [first = 1, last = most] = (process.env['SEEDS'] ?? `1-${most}`).split('-').map(Number)
  const done = readLedger()
  return Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((seed) => !done.has(seed))
}

function readLedger(): ReadonlySet<number> {
  const path = process.env['LEDGER']
  if (!path || !existsSync(path)) return new Set()
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return new Set(lines.map((line) => (JSON.parse(line) as { seed: number }).seed))
}

/** Runs a trial and writes its line: what it returned, or how it failed. */
export async function record(seed: number, trial: () => Promise<object>): Promise<void> {
  const write = (line: object) => {
    const path = process.env['LEDGER']
    if (path) writeFileSync(path, `${JSON.stringify({ seed, ...line })}\n`, { flag: 'a' })
  }
  try {
    write(await trial())
  } catch (error) {
    write({ failed: String(error) })
    throw error
  }
}
