// Decides the next step for one CAPTControlPlane. Pure: same observation, same decision; time is in the observation.

import { blocksMove, CAPTCluster, CONTROL_PLANE_FINALIZER, type Endpoint, isAdopted, pauseOf } from '#api'
import { jsonEqual } from '#lib'
import { act, type Decision, done, hasFinalizer, stalled, waiting } from '#runtime'
import type { TeardownPhase } from '../addon-delivery/teardown/cluster.ts'
import { type ApplyRequest, isUpToDate, refuseApply } from '../shared/apply.ts'
import { secondsLeft } from '../shared/deadline.ts'
import { waitForApply, waitForCluster } from '../shared/grace-period.ts'
import { decideLifecycle } from '../shared/lifecycle.ts'
import { decideAdopted } from './adopted/decide.ts'
import { decideDelete } from './decide-delete.ts'
import { decideVersion, type VersionRules } from './decide-version.ts'
import { decideRefresh } from './kubeconfig/refresh-timer.ts'
import { isWhole, REFRESH_ERROR_ANNOTATION, type SecretFacts, SOURCE_ANNOTATION } from './kubeconfig/secrets.ts'
import type { Observed, Worker } from './observe.ts'
import { toEndpoint } from './outputs.ts'

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'unblock-move' }
  | {
      readonly do: 'describe' | 'ensure-spot-role' | 'write-secrets' | 'start-refresh' | 'reach' | 'delete-apply'
    }
  | { readonly do: 'clear-cluster'; readonly phase: TeardownPhase }
  | { readonly do: 'write-apply'; readonly request: ApplyRequest }
  | { readonly do: 'set-endpoint'; readonly endpoint: Endpoint }
  | { readonly do: 'delete-workers'; readonly workers: readonly Worker[] }

const MINUTE_S = 60
const DEFAULT_VPC_MINUTES = 15

export function decide(observed: Observed, rules: VersionRules = {}): Decision<Action> {
  const { object, cluster, facts } = observed
  return decideLifecycle<Action>(object, CONTROL_PLANE_FINALIZER, {
    pause: pauseOf(cluster, object),
    isRunning: facts.running,
    paused: () => decideRefresh(observed),
    deleting: () => decideDelete(observed),
    active: () => decideControlPlane(observed, rules),
  })
}

function decideControlPlane(observed: Observed, rules: VersionRules): Decision<Action> {
  const { object, cluster, apply } = observed
  if (!cluster) return waitForCluster(object, observed.nowMs)
  if (!hasFinalizer(object, CONTROL_PLANE_FINALIZER)) return act({ do: 'add-finalizer' })
  if (cluster.deleting)
    return decideRefresh(observed) ?? waiting('ClusterDeleting', `Cluster ${cluster.name} is being deleted`)

  const notYet = decideInfrastructure(observed)
  if (notYet) return notYet
  const { request, region } = observed
  if (region === undefined)
    return stalled(
      'RegionMissing',
      'The region of the control plane is not known',
      'set spec.controlPlaneConfig.region, or spec.region of the CAPTCluster',
    )
  if (!request) return decideAdopted(observed) ?? decideRun(observed)
  const refused =
    decideVersion(observed, rules) ??
    refuseApply(apply, request, {
      deleting: 'WorkspaceDeleting',
      taken: 'WorkspaceNameTaken',
      hint: 'set spec.workspaceTemplateApplyName to a name of its own on a new CAPTControlPlane',
    })
  if (refused) return refused
  if (!isUpToDate(apply, request)) return decideSpotRole(observed) ?? act({ do: 'write-apply', request })
  return decideRun(observed)
}

function decideInfrastructure(observed: Observed): Decision<Action> | undefined {
  const { object, cluster, infra, network } = observed
  const isOurs = cluster?.infrastructureRef?.kind === CAPTCluster.kind
  const isNetworkKnown =
    !isOurs || (network.vpcId !== undefined && (network.clusterName !== undefined || isAdopted(object)))
  if (cluster?.infrastructureProvisioned && isNetworkKnown) return undefined
  const minutes = object.spec.controlPlaneConfig?.timeouts?.vpcReadyTimeout ?? DEFAULT_VPC_MINUTES
  const leftSeconds = secondsLeft(object.metadata.creationTimestamp, minutes * MINUTE_S, observed.nowMs)
  const what = infra ? `${infra.kind} ${infra.metadata.name}` : 'the infrastructure of the Cluster'
  if (leftSeconds <= 0)
    return stalled(
      'VPCReadyTimeout',
      `${what} was not ready within ${minutes} minutes`,
      `look at ${what}: its Ready condition says what it waits for; the control plane goes on by itself when it is ready`,
    )
  return waiting('WaitingForClusterInfrastructureReady', `Waiting for ${what} to be ready`, leftSeconds)
}

