// Follows deletions until the objects are gone: the steps of each cluster in their order, and what is under way.
import { type AnyObject, CoreEventKind, conditionOf, type KindRef } from '#api'
import { type Connected, ignore, isKubeError } from '#kube'
import { formatDuration, isCaptError, redact, sleep } from '#lib'
import { type ClusterObjects, clusterTree, readClusterObjects } from '#view'
import { EXIT, Interrupted, type Io } from '../command.ts'
import { reportStops, runText } from './cluster.ts'
import { createReporter, type Reporter } from './reporter.ts'

const POLL_MS = 1000

export interface Deleted {
  readonly kind: KindRef
  readonly namespace: string
  readonly name: string
}

const titleOf = ({ kind, name }: Deleted): string => `${kind.kind}/${name}`

export async function followDeletion(
  all: readonly Deleted[],
  deadlineMs: number,
  connected: Connected,
  io: Io,
): Promise<number> {
  const reporter = createReporter(io)
  const known = new Map<Deleted, ClusterObjects>()
  let left = all
  const stillDeleting = () =>
    `${left.map(titleOf).join(', ')} still being deleted; the deletion goes on without this command`
  try {
    while (reporter.elapsedMs() < deadlineMs) {
      const open: string[] = []
      const remaining: Deleted[] = []
      for (const one of left) {
        const object = await connected.objects.get<AnyObject>(one.kind, one)
        const prefix = all.length > 1 ? `${one.name}: ` : ''
        if (!object) {
          const last = known.get(one)
          if (last)
            reportGone(last, { cluster: last.cluster, applies: [], deliveries: last.deliveries }, prefix, reporter)
          reporter.close()
          io.stdout.write(`${titleOf(one)} is gone (${formatDuration(reporter.elapsedMs())})\n`)
          for (const text of await readLeft(one, last?.cluster.metadata.uid, connected)) io.stderr.write(`${text}\n`)
          continue
        }
        remaining.push(one)
        open.push(await reportStep(one, object, { known, prefix, reporter }, connected, io))
      }
      left = remaining
      if (left.length === 0) return EXIT.fine
      reporter.live(open.find((text) => text !== '') ?? 'deleting')
      await sleep(io.clock, POLL_MS, io.signal).catch(() => {
        throw new Interrupted(stillDeleting())
      })
    }
  } finally {
    reporter.close()
  }
  io.stderr.write(`${stillDeleting()}\n`)
  return EXIT.notReady
}

interface LeftEvent extends AnyObject {
  readonly message?: string
  readonly involvedObject: { readonly uid?: string }
}

/** What the Events of a deleted Cluster report as left in the cloud, each once. None where Events may not be read. */
export async function readLeft(
  { kind, namespace, name }: Deleted,
  uid: string | undefined,
  { objects }: Pick<Connected, 'objects'>,
): Promise<readonly string[]> {
  if (kind.kind !== 'Cluster' || uid === undefined) return []
  const fieldSelector = `reason=LeftBehind,involvedObject.kind=Cluster,involvedObject.name=${name}`
  const events = Array.fromAsync(objects.list<LeftEvent>(CoreEventKind, { namespace, fieldSelector }))
  const own = ((await events.catch(ignore('Forbidden'))) ?? []).filter(
    ({ involvedObject }) => involvedObject.uid === uid,
  )
  return [...new Set(own.map(({ message = '' }) => redact(message)))]
}

/** The first line of a condition, without the mark that core puts before each of several. */
export const firstFact = (message = ''): string => message.split('\n')[0]!.replace(/^\* /, '')

interface Following {
  readonly known: Map<Deleted, ClusterObjects>
  readonly prefix: string
  readonly reporter: Reporter
}

/** Reports what is new about one object, and returns what is under way. */
async function reportStep(
  one: Deleted,
  object: AnyObject,
  { known, prefix, reporter }: Following,
  connected: Connected,
  io: Io,
): Promise<string> {
  const step = firstFact((conditionOf(object, 'Deleting') ?? conditionOf(object, 'Ready'))?.message)
  if (one.kind.kind !== 'Cluster') {
    if (step !== '') reporter.note(`${prefix}${one.name}`, step)
    return `${prefix}${one.name}: ${step || 'deleting'}`
  }
  const objects = await readClusterObjects(one.kind, one.name, { ...connected, namespace: one.namespace }).catch(
    (error: unknown) => {
      if (isCaptError(error, 'CAPT_KUBE_NOT_FOUND') || isKubeError(error, 'NotFound')) return undefined
      throw error
    },
  )
  if (!objects) return ''
  reportGone(known.get(one), objects, prefix, reporter)
  known.set(one, objects)
  reportStops(clusterTree(objects), reporter, prefix, io)
  return `${prefix}${runText(objects, io) ?? (step || 'deleting')}`
}

/** What has gone since the last look, and the steps of the teardown that ended. */
function reportGone(before: ClusterObjects | undefined, now: ClusterObjects, prefix: string, reporter: Reporter): void {
  const milestone = (id: string, subject: string, word: string, evidence = '') =>
    reporter.milestone({ id: `${prefix}${id}`, subject: `${prefix}${subject}`, word, evidence })
  for (const { status } of now.deliveries)
    for (const { name, state, message = '' } of status?.teardown?.steps ?? [])
      if (state !== 'Running') milestone(`step-${name}`, 'add-ons', state.toLowerCase(), `${name}: ${message}`)
  for (const apply of before?.applies ?? [])
    if (!now.applies.some(({ metadata }) => metadata.uid === apply.metadata.uid)) {
      const word = apply.spec.retainWorkspaceOnDelete ? 'kept in place' : 'destroyed'
      milestone(`apply-${apply.metadata.uid}`, 'terraform', word, apply.metadata.name)
    }
  if (before && before.deliveries.length > now.deliveries.length) milestone('add-ons', 'add-ons', 'gone')
  if (before?.controlPlane && !now.controlPlane) milestone('control-plane', 'control plane', 'gone')
  if (before?.infrastructure && !now.infrastructure) milestone('network', 'network', 'gone')
}
