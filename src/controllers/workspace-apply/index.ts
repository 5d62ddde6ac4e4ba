// The controller for WorkspaceTemplateApply: keeps what Terraform made as the template and the variables say.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type KindRef,
  keyOf,
  readCluster,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import type { Engine } from '#engine'
import type { Cache, Projected } from '#kube'
import { jsonEqual } from '#lib'
import type { Controller } from '#runtime'
import { actOnApply } from './act.ts'
import type { Action } from './actions.ts'
import { briefApply } from './brief.ts'
import { decide } from './decide.ts'
import { BY_DEPENDENCY, BY_TEMPLATE, dependencyValues, refText, templateValues } from './dependencies.ts'
import { type Observed, type ObserveOptions, observeApply } from './observe.ts'
import { MOMENT_MS, recentSources } from './recent-sources.ts'
import { isReported, statusOf } from './status.ts'

export interface WorkspaceApplyOptions {
  readonly engine: Engine
  /** Cluster in the version that the server serves; absent where there is no Cluster API. */
  readonly clusterKind?: KindRef
  /** Seconds before another attempt, for tests in a hurry. */
  readonly backoff?: ObserveOptions['backoff']
  /** Seconds between two looks at ConfigMaps and Secrets that a template reads. */
  readonly sourceSeconds?: number
  /** Serve the namespace of the oldest apply only. */
  readonly singleTenant?: boolean
}

const BY_CLUSTER = 'cluster'
const BY_TURN = 'turn'

export function workspaceApplyController(
  options: WorkspaceApplyOptions,
): Controller<WorkspaceTemplateApply, Observed, Action> {
  const { engine, clusterKind, backoff, sourceSeconds, singleTenant } = options
  const observing: ObserveOptions = {
    engine,
    clusterKind,
    sourceSeconds,
    singleTenant,
    sources: recentSources(Math.min(MOMENT_MS, (sourceSeconds ?? Number.POSITIVE_INFINITY) * 1000)),
    ...(backoff ? { backoff } : {}),
  }
  return {
    name: 'workspacetemplateapply',
    kind: WorkspaceTemplateApply,
    // A run that failed is reported before the next one takes its place.
    reportsAtRest: ({ apply, view: { record } }) =>
      record?.run?.fault === undefined || isReported(apply, record.run.id, record.run.phase),
    wakes: [
      { kind: WorkspaceTemplate, toKeys: usersOf, ignores: isOnlyStatus },
      { kind: WorkspaceTemplateApply, toKeys: neighboursOf },
      ...(clusterKind ? [{ kind: clusterKind, toKeys: ofCluster }] : []),
    ],
    indexes: [
      { kind: WorkspaceTemplateApply, name: BY_DEPENDENCY, values: dependencyValues },
      { kind: WorkspaceTemplateApply, name: BY_TEMPLATE, values: templateValues },
      { kind: WorkspaceTemplateApply, name: BY_TURN, values: turnValues },
      { kind: WorkspaceTemplateApply, name: BY_CLUSTER, values: clusterValues },
    ],
    briefs: [{ kind: WorkspaceTemplateApply, brief: briefApply }],
    observe: (world, apply) => observeApply(world, apply, observing),
    decide,
    act: (world, seen, action) => actOnApply(engine, world, seen, action),
    status: statusOf,
  }
}

/** A template counts its users in its status: that must not wake every one of them. */
function isOnlyStatus(now: AnyObject, before: AnyObject): boolean {
  const said = ({ metadata: { generation, annotations, labels, deletionTimestamp } }: AnyObject) => ({
    generation,
    annotations,
    labels,
    deletionTimestamp,
  })
  return jsonEqual(said(now), said(before))
}

function usersOf(changed: Projected<AnyObject>, cache: Cache) {
  const value = refText(changed.metadata, changed.metadata.namespace)
  return cache
    .list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { index: BY_TEMPLATE, value, brief: true })
    .map(keyOf)
}

/** Those that wait for it, those it waits for (they may be going), and those that wait for their turn after it. */
function neighboursOf(changed: Projected<AnyObject>, cache: Cache) {
  const own = refText(changed.metadata, changed.metadata.namespace)
  const waiting = cache.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, {
    index: BY_DEPENDENCY,
    value: own,
    brief: true,
  })
  const going = dependencyValues(changed).flatMap((text) => {
    const [namespace = '', name = ''] = text.split('/')
    const other = cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
    return other?.metadata.deletionTimestamp ? [other] : []
  })
  const next = templateValues(changed).flatMap((value) =>
    cache.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { index: BY_TURN, value, brief: true }),
  )
  return [...waiting, ...going, ...next].filter((other) => other.metadata.uid !== changed.metadata.uid).map(keyOf)
}

/** The template of an apply that waits for its turn. An index, because every change of every apply asks for them. */
function turnValues(object: AnyObject): readonly string[] {
  const { conditions = [] } = (object as WorkspaceTemplateApply).status ?? {}
  const isWaiting = conditions.some(({ type, reason }) => type === 'Ready' && reason === 'WaitingForTurn')
  return isWaiting ? templateValues(object) : []
}

function clusterValues(object: AnyObject): readonly string[] {
  const name = object.metadata.labels?.[CLUSTER_NAME_LABEL]
  return name === undefined ? [] : [`${object.metadata.namespace ?? ''}/${name}`]
}

/** Of a Cluster an apply asks only whether it is paused; that it no longer is, the object before the change tells. */
function ofCluster(changed: Projected<AnyObject>, cache: Cache) {
  if (!readCluster(changed).paused) return []
  const value = refText(changed.metadata, changed.metadata.namespace)
  return cache
    .list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { index: BY_CLUSTER, value, brief: true })
    .map(keyOf)
}
