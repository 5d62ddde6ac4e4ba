// The report of an acceptance run: for people at its end, and as data beside the transcript.
import { PRICES } from '#catalog'
import { formatDuration } from '#lib'
import { dollars, spentAfter } from './estimate.ts'
import type { Result } from './story.ts'

interface Run {
  readonly where: string
  readonly version: string
  readonly startedAt: string
  readonly elapsedMs: number
  readonly dollarsAnHour: number
  readonly isPaid: boolean
}

export const isPassed = ({ steps }: Result): boolean => steps.every(({ outcome }) => outcome === 'passed')

export function toReport(run: Run, result: Result): object {
  const { where, version, startedAt, elapsedMs, dollarsAnHour, isPaid } = run
  return {
    result: isPassed(result) ? 'passed' : 'failed',
    where,
    kubernetes: version,
    startedAt,
    seconds: Math.round(elapsedMs / 1000),
    cost: {
      currency: 'USD',
      isEstimate: true,
      paid: isPaid ? Number(spentAfter(elapsedMs, dollarsAnHour).toFixed(2)) : 0,
      anHour: Number(dollarsAnHour.toFixed(2)),
      prices: PRICES,
    },
    ...result,
  }
}

export function renderReport(run: Run, result: Result): string {
  const { elapsedMs, dollarsAnHour, isPaid } = run
  const cost = isPaid
    ? `about ${dollars(spentAfter(elapsedMs, dollarsAnHour))} at most; the bill of AWS counts`
    : `nothing; in AWS the same time would cost at most ${dollars(spentAfter(elapsedMs, dollarsAnHour))}`
  return [
    '',
    `Acceptance in ${run.where}: ${isPassed(result) ? 'passed' : 'failed'} after ${formatDuration(elapsedMs)}`,
    ...result.steps.map(
      ({ step, outcome, seconds, detail }) => `  ${step.padEnd(22)} ${outcome.padEnd(8)} ${seconds}s  ${detail}`,
    ),
    `  ${'cost'.padEnd(22)} ${cost}`,
    ...result.leftovers.map((one) => `  ${'left'.padEnd(22)} ${one}`),
    '',
  ].join('\n')
}
