// A part of a simulated cluster that follows what Terraform applied for it, such as the nodes of a node group.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ClusterApiVersion,
  clusterKind,
  type Key,
  keyOf,
  keyText,
  WorkspaceTemplateApply,
} from '#api'
import type { Objects } from '#kube'
import { hashOf, jsonEqual } from '#lib'
import { act, type Controller, done, waiting } from '#runtime'

export interface ApplyActorPorts {
  readonly clusterApi: ClusterApiVersion
  readonly accepts: (cluster: AnyObject) => boolean
  readonly workloadOf: (cluster: Key) => Promise<Objects | undefined>
}

interface Observed<S> {
  readonly cluster: Key
  /** Undefined where there is nothing to play. */
  readonly state: S | undefined
  readonly isCurrent: boolean
  /** Undefined while the workload cluster is not simulated. */
  readonly workload: Objects | undefined
}

interface Role<P, S> {
  readonly name: string
  /** What an apply contributes; undefined for applies of other parts. */
  readonly toPart: (apply: WorkspaceTemplateApply) => P | undefined
  readonly toState: (parts: readonly P[]) => S | undefined
  readonly needsWorkload: (state: S) => boolean
  readonly play: (state: S, cluster: Key, home: Objects, workload: Objects | undefined) => Promise<void>
}

const RETRY_SECONDS = 1

export function applyActor<P, S>(
  ports: ApplyActorPorts,
  { name, toPart, toState, needsWorkload, play }: Role<P, S>,
): Controller<AnyObject, Observed<S>, { readonly do: 'sync' }> {
  // What was last played, by cluster; played again after a restart, which changes nothing.
  const played = new Map<string, string>()
  const partOf = (object: AnyObject) => toPart(object as WorkspaceTemplateApply)
  return {
    name,
    kind: clusterKind(ports.clusterApi),
    summary: false,
    accepts: ports.accepts,
    wakes: [
      {
        kind: WorkspaceTemplateApply,
        toKeys: clustersOf,
        ignores: (now, before) => jsonEqual(partOf(now as AnyObject), partOf(before as AnyObject)),
      },
    ],
    indexes: [{ kind: WorkspaceTemplateApply, name, values: (apply) => clustersOf(apply).map(keyText) }],
    async observe({ cache }, object) {
      const cluster = keyOf(object)
      const query = { index: name, value: keyText(cluster) }
      const applies = cache.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, query)
      const state = toState(applies.flatMap((apply) => partOf(apply) ?? []))
      const isCurrent = state === undefined || played.get(keyText(cluster)) === hashOf(state)
      return { cluster, state, isCurrent, workload: isCurrent ? undefined : await ports.workloadOf(cluster) }
    },
    decide({ isCurrent, state, workload }) {
      if (isCurrent) return done
      if (workload || !needsWorkload(state!)) return act({ do: 'sync' })
      return waiting('NoWorkload', 'The workload is not played yet', RETRY_SECONDS)
    },
    async act({ objects }, { cluster, state, workload }) {
      await play(state!, cluster, objects, workload)
      played.set(keyText(cluster), hashOf(state))
    },
    status: () => ({}),
  }
}

function clustersOf({ metadata }: Pick<AnyObject, 'metadata'>): readonly Key[] {
  const name = metadata.labels?.[CLUSTER_NAME_LABEL]
  return name === undefined ? [] : [{ namespace: metadata.namespace ?? '', name }]
}
