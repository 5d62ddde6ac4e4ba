// Decides the next step for one CAPTControlPlane. Pure: same observation, same decision; time is in the observation.
import type { TeardownPhase } from '#addons'
import { blocksMove, CAPTCluster, CONTROL_PLANE_FINALIZER, type Endpoint, pauseOf } from '#api'
import { jsonEqual } from '#lib'
import { act, type Decision, done, stalled, waiting } from '#runtime'
import { type ApplyRequest, isAsWanted, strangerOwning } from '../cluster/apply.ts'
import { secondsLeft } from '../cluster/deadline.ts'
import { decidePaused } from '../cluster/paused.ts'
import { waitForApply, waitForCluster } from '../cluster/wait-a-moment.ts'
import { decideDelete } from './decide-delete.ts'
import { decideVersion, type VersionRules } from './decide-version.ts'
import { keepAlive } from './keep-alive.ts'
import type { SecretFacts } from './known-secrets.ts'
import type { Observed, Worker } from './observe.ts'
import { toEndpoint } from './outputs.ts'
import { isWhole, REFRESH_ERROR_ANNOTATION, SOURCE_ANNOTATION } from './secrets.ts'

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'unblock-move' }
  | {
      readonly do: 'ensure-spot-role' | 'write-secrets' | 'keep-kubeconfig' | 'reach' | 'delete-apply'
    }
  | { readonly do: 'clear-cluster'; readonly phase: TeardownPhase }
  | { readonly do: 'write-apply'; readonly request: ApplyRequest }
  | { readonly do: 'set-endpoint'; readonly endpoint: Endpoint }
  | { readonly do: 'delete-workers'; readonly workers: readonly Worker[] }

const MINUTE_S = 60
const DEFAULT_VPC_MINUTES = 15

export function decide(seen: Observed, rules: VersionRules = {}): Decision<Action> {
  const { object, cluster, apply, facts } = seen
  if (pauseOf(cluster, object) !== undefined) return keepAlive(seen) ?? decidePaused(object, facts.running)
  if (object.metadata.deletionTimestamp) return decideDelete(seen)
  if (!cluster) return waitForCluster(object, seen.nowMs)
  if (!object.metadata.finalizers?.includes(CONTROL_PLANE_FINALIZER)) return act({ do: 'add-finalizer' })
  if (cluster.deleting) return keepAlive(seen) ?? waiting('ClusterDeleting', `Cluster ${cluster.name} is being deleted`)

  const notYet = decideInfrastructure(seen)
  if (notYet) return notYet
  const { request } = seen
  if (!request)
    return stalled(
      'RegionMissing',
      'The region of the control plane is not known',
      'set spec.controlPlaneConfig.region, or spec.region of the CAPTCluster',
    )
  const refused = decideVersion(seen, rules)
  if (refused) return refused

  if (apply?.metadata.deletionTimestamp)
    return waiting('WorkspaceDeleting', `${request.name} is being deleted; it is made again when it is gone`)
  const stranger = apply && strangerOwning(apply, object)
  if (stranger)
    return stalled(
      'WorkspaceNameTaken',
      `WorkspaceTemplateApply ${request.name} belongs to ${stranger.kind} ${stranger.name}`,
      'set spec.workspaceTemplateApplyName to a name of its own on a new CAPTControlPlane',
    )
  if (!isAsWanted(apply, request)) return decideSpotRole(seen) ?? act({ do: 'write-apply', request })
  return decideRun(seen)
}

function decideInfrastructure(seen: Observed): Decision<Action> | undefined {
  const { object, cluster, infra, network } = seen
  const isOurs = cluster?.infrastructureRef?.kind === CAPTCluster.kind
  const isNetworkKnown = !isOurs || network.vpcId !== undefined
  if (cluster?.infrastructureProvisioned && isNetworkKnown) return undefined
  const minutes = object.spec.controlPlaneConfig?.timeouts?.vpcReadyTimeout ?? DEFAULT_VPC_MINUTES
  const leftSeconds = secondsLeft(object.metadata.creationTimestamp, minutes * MINUTE_S, seen.nowMs)
  const what = infra ? `${infra.kind} ${infra.metadata.name}` : 'the infrastructure of the Cluster'
  if (leftSeconds <= 0)
    return stalled(
      'VPCReadyTimeout',
      `${what} was not ready within ${minutes} minutes`,
      `look at ${what}: its Ready condition says what it waits for; the control plane goes on by itself when it is ready`,
    )
  return waiting('WaitingForClusterInfrastructureReady', `Waiting for ${what} to be ready`, leftSeconds)
}

