// Plays source-controller: sources become fetched artifacts while the controller's Deployment is available.
import type { AnyObject, Condition, KindRef } from '#api'
import type { Projected } from '#kube'
import { isPlainObject, shortHash, toTimestamp } from '#lib'
import {
  act,
  addFinalizer,
  type Controller,
  type Decision,
  done,
  hasFinalizer,
  removeFinalizer,
  waiting,
} from '#runtime'
import { conditionList, isRunning, type Stage, secondsLeft, wakeOnDeployment } from '../actor.ts'
import { type Fault, faultOf, slowMs, wakeOnFaults } from '../faults.ts'

export interface Source extends AnyObject {
  readonly spec?: {
    readonly url?: string
    readonly type?: string
    readonly ref?: { readonly tag?: string }
    readonly chart?: string
    readonly version?: string
    readonly suspend?: boolean
  }
  readonly status?: {
    readonly conditions?: unknown
    readonly observedGeneration?: number
    readonly artifact?: { readonly revision: string }
  }
}
interface Observed {
  readonly source: Projected<Source>
  readonly isAlive: boolean
  readonly fault: Fault
  readonly nowMs: number
  readonly paceMs: number
}
type Action = { readonly do: 'hold' | 'let-go' }

export const FLUX_FINALIZER = 'finalizers.fluxcd.io'

/** `https` repositories, charts and OCI artifacts alike; an OCI HelmRepository is only an address and has no status. */
export function sourceActor(stage: Stage, kind: KindRef): Controller<Source, Observed, Action> {
  return {
    name: `simulated-${kind.kind.toLowerCase()}`,
    kind,
    summary: false,
    wakes: [wakeOnDeployment(kind, 'source-controller'), wakeOnFaults(kind)],
    async observe({ cache }, source) {
      return {
        source,
        isAlive: isRunning(cache, 'source-controller'),
        fault: faultOf(cache, source),
        nowMs: stage.clock.now(),
        paceMs: stage.paceMs,
      }
    },
    decide: (observed) => decide(observed, kind),
    act: async ({ objects }, { source }, action) => {
      if (action.do === 'hold') return await addFinalizer(objects, kind, source, FLUX_FINALIZER)
      await removeFinalizer(objects, kind, source, FLUX_FINALIZER)
    },
    status: (observed) => report(observed, kind),
  }
}

const isStatic = (source: Source, kind: KindRef) => kind.kind === 'HelmRepository' && source.spec?.type === 'oci'

function decide(observed: Observed, kind: KindRef): Decision<Action> {
  const { source, isAlive } = observed
  if (!isAlive) return waiting('NoController', 'source-controller does not run')
  const isHeld = hasFinalizer(source, FLUX_FINALIZER)
  if (source.metadata.deletionTimestamp) return isHeld ? act<Action>({ do: 'let-go' }) : done
  if (source.spec?.suspend || isStatic(source, kind)) return done
  if (!isHeld) return act<Action>({ do: 'hold' })
  const left = fetchesIn(observed)
  return left > 0 ? waiting('Fetching', 'The artifact is being fetched', left) : done
}

function fetchesIn({ source, fault, paceMs, nowMs }: Observed): number {
  return secondsLeft(source.metadata.creationTimestamp, paceMs + slowMs(fault), nowMs)
}

function report(observed: Observed, kind: KindRef) {
  const { source, isAlive, fault, nowMs } = observed
  if (!isAlive || source.metadata.deletionTimestamp || source.spec?.suspend || isStatic(source, kind)) return {}
  const { generation } = source.metadata
  const previous = source.status?.conditions
  // As source-controller does: only success or a terminal error raises the generation of the whole status; a failed
  // refresh keeps the artifact of the fetch before it.
  const stored = artifactCondition(source)
  const terminal = faultOfUrl(source, kind)
  if (terminal) {
    const [reason, message] = terminal
    const drafts = [
      { type: 'Stalled', status: 'True', reason, message },
      { type: 'Ready', status: 'False', reason, message },
      { type: 'FetchFailed', status: 'True', reason, message },
    ] as const
    return {
      fields: { observedGeneration: generation, conditions: conditionList(previous, drafts, nowMs, generation) },
    }
  }
  if (fault.is === 'pull') {
    const [reason, message] = ['OCIArtifactPullFailed', 'failed to pull artifact (simulated)']
    const drafts = [
      { type: 'Ready', status: 'False', reason, message },
      { type: 'FetchFailed', status: 'True', reason, message },
    ] as const
    return { fields: { conditions: [...conditionList(previous, drafts, nowMs, generation), ...stored] } }
  }
  if (fetchesIn(observed) > 0) {
    const drafts = [
      { type: 'Ready', status: 'Unknown', reason: 'Progressing', message: 'fetching the artifact (simulated)' },
    ] as const
    return { fields: { conditions: [...conditionList(previous, drafts, nowMs, generation), ...stored] } }
  }
  const revision = `${source.spec?.ref?.tag ?? source.spec?.version ?? 'latest'}@sha256:${shortHash(JSON.stringify(source.spec), 16)}`
  const message = `stored artifact for '${revision}' (simulated)`
  const drafts = [
    { type: 'Ready', status: 'True', reason: 'Succeeded', message },
    { type: 'ArtifactInStorage', status: 'True', reason: 'Succeeded', message },
  ] as const
  const kept =
    source.status?.artifact?.revision === revision
      ? source.status.artifact
      : {
          revision,
          path: `${kind.plural}/${source.metadata.name}`,
          url: 'http://source-controller.flux-system.svc/simulated',
          digest: `sha256:${'0'.repeat(64)}`,
          lastUpdateTime: toTimestamp(nowMs),
        }
  return {
    fields: {
      observedGeneration: generation,
      artifact: kept,
      conditions: conditionList(previous, drafts, nowMs, generation),
    },
  }
}

/** The condition of the artifact that was fetched before, as it was written then. */
function artifactCondition({ status }: Source): readonly Condition[] {
  const known = Array.isArray(status?.conditions) ? (status.conditions as readonly Condition[]) : []
  return status?.artifact ? known.filter(({ type }) => type === 'ArtifactInStorage') : []
}

/** What the real controller refuses before it fetches anything. */
function faultOfUrl({ spec }: Source, kind: KindRef): readonly [string, string] | undefined {
  if (!isPlainObject(spec) || kind.kind === 'HelmChart') return undefined
  const isOci = spec.url?.startsWith('oci://') ?? false
  if (kind.kind === 'HelmRepository' && isOci)
    return ['URLInvalid', 'the oci scheme cannot be used with the default type']
  if (kind.kind === 'OCIRepository' && !isOci) return ['URLInvalid', 'the address must begin with oci://']
  return undefined
}
