// Objects of one cluster in, the sections of its page out. Pure; the tree and its words are those of capt describe.
import { type AddonDelivery, type AnyObject, conditionOf, readCluster, type WorkspaceTemplateApply } from '#api'
import type { ClusterSections, FleetRow, NamedStop, PlanSummary, RunView, StageView, TimelineEntry } from '#dashboard'
import { redact } from '#lib'
import {
  applyBranch,
  type Branch,
  type ClusterObjects,
  clusterTree,
  deliveryBranch,
  nameCauses,
  nodeRows,
  runningApply,
  type State,
  stopsIn,
} from '#view'
import type { PageEvent } from './projections.ts'

const MAX_EVENTS = 200

export function sectionsOf(objects: ClusterObjects, events: readonly PageEvent[]): ClusterSections {
  const tree = treeOf(objects)
  return {
    row: rowOf(objects),
    tree: nameCauses(tree),
    stops: stopsOf(objects, tree),
    runs: objects.applies.map(runOf),
    nodes: nodeRows(objects).map((row) => ({ ...row, fact: redact(row.fact) })),
    stages: objects.deliveries.flatMap(stagesOf),
    events: timelineOf(events),
  }
}

/** The tree of capt describe; a Cluster of another provider is described by the conditions of core. */
function treeOf(objects: ClusterObjects): Branch {
  const tree = clusterTree(objects)
  const { infrastructureRef, controlPlaneRef } = readCluster(objects.cluster)
  const isOurs = infrastructureRef?.kind === 'CAPTCluster' || controlPlaneRef?.kind === 'CAPTControlPlane'
  return tree.children.length > 0 || isOurs ? tree : coreTree(objects.cluster)
}

function coreTree(cluster: AnyObject): Branch {
  const { name, paused, deleting, infrastructureRef, controlPlaneRef } = readCluster(cluster)
  const available = conditionOf(cluster, 'Available') ?? conditionOf(cluster, 'Ready')
  const state: State = deleting ? 'deleting' : paused ? 'paused' : stateOfCondition(available?.status)
  const part = (ref: typeof infrastructureRef, type: string): readonly Branch[] => {
    if (!ref) return []
    const condition = conditionOf(cluster, type)
    const found = stateOfCondition(condition?.status)
    const since = condition ? { since: condition.lastTransitionTime } : {}
    const fact = found === 'ready' ? '' : (condition?.message ?? '')
    return [{ name: `${ref.kind}/${ref.name}`, state: found, word: found, fact, ...since, children: [] }]
  }
  return {
    name: `Cluster/${name}`,
    state,
    word: state === 'ready' || state === 'deleting' || state === 'paused' || state === 'unknown' ? state : 'not ready',
    fact: state === 'ready' ? '' : (available?.message.split('\n')[0] ?? ''),
    ...(available ? { since: available.lastTransitionTime } : {}),
    children: [...part(infrastructureRef, 'InfrastructureReady'), ...part(controlPlaneRef, 'ControlPlaneAvailable')],
  }
}

const stateOfCondition = (status: string | undefined): State =>
  status === 'True' ? 'ready' : status === 'False' ? 'waiting' : 'unknown'

const waitsForApproval = ({ status }: WorkspaceTemplateApply): boolean => status?.plan?.approval === 'Required'

/** Those of the tree, and of applies that carry the label of the cluster without being part of it. */
function stopsOf({ applies }: ClusterObjects, tree: Branch): readonly NamedStop[] {
  const plans = new Set(applies.filter(waitsForApproval).map(({ metadata }) => metadata.name))
  const known = new Set(namesIn(tree))
  const stray = applies
    .filter(({ metadata }) => !known.has(metadata.name))
    .flatMap((apply) => stopsIn(applyBranch(apply)))
  return [...stopsIn(tree), ...stray]
    .filter(({ name }) => !plans.has(name))
    .flatMap(({ name, stop }) => (stop ? [{ name, stop }] : []))
}

const namesIn = ({ name, children }: Branch): readonly string[] => [name, ...children.flatMap(namesIn)]