/** Blocks the run until the account has the role, when the spec requests it. */
function decideSpotRole({ object, results }: Observed): Decision<Action> | undefined {
  if (!object.spec.controlPlaneConfig?.ensureSpotServiceLinkedRole) return undefined
  const { spotRole } = results
  if (spotRole.is === 'yes') return undefined
  if (spotRole.is === 'unknown') return act({ do: 'ensure-spot-role' })
  return stalled('SpotServiceLinkedRoleFailed', spotRole.message, spotRole.hint, spotRole.retryAfterSeconds)
}

function decideRun(observed: Observed): Decision<Action> {
  const { object, facts, kubeconfig, results } = observed
  const { state } = facts
  if (isDamaged(observed) && results.secrets.is !== 'no') return act({ do: 'write-secrets' })
  const settled = blocksMove(object) && !facts.running ? act<Action>({ do: 'unblock-move' }) : undefined
  if (state.is === 'failed')
    return settled ?? stalled(state.timedOut ? 'ControlPlaneTimeout' : 'WorkspaceError', state.message, state.hint)
  if (state.is !== 'applied')
    return waitForApply(state, observed.nowMs, isInitialized(observed) ? 'Updating' : 'Creating', 'Waiting')

  const endpoint = toEndpoint(facts.outputs['cluster_endpoint'])
  if (!endpoint)
    return (
      settled ??
      stalled(
        'OutputMissing',
        `WorkspaceTemplate ${object.spec.workspaceTemplateRef?.name} has no output cluster_endpoint with a URL`,
        'add output "cluster_endpoint" to the template; it must not be sensitive',
      )
    )
  if (!isCurrent(observed)) return decideSecrets(observed)
  if (!jsonEqual(object.spec.controlPlaneEndpoint, endpoint)) return act({ do: 'set-endpoint', endpoint })
  const refresh = decideRefresh(observed)
  if (refresh) return refresh
  if (settled) return settled

  if (!isInitialized(observed) && results.reached.is === 'unknown') return act({ do: 'reach' })
  if (!isInitialized(observed) && results.reached.is === 'no')
    return waiting('APIServerUnreachable', results.reached.message, results.reached.retryAfterSeconds)
  const failure = kubeconfig?.metadata.annotations?.[REFRESH_ERROR_ANNOTATION]
  if (failure !== undefined) return waiting('KubeconfigRefreshFailed', `The kubeconfig was not refreshed: ${failure}`)
  return done
}

function decideSecrets({ results: { secrets } }: Observed): Decision<Action> {
  if (secrets.is !== 'no') return act({ do: 'write-secrets' })
  return stalled('KubeconfigFailed', secrets.message, secrets.hint, secrets.retryAfterSeconds)
}

/** The Secrets are as we wrote them, made from the outputs of the last run. */
function isCurrent({ object, clusterName, secrets, source }: Observed): boolean {
  const isOne = (facts: SecretFacts | undefined): boolean =>
    isWhole(facts, object, clusterName) && facts?.metadata.annotations?.[SOURCE_ANNOTATION] === source
  return secrets.length > 0 && secrets.every(isOne)
}

/** The Secrets work: also those of an earlier run, until they are made from the last one. */
export function isUsable(observed: Observed): boolean {
  const { object, clusterName, secrets, results } = observed
  if (isCurrent(observed)) return true
  if (!isInitialized(observed) || results.secrets.is === 'no') return false
  return secrets.length > 0 && secrets.every((facts) => isWhole(facts, object, clusterName))
}

/** A Secret of a cluster that is in use was deleted or changed: it is repaired, also during a run. */
function isDamaged(observed: Observed): boolean {
  const { object, clusterName, secrets, facts } = observed
  if (!isInitialized(observed) || !toEndpoint(facts.outputs['cluster_endpoint'])) return false
  return secrets.some((facts) => !isWhole(facts, object, clusterName))
}

export function isInitialized({ object }: Observed): boolean {
  return object.status?.initialization?.controlPlaneInitialized === true
}
