// What campaigns share: seeds, choices that a seed repeats, and a ledger that makes a campaign resumable.
//   SEEDS=1-360   the trials to run: ranges and single seeds, such as 5,151-170, in this order
//   LEDGER=FILE   one line per trial; a seed that held is not run again, one that failed is
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

export type Campaign = 'faults' | 'restarts' | 'jobs'

/** Small and repeatable: a linear congruential generator is enough to spread choices. */
export function randomOf(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Neighbouring seeds make similar first choices; mixed ones do not. */
export function mixed(seed: number): number {
  let mix = Math.imul(seed ^ (seed >>> 16), 0x85ebca6b)
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35)
  return (mix ^ (mix >>> 16)) >>> 0
}

/** Seeds that are to be run: those of SEEDS that the campaign has, without those that the ledger has. */
export function seedsToRun(campaign: Campaign, most: number): readonly number[] {
  const done = readDone(campaign)
  const given = (process.env['SEEDS'] ?? `1-${most}`).split(',').flatMap((range) => {
    const [first = 1, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })
  return [...new Set(given)].filter((seed) => seed <= most && !done.has(seed))
}

interface Line {
  readonly campaign: Campaign
  readonly seed: number
  readonly failed?: string
}

/** The last line of each seed. */
function readLines(campaign: Campaign): ReadonlyMap<number, Line> {
  const path = process.env['LEDGER']
  if (!path || !existsSync(path)) return new Map()
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  const own = lines.map((line) => JSON.parse(line) as Line).filter((line) => line.campaign === campaign)
  return new Map(own.map((line) => [line.seed, line]))
}

function readDone(campaign: Campaign): ReadonlySet<number> {
  return new Set([...readLines(campaign).values()].flatMap(({ seed, failed }) => (failed === undefined ? seed : [])))
}

/** What the ledger holds by now: how many trials of how many, and the seeds that failed. */
export function summarize(campaign: Campaign, most: number): string {
  const lines = [...readLines(campaign).values()]
  const failed = lines.flatMap((line) => (line.failed === undefined ? [] : line.seed))
  const which = failed.length === 0 ? '' : `: ${failed.sort((a, b) => a - b).join(', ')}`
  return `${campaign}: ${lines.length} of ${most} trials have run, ${failed.length} failed${which}`
}

/** Runs a trial and writes its line: what it returned, or how it failed. */
export async function record(campaign: Campaign, seed: number, trial: () => Promise<object>): Promise<void> {
  const began = Date.now()
  const write = (more: object) => {
    const path = process.env['LEDGER']
    const seconds = Math.round((Date.now() - began) / 100) / 10
    if (path) writeFileSync(path, `${JSON.stringify({ campaign, seed, seconds, ...more })}\n`, { flag: 'a' })
  }
  try {
    write(await trial())
  } catch (error) {
    write({ failed: String(error) })
    throw error
  }
}
