// The log of one run, line by line, and the plan that waits for approval. Both were redacted when they were written; both
// are read with the caller's own permissions.
import { existsSync } from 'node:fs'
import type { WorkspaceTemplateApply } from '#api'
import type { PlanMessage } from '#dashboard'
import { folderOf, isOpen, type ObjectKey, type RunRecord, readLog, readPlanText, readRecord, Tail } from '#engine'
import { isKubeError, type Objects } from '#kube'
import { type Clock, messageOf, redact, type Timer } from '#lib'
import type { Channel } from './channel.ts'

const POLL_MS = 300
const MAX_LINES = 2_000

interface RunFollower {
  /** The apply as it is now; undefined when it is gone. */
  refresh(apply: WorkspaceTemplateApply | undefined): void
}

type Run = NonNullable<RunRecord['run']>

export function followRun(objects: Objects, key: ObjectKey, channel: Channel, clock: Clock): RunFollower {
  let tail: Tail | undefined
  let shown = ''
  let asked = ''
  let plan = ''
  let timer: Timer | undefined
  /** One after the other: an earlier answer must not replace a later one. */
  let reading: Promise<void> = Promise.resolve()

  const send = (run: string, lines: readonly string[], reset: boolean, note?: string) =>
    channel.send('log', { run, reset, lines: lines.slice(-MAX_LINES).map(redact), ...(note ? { note } : {}) })

  const readTail = (run: string, isFirst: boolean) => {
    const lines: string[] = []
    tail?.read((line) => {
      lines.push(line)
      if (lines.length > MAX_LINES) lines.shift()
    })
    if (isFirst || lines.length > 0) send(run, lines, isFirst)
  }

  function follow({ id, folder, runner, holder, job }: Run): void {
    if (shown === id) return
    const file = folderOf(folder).logOf(id)
    // It may come: a run that has just begun has no log yet.
    if (!existsSync(file)) {
      const pod = job && runner?.pod
      const live = pod ? `; live: kubectl logs -n ${pod.namespace} ${pod.name} --follow` : ''
      if (shown !== `${id} elsewhere`)
        send(id, [], true, `The run is on ${(runner ?? holder).host}; its log comes when it has ended${live}`)
      shown = `${id} elsewhere`
      return
    }
    shown = id
    tail = new Tail(file)
    readTail(id, true)
    const poll = () => {
      if (channel.hasRoom()) readTail(id, false)
      timer = clock.after(POLL_MS, poll)
    }
    timer = clock.after(POLL_MS, poll)
  }

  async function showPast({ id }: Run): Promise<void> {
    if (shown === `${id} ended`) return
    shown = `${id} ended`
    timer?.cancel()
    tail = undefined
    const text = await readLog(objects, key, id)
    if (text === undefined) send(id, [], true, 'The log of this run is not kept any more')
    else send(id, text.trimEnd().split('\n'), true)
  }

  async function showPlan(record: RunRecord | undefined, waits: boolean): Promise<void> {
    const proposed = waits ? record?.proposed : undefined
    if ((proposed?.hash ?? '') === plan) return
    const text = proposed && (await readPlanText(objects, key))
    plan = proposed?.hash ?? ''
    channel.send('plan', { plan: proposed && text ? toMessage(proposed, text) : null })
  }

  async function read(apply: WorkspaceTemplateApply): Promise<void> {
    const record = (await readRecord(objects, key))?.record
    if (channel.closed.aborted) return
    await showPlan(record, apply.status?.plan?.approval === 'Required')
    if (!record?.run) send('', [], true, apply.status?.run ? 'Nothing of this run is kept' : 'There was no run yet')
    else if (isOpen(record.run)) follow(record.run)
    else await showPast(record.run)
  }

  channel.closed.addEventListener('abort', () => timer?.cancel(), { once: true })
  return {
    refresh(apply) {
      const { run, plan: summary } = apply?.status ?? {}
      // Progress changes with every resource; only another run or phase is worth a request.
      const version = JSON.stringify([apply?.metadata.uid, run?.id, run?.phase, summary?.hash, summary?.approval])
      if (!apply || version === asked) return
      asked = version
      reading = reading
        .then(() => read(apply))
        .catch((error: unknown) => {
          asked = ''
          const isForbidden = isKubeError(error, 'Forbidden')
          const why = isForbidden
            ? `you may not read the Secrets of ${key.namespace}, where runs are recorded`
            : messageOf(error)
          send('', [], true, `The log cannot be shown: ${why}`)
        })
    },
  }
}

function toMessage(
  proposed: NonNullable<RunRecord['proposed']>,
  text: NonNullable<Awaited<ReturnType<typeof readPlanText>>>,
): PlanMessage {
  const { hash, madeAt, expiresAt, because } = proposed
  return { hash, madeAt, expiresAt, because, changes: text.changes, without: text.without, outputs: text.outputs }
}
