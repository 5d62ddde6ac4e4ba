// Who holds the lock on a state, and what a person can do about it. A lock whose holder is alive is never to be broken.
import type { WorkspaceExam } from '#engine'
import type { Finding } from '#view'
import { know, person } from './finding.ts'

/** Holders renew every 15 seconds; clocks of two machines may differ by some. */
const SILENT_MS = 120_000

export function lockFindings(name: string, { lock }: WorkspaceExam, nowMs: number): readonly Finding[] {
  if (lock.is === 'free') return []
  if (lock.is === 'foreign')
    return [
      person(
        'lock',
        `held by a person, not by capt: ${lock.who}`,
        'wait for them, or ask them; only when nobody works there any more:',
        { command: lock.command },
      ),
    ]
  const { holder, liveness, renewedAt, runId } = lock
  const who = `run ${runId.slice(0, 8)}, process ${holder.pid} on ${holder.host}`
  const since = renewedAt === undefined ? {} : { since: renewedAt }
  if (liveness === 'alive') return [know('lock', `held by ${who}, which is alive`)]
  if (liveness === 'dead')
    return [
      know('lock', `held by ${who}, which is gone`, 'the next run takes it by itself:', {
        command: `capt retry ${name}`,
        ...since,
      }),
    ]
  const isSilent = renewedAt === undefined || nowMs - Date.parse(renewedAt) > SILENT_MS
  if (!isSilent) return [know('lock', `held by ${who}, which renewed it just now`, '', since)]
  const what = `held by ${who}, which is silent; from here it cannot be known whether it lives`
  const command = `capt retry ${name} --holder-is-gone`
  return [person('lock', what, 'when that machine is gone for good:', { command, ...since })]
}
