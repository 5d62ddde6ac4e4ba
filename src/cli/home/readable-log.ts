// The log of `capt up` for people: one line per Kubernetes event and per warning of the program.
import { type AnyObject, EventKind } from '#api'
import { connect, type ServerAccess } from '#kube'
import { parseJson } from '#lib'
import type { Io, Sink } from '../command.ts'
import { hangingLine } from '../hanging-line.ts'

interface EventObject extends AnyObject {
  readonly type?: string
  readonly reason?: string
  readonly note?: string
  readonly regarding?: { readonly kind?: string; readonly name?: string; readonly namespace?: string }
  readonly series?: { readonly count?: number }
}

/** `07:15:36  WorkspaceTemplateApply/demo-vpc  RunStarted  Starting terraform apply` */
export function eventLine(event: EventObject, nowMs: number, sink: Omit<Sink, 'write'>): string {
  const { regarding, reason = '', note = '', type } = event
  const namespace = regarding?.namespace === 'default' ? '' : `${regarding?.namespace ?? ''}/`
  const mark = type === 'Warning' ? '! ' : '  '
  const about = `${regarding?.kind ?? ''}/${namespace}${regarding?.name ?? ''}`
  const head = `${timeOf(nowMs)}${mark}${about.padEnd(34)}  ${reason.padEnd(16)}  `
  return hangingLine(head, note.replace(/\s+/g, ' ').trim(), sink)
}

const timeOf = (ms: number): string => new Date(ms).toISOString().slice(11, 19)

/** A line of the JSON log as text; what is no JSON stays as it is. */
export function logLine(line: string): string {
  try {
    const { level, time, message, reconcileID: _, ...keys } = parseJson(line) as Record<string, unknown>
    const at = typeof time === 'string' ? time.slice(11, 19) : ''
    const rest = Object.entries(keys).map(
      ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    return `${at}${level === 'info' || level === 'debug' ? '  ' : '! '}${String(message)}  ${rest.join(' ')}`
      .trimEnd()
      .concat('\n')
  } catch {
    return line
  }
}

export const readableSink = (to: Sink): { write(line: string): void } => ({ write: (line) => to.write(logLine(line)) })

/** Prints events as they come, those of the past left out, until it is closed. */
export async function followEvents(access: ServerAccess, isShown: (isWarning: boolean) => boolean, io: Io) {
  const connection = connect(access, { clock: io.clock })
  const { informers } = connection
  let isListed = false
  informers.register(EventKind)
  informers.onChange(EventKind, ({ type, object }) => {
    const event = object as unknown as EventObject
    if (isListed && type !== 'deleted' && isShown(event.type === 'Warning'))
      io.stderr.write(eventLine(event, io.clock.now(), io.stderr))
  })
  informers.start()
  await informers.synced()
  isListed = true
  return { close: () => connection.close() }
}
