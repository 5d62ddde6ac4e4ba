// Plays the job controller: a Job is complete after a moment, unless its switch says otherwise.
import { type AnyObject, JobKind } from '#api'
import type { Projected } from '#kube'
import { toTimestamp } from '#lib'
import { type Controller, done, waiting } from '#runtime'
import { conditionList, type Stage, secondsLeft } from '../actor.ts'
import { type Fault, faultOf, slowMs, wakeOnFaults } from '../faults.ts'

interface Observed {
  readonly job: Projected<AnyObject & { status?: { conditions?: unknown; startTime?: string } }>
  readonly fault: Fault
  readonly left: number
  readonly nowMs: number
}

export function jobActor(stage: Stage): Controller<AnyObject, Observed, never> {
  return {
    name: 'simulated-job',
    kind: JobKind,
    summary: false,
    wakes: [wakeOnFaults(JobKind)],
    async observe({ cache }, job) {
      const fault = faultOf(cache, job)
      const nowMs = stage.clock.now()
      const left = secondsLeft(job.metadata.creationTimestamp, stage.paceMs + slowMs(fault), nowMs)
      return { job, fault, nowMs, left }
    },
    decide: ({ left }) => (left > 0 ? waiting('Running', 'The pod runs', left) : done),
    act: async () => undefined,
    status({ job, fault, left, nowMs }) {
      const startTime = job.status?.startTime ?? toTimestamp(nowMs)
      if (left > 0 || fault.is === 'pull') return { fields: { startTime, active: 1 } }
      const drafts =
        fault.is === 'crash'
          ? ([
              {
                type: 'Failed',
                status: 'True',
                reason: 'BackoffLimitExceeded',
                message: 'Job has reached the specified backoff limit (simulated)',
              },
            ] as const)
          : ([{ type: 'Complete', status: 'True', reason: 'CompletionsReached' }] as const)
      const count = fault.is === 'crash' ? { failed: 1 } : { succeeded: 1 }
      return {
        fields: {
          startTime,
          active: undefined,
          ...count,
          conditions: conditionList(job.status?.conditions, drafts, nowMs),
        },
      }
    },
  }
}
