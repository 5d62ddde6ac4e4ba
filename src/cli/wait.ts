// Waits until what was applied is ready at its current generation, together with what is made of it: the parts of a
// Cluster, the runs of an apply, the add-ons.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  type Key,
  type KindRef,
  keyOf,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { isKubeError, type Objects } from '#kube'
import { formatDuration, sleep } from '#lib'
import { followsLabels, followsTemplate, type Readiness, readinessOf } from '#view'
import type { Applied } from './apply.ts'
import { type Connected, EXIT, Interrupted, type Io } from './command.ts'
import { readClusterObjects } from './describe.ts'

const LOOK_MS = 1000
/** Labels, templates and pipelines reach what depends on them by a watch: ready must hold for some time. */
const LOOKS = 3

interface Open extends Readiness {
  readonly name: string
}

export async function waitForReady(
  applied: readonly Applied[],
  waitMs: number,
  connected: Connected,
  io: Io,
): Promise<number> {
  const started = io.clock.monotonic()
  const messages = new Map<string, string>()
  for (let readyLooks = 0; ; ) {
    const open = await findOpen(applied, connected)
    for (const { name, message } of open) {
      if (messages.get(name) !== message) io.stderr.write(`${name}: ${message}\n`)
      messages.set(name, message)
    }
    readyLooks = open.length === 0 ? readyLooks + 1 : 0
    const waited = io.clock.monotonic() - started
    if (readyLooks === LOOKS) {
      io.stderr.write(`Everything is ready (${formatDuration(waited)})\n`)
      return EXIT.fine
    }
    if (waited > waitMs && open.length > 0) {
      io.stderr.write(`Not ready: ${open.map(({ name }) => name).join(', ')}\n`)
      return EXIT.notReady
    }
    await sleep(io.clock, LOOK_MS, io.signal).catch(() => {
      throw new Interrupted('what was applied goes on without this command')
    })
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
      const { cluster, infrastructure, controlPlane, applies, deliveries } = await readClusterObjects(name, {
        ...connected,
        namespace,
      })
      const parts = [infrastructure, controlPlane, ...applies, ...deliveries].flatMap((part) => part ?? [])
      const behind = await Promise.all(deliveries.map((delivery) => labelsReached(delivery, cluster, objects)))
      return [...parts.map(ownReadiness), ...behind.flat()]
    }
    case 'CAPTCluster':
    case 'CAPTControlPlane':
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

async function listIn<T extends AnyObject>(objects: Objects, kind: KindRef, namespace: string | undefined) {
  const found: T[] = []
  try {
    for await (const object of objects.list<T>(kind, namespace === undefined ? {} : { namespace })) found.push(object)
  } catch (error) {
    unseen(error)
  }
  return found
}

/** What this person may not read, or this server does not have, is not waited for. */
function unseen(error: unknown): undefined {
  if (!isKubeError(error, 'Forbidden', 'KindNotServed')) throw error
  return undefined
}
