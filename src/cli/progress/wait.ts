// Waits until what was applied is ready at its current generation, together with what is made of it: the parts of a
// Cluster, the runs of an apply, the add-ons.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  clusterKind,
  type Key,
  type KindRef,
  keyOf,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { type Connected, type Objects, servedKind } from '#kube'
import { formatDuration, sleep } from '#lib'
import {
  clusterTree,
  followsLabels,
  followsTemplate,
  type Readiness,
  readClusterObjects,
  readinessOf,
  renderStops,
} from '#view'
import { EXIT, Interrupted, type Io } from '../command.ts'
import { absent, listIn, unseen } from '../objects/list.ts'
import { renderOptions } from '../output.ts'
import { reportCluster } from './cluster.ts'
import { createReporter, type Reporter } from './reporter.ts'

const POLL_MS = 1000
/** Labels, templates and pipelines reach what depends on them by a watch: ready must hold for some time. */
const READS = 3

export interface Applied {
  readonly kind: KindRef
  readonly key: Key
}

interface Open extends Readiness {
  readonly name: string
}

export async function waitForReady(
  applied: readonly Applied[],
  waitMs: number,
  connected: Connected,
  io: Io,
): Promise<number> {
  const reporter = createReporter(io)
  try {
    for (let readyReads = 0; ; ) {
      const open = await findOpen(applied, connected)
      const live = await reportProgress(applied, open, { reporter, connected, io })
      readyReads = open.length === 0 ? readyReads + 1 : 0
      if (readyReads === READS) {
        reporter.close()
        io.stderr.write(`Everything is ready (${formatDuration(reporter.elapsedMs())})\n`)
        return EXIT.fine
      }
      if (reporter.elapsedMs() > waitMs && open.length > 0) {
        reporter.close()
        io.stderr.write(`Not ready: ${open.map(({ name }) => name).join(', ')}\n`)
        await explainStops(applied, connected, io)
        if (open.every(({ isUnseen }) => isUnseen))
          io.stderr.write('  hint nothing has looked at it: check that capt up or the manager is running\n')
        return EXIT.notReady
      }
      reporter.live(live)
      await sleep(io.clock, POLL_MS, io.signal).catch(() => {
        throw new Interrupted('what was applied goes on without this command')
      })
    }
  } finally {
    reporter.close()
  }
}

const isCluster = ({ kind }: Applied): boolean => kind.kind === 'Cluster'

async function clusterOf({ kind, key }: Applied, connected: Connected) {
  const namespace = key.namespace ?? connected.namespace
  return await readClusterObjects(kind, key.name, { ...connected, namespace }).catch(absent)
}

/** Clusters by their milestones, everything that belongs to none by its message. Returns what is under way. */
async function reportProgress(
  applied: readonly Applied[],
  open: readonly Open[],
  { reporter, connected, io }: { readonly reporter: Reporter; readonly connected: Connected; readonly io: Io },
): Promise<string> {
  const clusters = applied.filter(isCluster)
  const covered = new Set<string>()
  const live: string[] = []
  for (const one of clusters) {
    const objects = await clusterOf(one, connected)
    if (!objects) continue
    const { cluster, infrastructure, controlPlane, applies, deliveries } = objects
    for (const part of [cluster, infrastructure, controlPlane, ...applies, ...deliveries])
      if (part) covered.add(`${part.kind}/${part.metadata.name}`)
    const text = reportCluster(objects, reporter, clusters.length > 1 ? `${one.key.name}: ` : '', io)
    if (open.some(({ name }) => name === `Cluster/${one.key.name}`) || open.length > 0) live.push(text)
  }
  for (const { name, message } of open) if (!covered.has(name)) reporter.note(name, message)
  const [first] = open
  return live[0] ?? (first ? `${first.name}: ${first.message}` : 'ready; looking once more')
}

async function explainStops(applied: readonly Applied[], connected: Connected, io: Io): Promise<void> {
  for (const one of applied.filter(isCluster)) {
    const objects = await clusterOf(one, connected)
    if (objects) io.stderr.write(renderStops(clusterTree(objects), renderOptions(io)))
  }
}

/** What is not ready, of the objects themselves and of all that is made of them; each object once. */
async function findOpen(applied: readonly Applied[], connected: Connected): Promise<readonly Open[]> {
  const open = new Map<string, Open>()
  const note = (object: AnyObject, readiness: Readiness) => {
    const name = `${object.kind}/${object.metadata.name}`
    if (!readiness.ready && !open.has(name)) open.set(name, { name, ...readiness })
  }
  for (const { kind, key } of applied) {
    const object = await connected.objects.get<AnyObject>(kind, key)
    if (!object) {
      const name = `${kind.kind}/${key.name}`
      open.set(name, { name, ready: false, message: 'is not there any more' })
      continue
    }
    note(object, readinessOf(object))
    for (const [part, readiness] of await partsOf(object, key, connected)) note(part, readiness)
  }
  return [...open.values()]
}

type Part = readonly [AnyObject, Readiness]
const ownReadiness = (object: AnyObject): Part => [object, readinessOf(object)]

async function partsOf(object: AnyObject, key: Key, connected: Connected): Promise<readonly Part[]> {
  const { objects } = connected
  const namespace = key.namespace ?? connected.namespace
  const { name, uid } = object.metadata
  const applies = () => listIn<WorkspaceTemplateApply>(objects, WorkspaceTemplateApply, namespace)
  switch (object.kind) {
    case 'Cluster': {
      const {
        cluster,
        infrastructure,
        controlPlane,
        pools = [],
        applies,
        deliveries,
      } = await readClusterObjects(await servedKind(connected, clusterKind), name, { objects, namespace })
      const parts = [infrastructure, controlPlane, ...pools, ...applies, ...deliveries].flatMap((part) => part ?? [])
      const behind = await Promise.all(deliveries.map((delivery) => labelsReached(delivery, cluster, objects)))
      return [...parts.map(ownReadiness), ...behind.flat()]
    }
    case 'CAPTCluster':
    case 'CAPTControlPlane':
    case 'CAPTMachinePool':
      return (await applies())
        .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
        .map(ownReadiness)
    case WorkspaceTemplate.kind: {
      const template = object as WorkspaceTemplate
      return (await applies())
        .filter(({ spec }) => spec.templateRef.name === name && (spec.templateRef.namespace ?? namespace) === namespace)
        .flatMap((apply) => [[apply, followsTemplate(apply, template)] as const, ownReadiness(apply)])
    }
    case AddonPipeline.kind:
      return (await listIn<AddonDelivery>(objects, AddonDelivery, undefined))
        .filter(({ spec, metadata }) => {
          const at = spec.pipelineRef.namespace ?? metadata.namespace
          return spec.pipelineRef.name === name && at === namespace
        })
        .map(ownReadiness)
    default:
      return []
  }
}

async function labelsReached(delivery: AddonDelivery, cluster: AnyObject, objects: Objects): Promise<readonly Part[]> {
  const { name, namespace = keyOf(delivery).namespace! } = delivery.spec.pipelineRef
  const pipeline = await objects.get<AddonPipeline>(AddonPipeline, { namespace, name }).catch(unseen)
  return pipeline ? [[delivery, followsLabels(delivery, pipeline, cluster)]] : []
}
