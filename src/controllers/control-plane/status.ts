// What a CAPTControlPlane says about itself: the contract's fields in both versions, the version that runs, the outputs
// where add-on templates read them, and the conditions that clusterctl describe shows.
import { type CAPTControlPlane, pauseOf } from '#api'
import type { ConditionDraft, Decision, StatusReport } from '#runtime'
import { deletingCondition, pausedCondition, stopText } from '../cluster/life-conditions.ts'
import { isInitialized, isUsable } from './decide.ts'
import type { Observed } from './observe.ts'
import { EXPIRES_ANNOTATION, REFRESH_ERROR_ANNOTATION, REFRESHED_ANNOTATION } from './secrets.ts'
import { eksVersion, runningVersion } from './version.ts'

type Phase = NonNullable<NonNullable<CAPTControlPlane['status']>['phase']>

export function statusOf(seen: Observed, decision: Decision<unknown>): StatusReport {
  const { object, cluster, facts, kubeconfig } = seen
  const paused = pausedCondition(pauseOf(cluster, object))
  if (paused.status === 'True') return { conditions: [paused] }

  const deleting = object.metadata.deletionTimestamp !== undefined
  const isUp = isInitialized(seen) || (decision.is === 'done' && !deleting)
  const version = versionOf(seen)
  const annotations = kubeconfig?.metadata.annotations ?? {}
  return {
    fields: {
      externalManagedControlPlane: true,
      initialized: isUp,
      ...(isUp ? { initialization: { controlPlaneInitialized: true } } : {}),
      ready: isUp && isUsable(seen) && !deleting,
      phase: phaseOf(seen, decision, isUp),
      secretsReady: isUsable(seen),
      version,
      versions: version === undefined ? undefined : [{ version }],
      kubeconfig: annotations[EXPIRES_ANNOTATION]
        ? { expiresAt: annotations[EXPIRES_ANNOTATION], refreshedAt: annotations[REFRESHED_ANNOTATION] }
        : undefined,
      ...(seen.apply
        ? {
            workspaceTemplateStatus: {
              ready: facts.state.is === 'applied',
              state: facts.phase,
              lastAppliedRevision: facts.revision,
              lastFailureMessage: facts.failure,
            },
            workspaceStatus: {
              ready: facts.state.is === 'applied',
              state: facts.phase,
              atProvider: { outputs: facts.outputs },
            },
          }
        : {}),
    },
    conditions: [
      paused,
      deletingCondition(deleting, decision),
      availableCondition(seen, decision, isUp, deleting),
      rollingOutCondition(seen, decision, isUp, deleting, version),
      kubeconfigCondition(seen),
    ],
  }
}

/** Known from Terraform's answer; a template that does not say it is believed once the run is through. */
function versionOf({ object, facts }: Observed): string | undefined {
  const output = facts.outputs['cluster_version']
  const applied = facts.state.is === 'applied' ? object.spec.version : undefined
  return runningVersion(typeof output === 'string' ? output : applied, object.spec.version, object.status?.version)
}

function phaseOf(seen: Observed, decision: Decision<unknown>, isUp: boolean): Phase {
  if (seen.object.metadata.deletionTimestamp) return 'Deleting'
  if (decision.is === 'stalled') return 'Failed'
  if (!seen.apply) return 'Pending'
  if (!isUp) return 'Creating'
  return seen.facts.state.is === 'applied' ? 'Ready' : 'Updating'
}

const sentence = (decision: Decision<unknown>): { reason: string; message: string } | undefined => {
  if (decision.is === 'waiting') return { reason: decision.reason, message: decision.message }
  if (decision.is === 'stalled') return { reason: decision.reason, message: stopText(decision) }
  return undefined
}

/** Whether the API server can be used. A change in progress, or one that failed, does not take that away. */
function availableCondition(
  seen: Observed,
  decision: Decision<unknown>,
  isUp: boolean,
  deleting: boolean,
): ConditionDraft {
  const type = 'Available'
  if (deleting) return { type, status: 'False', reason: 'Deleting', message: 'The control plane is being deleted' }
  if (isUp && isUsable(seen)) return { type, status: 'True', reason: 'Available', message: '' }
  const { reason, message } = sentence(decision) ?? { reason: 'Creating', message: 'The control plane is being made' }
  return { type, status: 'False', reason, message }
}

function rollingOutCondition(
  seen: Observed,
  decision: Decision<unknown>,
  isUp: boolean,
  deleting: boolean,
  version: string | undefined,
): ConditionDraft {
  const type = 'RollingOut'
  if (deleting || !isUp || seen.facts.state.is === 'applied')
    return { type, status: 'False', reason: 'NotRollingOut', message: '' }
  const from = version === undefined ? undefined : eksVersion(version)
  const to = eksVersion(seen.object.spec.version)
  const what = from === to ? 'Changing the control plane' : `Upgrading Kubernetes from ${from} to ${to}`
  const detail = sentence(decision)?.message
  return { type, status: 'True', reason: 'RollingOut', message: detail ? `${what}: ${detail}` : what }
}

function kubeconfigCondition(seen: Observed): ConditionDraft {
  const type = 'KubeconfigAvailable'
  const failure = seen.kubeconfig?.metadata.annotations?.[REFRESH_ERROR_ANNOTATION]
  if (failure !== undefined)
    return { type, status: 'False', reason: 'RefreshFailed', message: `The kubeconfig was not refreshed: ${failure}` }
  if (isUsable(seen)) return { type, status: 'True', reason: 'Available', message: '' }
  const { secrets } = seen.memory
  if (secrets.is === 'no') return { type, status: 'False', reason: 'KubeconfigFailed', message: stopText(secrets) }
  return { type, status: 'False', reason: 'KubeconfigMissing', message: 'Waiting for the control plane' }
}
