// Status of a CAPTControlPlane: the contract's fields in both versions, the version that runs, the outputs where add-on
// templates read them, and the conditions that clusterctl describe shows.
import { ADDONS_HEALTHY, type CAPTControlPlane, isAdopted, pauseOf } from '#api'
import type { ConditionDraft, Decision, StatusReport } from '#runtime'
import { deletingCondition, pausedCondition, stopText } from '../shared/conditions.ts'
import { isInitialized, isUsable } from './decide.ts'
import { EXPIRES_ANNOTATION, REFRESH_ERROR_ANNOTATION, REFRESHED_ANNOTATION } from './kubeconfig/secrets.ts'
import type { Observed } from './observe.ts'
import { eksVersion, runningVersion } from './version.ts'

type Phase = NonNullable<NonNullable<CAPTControlPlane['status']>['phase']>

export function statusOf(observed: Observed, decision: Decision<unknown>): StatusReport {
  const { object, cluster, facts, kubeconfig } = observed
  const paused = pausedCondition(pauseOf(cluster, object))
  if (paused.status === 'True') return { conditions: [paused] }

  const deleting = object.metadata.deletionTimestamp !== undefined
  const isUp = isInitialized(observed) || (decision.is === 'done' && !deleting)
  const version = versionOf(observed)
  const annotations = kubeconfig?.metadata.annotations ?? {}
  return {
    fields: {
      externalManagedControlPlane: true,
      initialized: isUp,
      ...(isUp ? { initialization: { controlPlaneInitialized: true } } : {}),
      ready: isUp && isUsable(observed) && !deleting,
      phase: phaseOf(observed, decision, isUp),
      secretsReady: isUsable(observed),
      version,
      versions: version === undefined ? undefined : [{ version }],
      kubeconfig: annotations[EXPIRES_ANNOTATION]
        ? { expiresAt: annotations[EXPIRES_ANNOTATION], refreshedAt: annotations[REFRESHED_ANNOTATION] }
        : undefined,
      ...(observed.apply
        ? {
            workspaceTemplateStatus: {
              ready: facts.state.is === 'applied',
              state: facts.phase,
              lastAppliedRevision: facts.revision,
              lastFailureMessage: facts.failure,
            },
          }
        : {}),
      // Of an adopted one read back when EKS is not asked: after a restart, and while the cluster is paused or deleted.
      ...(observed.apply || observed.described
        ? {
            workspaceStatus: {
              ready: facts.state.is === 'applied',
              state: observed.described ? 'Adopted' : facts.phase,
              atProvider: { outputs: facts.outputs },
            },
          }
        : {}),
    },
    conditions: [
      paused,
      deletingCondition(deleting, decision),
      availableCondition(observed, decision, isUp, deleting),
      rollingOutCondition(observed, decision, isUp, deleting, version),
      kubeconfigCondition(observed),
      ...adoptedCondition(observed),
      ...addonsCondition(observed),
    ],
  }
}

/** From the output of the template; without that output, the requested version once the run has succeeded. */
function versionOf({ object, facts }: Observed): string | undefined {
  const output = facts.outputs['cluster_version']
  const applied = facts.state.is === 'applied' ? object.spec.version : undefined
  return runningVersion(typeof output === 'string' ? output : applied, object.spec.version, object.status?.version)
}

function phaseOf(observed: Observed, decision: Decision<unknown>, isUp: boolean): Phase {
  if (observed.object.metadata.deletionTimestamp) return 'Deleting'
  if (decision.is === 'stalled') return 'Failed'
  if (!observed.apply && !observed.described) return 'Pending'
  if (!isUp) return 'Creating'
  return observed.facts.state.is === 'applied' ? 'Ready' : 'Updating'
}

const sentence = (decision: Decision<unknown>): { reason: string; message: string } | undefined => {
  if (decision.is === 'waiting') return { reason: decision.reason, message: decision.message }
  if (decision.is === 'stalled') return { reason: decision.reason, message: stopText(decision) }
  return undefined
}

/** Whether the API server can be used. A change in progress or a failed change does not make it unavailable. */
function availableCondition(
  observed: Observed,
  decision: Decision<unknown>,
  isUp: boolean,
  deleting: boolean,
): ConditionDraft {
  const type = 'Available'
  if (deleting) return { type, status: 'False', reason: 'Deleting', message: 'The control plane is being deleted' }
  if (isUp && isUsable(observed)) return { type, status: 'True', reason: 'Available', message: '' }
  const { reason, message } = sentence(decision) ?? { reason: 'Creating', message: 'The control plane is being made' }
  return { type, status: 'False', reason, message }
}

function rollingOutCondition(
  observed: Observed,
  decision: Decision<unknown>,
  isUp: boolean,
  deleting: boolean,
  version: string | undefined,
): ConditionDraft {
  const type = 'RollingOut'
  if (deleting || !isUp || observed.facts.state.is === 'applied')
    return { type, status: 'False', reason: 'NotRollingOut', message: '' }
  const from = version === undefined ? undefined : eksVersion(version)
  const to = eksVersion(observed.object.spec.version)
  const what = from === to ? 'Changing the control plane' : `Upgrading Kubernetes from ${from} to ${to}`
  const detail = sentence(decision)?.message
  return { type, status: 'True', reason: 'RollingOut', message: detail ? `${what}: ${detail}` : what }
}

/** The cluster has a foreign owner. */
function adoptedCondition({ object, network, clusterName, region }: Observed): readonly ConditionDraft[] {
  if (!isAdopted(object)) return []
  const message = `EKS cluster ${network.clusterName ?? clusterName} in ${region ?? 'an unknown region'} is only read: capt neither changes nor destroys it`
  return [{ type: 'Adopted', status: 'True', reason: 'Adopted', message }]
}

/** The worst of the deliveries, where people look for the state of a Cluster. Says nothing about the control plane itself. */
function addonsCondition({ deliveries }: Observed): readonly ConditionDraft[] {
  const known = deliveries.flatMap(({ name, health }) => (health ? [{ name, ...health }] : []))
  const [worst] = ['False', 'Unknown', 'True'].flatMap((status) => known.filter((one) => one.status === status))
  if (!worst) return []
  const { status, reason, message, name } = worst
  return [{ type: ADDONS_HEALTHY, status, reason, message: message === '' ? '' : `AddonDelivery ${name}: ${message}` }]
}

function kubeconfigCondition(observed: Observed): ConditionDraft {
  const type = 'KubeconfigAvailable'
  const failure = observed.kubeconfig?.metadata.annotations?.[REFRESH_ERROR_ANNOTATION]
  if (failure !== undefined)
    return { type, status: 'False', reason: 'RefreshFailed', message: `The kubeconfig was not refreshed: ${failure}` }
  if (isUsable(observed)) return { type, status: 'True', reason: 'Available', message: '' }
  const { secrets } = observed.results
  if (secrets.is === 'no') return { type, status: 'False', reason: 'KubeconfigFailed', message: stopText(secrets) }
  return { type, status: 'False', reason: 'KubeconfigMissing', message: 'Waiting for the control plane' }
}
