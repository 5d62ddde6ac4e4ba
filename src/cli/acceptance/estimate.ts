// What an acceptance run costs at most, and how long it may last. Pure. Every guess errs high.
import { eksState, PRICES } from '#catalog'
import { CaptError, formatDuration } from '#lib'

const HOUR_MS = 3_600_000
/** Kept back from the budget for the deletion. */
const DELETION_MS = HOUR_MS / 2
/** Below this a cluster is not even made and deleted. */
const LEAST_MS = HOUR_MS
/** Machines that Karpenter starts for the pod and for its own surge, each at the price of a large one, doubled. */
const KARPENTER_MACHINES = 2
/** Traffic, disks, key and logs. */
const EXTRA_DOLLARS_AN_HOUR = 0.05
/** Regions whose list prices are those of US East. Elsewhere the estimate is doubled. */
const BASE_REGIONS = ['us-east-1', 'us-east-2', 'us-west-2']

export function dollarsAnHour({ region, version, today }: { region: string; version: string; today: string }): number {
  const isExtended = eksState(version, today) === 'extended'
  const nodes = (2 + 2 * KARPENTER_MACHINES) * PRICES['t3.large'].dollars
  const plane = (isExtended ? PRICES.controlPlaneExtended : PRICES.controlPlane).dollars
  const network = PRICES.natGateway.dollars + PRICES.publicAddress.dollars
  return (plane + nodes + network + EXTRA_DOLLARS_AN_HOUR) * (BASE_REGIONS.includes(region) ? 1 : 2)
}

export const dollars = (amount: number): string => `$${amount.toFixed(2)}`
export const spentAfter = (ms: number, rate: number): number => (ms / HOUR_MS) * rate

/** With the usual time for a deletion after the limit. */
export const mostOf = ({ ms }: Limit, rate: number): number => spentAfter(ms + DELETION_MS, rate)

export interface Limit {
  /** After this the deletion begins, whatever was reached. */
  readonly ms: number
  readonly by: 'budget' | 'timeout'
}

/** Refuses a budget that a cluster cannot be made and deleted with. */
export function limitOf(budget: number, timeoutMs: number, rate: number): Limit {
  if (spentAfter(LEAST_MS, rate) > budget)
    throw new CaptError('CAPT_USAGE', `a budget of ${dollars(budget)} is too small`, {
      hint: `an hour may cost ${dollars(rate)}, and a cluster needs about one to be made and deleted; nothing was made`,
    })
  return soonerOf((budget / rate) * HOUR_MS - DELETION_MS, timeoutMs)
}

/** In simulation nothing is paid, so any budget is a limit like another. */
export const simulatedLimitOf = (budget: number, timeoutMs: number, rate: number): Limit =>
  soonerOf((budget / rate) * HOUR_MS, timeoutMs)

const soonerOf = (budgetMs: number, timeoutMs: number): Limit =>
  budgetMs < timeoutMs ? { ms: budgetMs, by: 'budget' } : { ms: timeoutMs, by: 'timeout' }

export const limitText = ({ ms, by }: Limit): string =>
  by === 'budget' ? `the budget, used after ${formatDuration(ms)}` : `--timeout ${formatDuration(ms)}`
