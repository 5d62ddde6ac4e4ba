// The controller for WorkspaceTemplateApply: runs Terraform whenever template or variables differ from what was applied.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type KindRef,
  keyText,
  readCluster,
  toKey,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import type { Engine } from '#engine'
import type { Cache, Projected } from '#kube'
import { jsonEqual } from '#lib'
import type { Controller } from '#runtime'
import { actOnApply } from './act.ts'
import type { Action } from './actions.ts'
import { decide } from './decide.ts'
import { BY_DEPENDENCY, BY_TEMPLATE, dependencyValues, refText, templateValues } from './dependencies.ts'
import { type Observed, type ObserveOptions, observeApply } from './observe.ts'
import { LIFETIME_MS, recentSources } from './recent-sources.ts'
import { isReported, statusOf } from './status.ts'

interface WorkspaceApplyOptions {
  readonly engine: Engine
  /** Cluster in the version that the server serves; absent where there is no Cluster API. */
  readonly clusterKind?: KindRef
  /** Seconds before another attempt; shorter in tests. */
  readonly backoff?: ObserveOptions['backoff']
  /** Seconds between two reads of ConfigMaps and Secrets that a template refers to. */
  readonly sourceSeconds?: number
  readonly approval?: ObserveOptions['approval']
  /** Serve the namespace of the oldest apply only. */
  readonly singleTenant?: boolean
}

const BY_CLUSTER = 'cluster'
const BY_ROLLOUT = 'rollout'

export function workspaceApplyController(
  options: WorkspaceApplyOptions,
): Controller<WorkspaceTemplateApply, Observed, Action> {
  const { engine, clusterKind, backoff, sourceSeconds, singleTenant, approval } = options
  const observing: ObserveOptions = {
    engine,
    clusterKind,
    sourceSeconds,
    singleTenant,
    approval,
    sources: recentSources(Math.min(LIFETIME_MS, (sourceSeconds ?? Number.POSITIVE_INFINITY) * 1000)),
    ...(backoff ? { backoff } : {}),
  }
  return {
    name: 'workspacetemplateapply',
    kind: WorkspaceTemplateApply,
    // A run that failed is reported before the next one takes its place.
    defersStatus: ({ apply, view: { record } }) =>
      record?.run?.fault === undefined || isReported(apply, record.run.id, record.run.phase),
    wakes: [
      { kind: WorkspaceTemplate, toKeys: usersOf, ignores: isOnlyStatus },
      { kind: WorkspaceTemplateApply, toKeys: neighboursOf },
      ...(clusterKind ? [{ kind: clusterKind, toKeys: ofCluster }] : []),
    ],
    indexes: [
      { kind: WorkspaceTemplateApply, name: BY_DEPENDENCY, values: dependencyValues },
      { kind: WorkspaceTemplateApply, name: BY_TEMPLATE, values: templateValues },
      { kind: WorkspaceTemplateApply, name: BY_ROLLOUT, values: rolloutValues },
      { kind: WorkspaceTemplateApply, name: BY_CLUSTER, values: clusterValues },
    ],
    observe: (world, apply) => observeApply(world, apply, observing),
    decide,
    act: (world, observed, action) => actOnApply(engine, world, observed, action),
    status: statusOf,
  }
}

/** A template counts its users in its status: that must not reconcile every one of them. */
function isOnlyStatus(now: AnyObject, before: AnyObject): boolean {
  const relevant = ({ metadata: { generation, annotations, labels, deletionTimestamp } }: AnyObject) => ({
    generation,
    annotations,
    labels,
    deletionTimestamp,
  })
  return jsonEqual(relevant(now), relevant(before))
}

function usersOf(changed: Projected<AnyObject>, cache: Cache) {
  const value = refText(changed.metadata, changed.metadata.namespace)
  return cache.keys(WorkspaceTemplateApply, { index: BY_TEMPLATE, value })
}

/** Its dependents, its dependencies that are being deleted, and the applies that wait for a rollout slot. */
function neighboursOf(changed: Projected<AnyObject>, cache: Cache) {
  const own = refText(changed.metadata, changed.metadata.namespace)
  const waiting = cache.keys(WorkspaceTemplateApply, { index: BY_DEPENDENCY, value: own })
  const going = dependencyValues(changed).flatMap((text) => {
    const key = toKey(text)
    return cache.get(WorkspaceTemplateApply, key)?.metadata.deletionTimestamp ? [key] : []
  })
  const next = templateValues(changed).flatMap((value) =>
    cache.keys(WorkspaceTemplateApply, { index: BY_ROLLOUT, value }),
  )
  return [...waiting, ...going, ...next].filter((other) => keyText(other) !== own)
}

/** Index values: the template of an apply that waits for a rollout slot. Looked up on every change of an apply. */
function rolloutValues(object: AnyObject): readonly string[] {
  const { conditions = [] } = (object as WorkspaceTemplateApply).status ?? {}
  const isWaiting = conditions.some(({ type, reason }) => type === 'Ready' && reason === 'WaitingForTurn')
  return isWaiting ? templateValues(object) : []
}

function clusterValues(object: AnyObject): readonly string[] {
  const name = object.metadata.labels?.[CLUSTER_NAME_LABEL]
  return name === undefined ? [] : [`${object.metadata.namespace ?? ''}/${name}`]
}

/** Of a Cluster only its pause matters; the end of a pause is found in the object before the change. */
function ofCluster(changed: Projected<AnyObject>, cache: Cache) {
  if (!readCluster(changed).paused) return []
  const value = refText(changed.metadata, changed.metadata.namespace)
  return cache.keys(WorkspaceTemplateApply, { index: BY_CLUSTER, value })
}