/** A gate: no run begins before the account has the role, when the spec asks for it. */
function decideSpotRole({ object, memory }: Observed): Decision<Action> | undefined {
  if (!object.spec.controlPlaneConfig?.ensureSpotServiceLinkedRole) return undefined
  const { spotRole } = memory
  if (spotRole.is === 'yes') return undefined
  if (spotRole.is === 'unknown') return act({ do: 'ensure-spot-role' })
  return stalled('SpotServiceLinkedRoleFailed', spotRole.message, spotRole.hint, spotRole.retryAfterSeconds)
}

function decideRun(seen: Observed): Decision<Action> {
  const { object, facts, kubeconfig, memory } = seen
  const { state } = facts
  if (isSpoiled(seen) && memory.secrets.is !== 'no') return act({ do: 'write-secrets' })
  const settled = blocksMove(object) && !facts.running ? act<Action>({ do: 'unblock-move' }) : undefined
  if (state.is === 'failed')
    return settled ?? stalled(state.timedOut ? 'ControlPlaneTimeout' : 'WorkspaceError', state.message, state.hint)
  if (state.is !== 'applied')
    return waitForApply(state, seen.nowMs, isInitialized(seen) ? 'Updating' : 'Creating', 'Waiting')

  const endpoint = toEndpoint(facts.outputs['cluster_endpoint'])
  if (!endpoint)
    return (
      settled ??
      stalled(
        'OutputMissing',
        `WorkspaceTemplate ${object.spec.workspaceTemplateRef.name} has no output cluster_endpoint with a URL`,
        'add output "cluster_endpoint" to the template; it must not be sensitive',
      )
    )
  if (!isCurrent(seen)) return decideSecrets(seen)
  if (!jsonEqual(object.spec.controlPlaneEndpoint, endpoint)) return act({ do: 'set-endpoint', endpoint })
  const unkept = keepAlive(seen)
  if (unkept) return unkept
  if (settled) return settled

  if (!isInitialized(seen) && memory.reached.is === 'unknown') return act({ do: 'reach' })
  if (!isInitialized(seen) && memory.reached.is === 'no')
    return waiting('APIServerUnreachable', memory.reached.message, memory.reached.retryAfterSeconds)
  const failure = kubeconfig?.metadata.annotations?.[REFRESH_ERROR_ANNOTATION]
  if (failure !== undefined) return waiting('KubeconfigRefreshFailed', `The kubeconfig was not refreshed: ${failure}`)
  return done
}

function decideSecrets({ memory: { secrets } }: Observed): Decision<Action> {
  if (secrets.is !== 'no') return act({ do: 'write-secrets' })
  return stalled('KubeconfigFailed', secrets.message, secrets.hint, secrets.retryAfterSeconds)
}

/** The Secrets are there as we wrote them, made from what the last run answered. */
export function isCurrent({ object, clusterName, secrets, source }: Observed): boolean {
  const isOne = (facts: SecretFacts | undefined): boolean =>
    isWhole(facts, object, clusterName) && facts?.metadata.annotations?.[SOURCE_ANNOTATION] === source
  return secrets.length > 0 && secrets.every(isOne)
}

/** The Secrets open the cluster: also those of an earlier run, until they are made anew from the last one. */
export function isUsable(seen: Observed): boolean {
  const { object, clusterName, secrets, memory } = seen
  if (isCurrent(seen)) return true
  if (!isInitialized(seen) || memory.secrets.is === 'no') return false
  return secrets.length > 0 && secrets.every((facts) => isWhole(facts, object, clusterName))
}

/** Somebody deleted or changed a Secret of a cluster that is in use: it is mended whatever the run in progress does. */
function isSpoiled(seen: Observed): boolean {
  const { object, clusterName, secrets, facts } = seen
  if (!isInitialized(seen) || !toEndpoint(facts.outputs['cluster_endpoint'])) return false
  return secrets.some((facts) => !isWhole(facts, object, clusterName))
}

export function isInitialized({ object }: Observed): boolean {
  return object.status?.initialization?.controlPlaneInitialized === true
}
