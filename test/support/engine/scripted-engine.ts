// An engine whose runs end as a test says, on the clock of the test. Records are opened and closed by the functions that the
// real engines use, so attempts are counted as they count them.
import { type Key, keyText } from '#api'
import type { Engine, RunFault, RunRecord, StartRequest, Verb } from '#engine'
import { type Clock, toTimestamp } from '#lib'
import { openRun } from '../../../src/engine/local/open-run.ts'
import { closeRun, isOpen, newRecord } from '../../../src/engine/record/record.ts'

export interface ScriptedStart {
  readonly verb: Verb
  readonly startedMs: number
  finishedMs?: number
}

export interface ScriptedEngine extends Engine {
  readonly starts: ScriptedStart[]
}

/** `end` answers with what a run fails with, or undefined when it succeeds. */
export function scriptedEngine(
  clock: Clock,
  end: (request: StartRequest) => RunFault | undefined,
  tookMs = 2_000,
): ScriptedEngine {
  const records = new Map<string, RunRecord>()
  const listeners = new Set<(key: Key) => void>()
  const starts: ScriptedStart[] = []
  const now = () => toTimestamp(clock.now())
  const notify = ({ namespace, name }: Key) => {
    for (const listener of listeners) listener({ namespace: namespace ?? '', name })
  }

  function finish(request: StartRequest, start: ScriptedStart, phase?: 'Cancelled'): void {
    const { owner, verb, hash } = request
    const fault = end(request)
    const before = records.get(keyText(owner))
    if (!isOpen(before?.run)) return
    const closed = closeRun(before!, phase ?? (fault ? 'Failed' : 'Succeeded'), now(), fault)
    const bundle = { id: 'b', parts: 1, bytes: 1, hash, tool: 'scripted' }
    const applied = { hash, at: now(), runId: closed.run!.id, outputs: {}, omitted: [] }
    const isMade = verb === 'apply' && fault === undefined
    records.set(keyText(owner), { ...closed, ...(isMade ? { bundle, applied } : {}) })
    start.finishedMs = clock.now()
    notify(owner)
  }

  return {
    name: 'scripted',
    starts,
    async start(request) {
      const { owner, verb } = request
      const before = records.get(keyText(owner)) ?? newRecord('id')
      if (isOpen(before.run)) return
      records.set(keyText(owner), openRun(before, request, '', now()))
      const start: ScriptedStart = { verb, startedMs: clock.now() }
      starts.push(start)
      notify(owner)
      clock.after(tookMs, () => finish(request, start))
    },
    async observe(key) {
      const record = records.get(keyText(key))
      return { record, activity: isOpen(record?.run) ? 'running' : 'idle', cancelling: false }
    },
    async cancel() {},
    async abandon() {},
    reconstruct: async () => ({ is: 'empty', notes: [] }),
    async forget(owner) {
      records.delete(keyText(owner))
    },
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    running: 0,
    async drain() {},
    async stop() {},
  }
}