export function rowOf(objects: ClusterObjects): FleetRow {
  const tree = treeOf(objects)
  const stops = stopsOf(objects, tree)
  const { namespace, name, topology } = readCluster(objects.cluster)
  const run = runningApply(objects)
  const version = objects.controlPlane?.status?.version ?? topology?.version ?? ''
  return {
    id: `${namespace}/${name}`,
    namespace,
    name,
    state: tree.state,
    word: tree.word,
    // What stopped it says more than what it waits for.
    fact: redact(tree.state === 'ready' ? tree.fact : (stops[0]?.stop.what ?? tree.fact)),
    version,
    region: objects.infrastructure?.spec.region ?? '',
    ...(tree.since === undefined ? {} : { since: tree.since }),
    ...(run ? { run: { verb: run.verb, done: run.done, of: run.of } } : {}),
    plans: objects.applies.filter(waitsForApproval).length,
    stops: stops.length,
  }
}

function runOf(apply: WorkspaceTemplateApply): RunView {
  const { state, word, fact, stop } = applyBranch(apply)
  const { run, state: saved } = apply.status ?? {}
  const [, done, of] = /^(\d+) of (\d+)/.exec(run?.progress ?? '') ?? []
  const plan = planOf(apply)
  return {
    name: apply.metadata.name,
    owner: apply.metadata.ownerReferences?.[0]?.kind ?? '',
    state,
    word,
    fact: redact(fact),
    ...(stop ? { stop } : {}),
    ...(run?.verb ? { verb: run.verb, phase: run.phase ?? '' } : {}),
    ...(done === undefined ? {} : { done: Number(done), of: Number(of) }),
    ...(run?.address ? { address: run.address } : {}),
    ...(run?.attempt ? { attempt: run.attempt } : {}),
    ...(run?.startedAt ? { startedAt: run.startedAt } : {}),
    ...(run?.finishedAt ? { finishedAt: run.finishedAt } : {}),
    ...(run?.queue ? { queue: `position ${run.queue.position ?? '?'}, ${run.queue.reason ?? ''}` } : {}),
    ...(saved?.resources === undefined ? {} : { resources: saved.resources }),
    ...(plan ? { plan } : {}),
  }
}

function planOf({ status }: WorkspaceTemplateApply): PlanSummary | undefined {
  const plan = status?.plan
  if (!plan) return undefined
  const { hash, approval, approvedBy, add = 0, change = 0, destroy = 0, replace = 0, changes = [], more = 0 } = plan
  return {
    ...(hash ? { hash } : {}),
    add,
    change,
    destroy,
    replace,
    ...(approval ? { approval } : {}),
    ...(approvedBy ? { approvedBy } : {}),
    changes: changes.map(({ address, action, reason }) => ({ address, action, ...(reason ? { reason } : {}) })),
    more,
  }
}

function stagesOf(delivery: AddonDelivery): readonly StageView[] {
  const branches = new Map(deliveryBranch(delivery).children.map((branch) => [branch.name, branch]))
  return (delivery.status?.stages ?? []).flatMap((stage) => {
    const branch = branches.get(stage.name)
    if (!branch) return []
    return [
      {
        name: stage.name,
        state: branch.state,
        word: branch.word,
        version: stage.adopted ?? stage.wantedVersion ?? '',
        ...(stage.delivered ? { delivered: stage.delivered.equal } : {}),
        healthy: stage.healthy?.status ?? 'Unknown',
        evidence: stage.healthy?.evidence ?? [],
        message: redact(stage.message ?? stage.reason ?? ''),
        ...(stage.gate ? { gate: { label: stage.gate.label, open: stage.gate.open } } : {}),
        took: stage.durations?.healthy ?? '',
      } satisfies StageView,
    ]
  })
}

/** Newest first. What capt repeats on the Cluster for kubectl users is shown once, on the object itself. */
function timelineOf(events: readonly PageEvent[]): readonly TimelineEntry[] {
  const entries = events.map(toEntry)
  const known = new Set(entries.map(({ about, reason, message }) => `${reason} ${about.replace('/', ' ')}: ${message}`))
  return entries
    .filter(({ about, reason, message }) => !(about.startsWith('Cluster/') && known.has(`${reason} ${message}`)))
    .sort((a, b) => (a.time === b.time ? (a.id < b.id ? -1 : 1) : a.time < b.time ? 1 : -1))
    .slice(0, MAX_EVENTS)
}

function toEntry({
  metadata,
  regarding,
  type,
  reason = '',
  note = '',
  eventTime,
  series,
  ...more
}: PageEvent): TimelineEntry {
  const { deprecatedLastTimestamp, deprecatedCount } = more
  return {
    id: metadata.uid ?? metadata.name,
    time: series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '',
    isWarning: type === 'Warning',
    reason,
    message: redact(note),
    about: `${regarding?.kind ?? ''}/${regarding?.name ?? ''}`,
    count: series?.count ?? deprecatedCount ?? 1,
  }
}
