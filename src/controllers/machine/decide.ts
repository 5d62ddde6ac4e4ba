// Decides the next step for one CAPTMachine. Pure: same observation, same decision; time is in the observation.
import { conditionOf, MACHINE_FINALIZER, pauseOf } from '#api'
import { act, type Decision, done, doneFor, stalled, waiting } from '#runtime'
import { type ApplyRequest, foreignOwner, isUpToDate, refuseApply } from '../shared/apply.ts'
import { secondsLeft } from '../shared/deadline.ts'
import { waitForApply, waitForOwner } from '../shared/grace-period.ts'
import { decideLifecycle, decideMembership } from '../shared/lifecycle.ts'
import { refuseControlPlane, refuseNodeVersion } from '../shared/node-version.ts'
import { decideDrain } from './drain.ts'
import { NEEDED_OUTPUTS } from './instance.ts'
import { type DrainedPod, labelChange } from './node.ts'
import type { Observed } from './observe.ts'

export type Action =
  | {
      readonly do:
        | 'add-finalizer'
        | 'remove-finalizer'
        | 'unblock-move'
        | 'own'
        | 'cordon'
        | 'delete-node'
        | 'delete-apply'
    }
  | { readonly do: 'write-apply'; readonly request: ApplyRequest }
  | { readonly do: 'set-provider-id'; readonly providerId: string }
  | { readonly do: 'label-node'; readonly labels: Readonly<Record<string, string | null>> }
  | { readonly do: 'evict'; readonly pods: readonly DrainedPod[] }

export const BOOTSTRAP_LIMIT_SECONDS = 600
const RETRY_SECONDS = 5
const NODE_GROUP_SECONDS = 15
/** How often the Node of a healthy machine is looked at. */
const HEALTHY_SECONDS = 120
const MOST_WAIT_SECONDS = 30

export function decide(observed: Observed): Decision<Action> {
  const { object, cluster, facts } = observed
  return decideLifecycle<Action>(object, MACHINE_FINALIZER, {
    pause: pauseOf(cluster, object),
    isRunning: facts.running,
    deleting: () => decideDelete(observed),
    active: () => decideMachine(observed),
  })
}

function decideMachine(observed: Observed): Decision<Action> {
  const { cluster, request, apply } = observed
  const outside = decideOwner(observed) ?? decideMembership(observed, MACHINE_FINALIZER)
  if (outside) return outside
  const unsupported = refuseControlPlane(cluster?.controlPlaneRef, 'a machine', 'machines')
  if (unsupported) return unsupported
  if (!cluster?.controlPlaneInitialized || !observed.hasHome)
    return waiting('WaitingForControlPlane', `Waiting for the control plane of Cluster ${observed.clusterName}`)
  const unready = decideBootstrap(observed) ?? decideVersion(observed) ?? decideNodeGroup(observed)
  if (unready || !request) return unready ?? done

  const refused = refuseApply(apply, request, {
    deleting: 'WorkspaceDeleting',
    taken: 'WorkspaceNameTaken',
    hint: 'delete this machine and make one with another name',
  })
  if (refused) return refused
  if (!isUpToDate(apply, request)) return act({ do: 'write-apply', request })
  return decideInstance(observed)
}

/** Somebody may have written a core Machine and what it refers to by hand, at the same time. */
function decideOwner({ object, isUnderMachine, nowMs }: Observed): Decision<Action> | undefined {
  if (isUnderMachine || (object.metadata.ownerReferences ?? []).length > 0) return undefined
  const wait = waitForOwner(object, nowMs, 'Machine')
  return wait.is === 'waiting' && wait.retryAfterSeconds !== undefined ? wait : undefined
}

/** A machine whose instance was asked for has its bootstrap data. */
function decideBootstrap({ object, isUnderMachine, machine, apply, nowMs }: Observed): Decision<Action> | undefined {
  if (!isUnderMachine || apply || machine?.dataSecret !== undefined) return undefined
  const left = secondsLeft(object.metadata.creationTimestamp, BOOTSTRAP_LIMIT_SECONDS, nowMs)
  if (left > 0) {
    const what = machine ? `the bootstrap data of Machine ${machine.name}` : 'the core Machine that owns it'
    return waiting('WaitingForBootstrapData', `Waiting for ${what}`, RETRY_SECONDS)
  }
  return stalled(
    'BootstrapDataTimeout',
    `Machine ${machine?.name ?? ''} has had no bootstrap data for ${BOOTSTRAP_LIMIT_SECONDS / 60} minutes`,
    'look at spec.bootstrap of the Machine: its configRef must exist and become ready; the machine goes on by itself then',
    MOST_WAIT_SECONDS,
  )
}

/** The Secret that the core Machine names may not be there: nobody knows whether it ever comes. */
function decideUserData({ isUnderMachine, instance, apply, nowMs }: Observed): Decision<Action> | undefined {
  if (!isUnderMachine || instance || !apply || conditionOf(apply, 'Ready')?.reason !== 'SourceMissing') return undefined
  const secret = `Secret ${apply.spec.variables?.['user_data_secret']} with the bootstrap data in its key value`
  const left = secondsLeft(apply.metadata.creationTimestamp, BOOTSTRAP_LIMIT_SECONDS, nowMs)
  if (left > 0) return waiting('WaitingForBootstrapData', `Waiting for ${secret}`, left)
  return stalled(
    'BootstrapDataTimeout',
    `${secret} has been missing for ${BOOTSTRAP_LIMIT_SECONDS / 60} minutes`,
    'create the Secret that spec.bootstrap.dataSecretName of the Machine names; the machine goes on by itself then',
  )
}

/** A machine is made for the version of its core Machine; without one its template chooses. */
function decideVersion({ machine, runningVersion }: Observed): Decision<Action> | undefined {
  if (machine?.version === undefined) return undefined
  const { name, version } = machine
  if (runningVersion === undefined)
    return waiting('WaitingForControlPlane', 'Waiting for the version of the control plane')
  const asked = { version, running: runningVersion, owner: `Machine ${name}`, field: 'spec.version' }
  return refuseNodeVersion(asked, MOST_WAIT_SECONDS)
}

function decideNodeGroup({ nodeGroup }: Observed): Decision<Action> | undefined {
  if (nodeGroup.is === 'missing')
    return stalled(
      'NodeGroupMissing',
      `Node group ${nodeGroup.ref} does not exist, or does not allow this namespace`,
      'create the CAPTMachinePool or WorkspaceTemplateApply that spec.nodeGroupRef names, or make a machine that sets subnetIds, securityGroupIds and imageId instead',
      NODE_GROUP_SECONDS,
    )
  if (nodeGroup.is === 'unnamed')
    return stalled(
      'NodeGroupMissing',
      `WorkspaceTemplateApply ${nodeGroup.apply} has no output node_group_name: it made no node group`,
      'name a CAPTMachinePool in nodeGroupRef, or make a machine that sets subnetIds, securityGroupIds and imageId instead',
      NODE_GROUP_SECONDS,
    )
  if (nodeGroup.is === 'waiting')
    return waiting('WaitingForNodeGroup', `Waiting for ${nodeGroup.apply} to make its node group`, NODE_GROUP_SECONDS)
  return undefined
}

function decideInstance(observed: Observed): Decision<Action> {
  const { object, facts, instance } = observed
  const { state } = facts
  if (state.is === 'failed') return stalled('InstanceFailed', state.message, state.hint)
  const missing = decideUserData(observed)
  if (missing) return missing
  if (state.is !== 'applied')
    return waitForApply(state, observed.nowMs, instance ? 'Updating' : 'Creating', 'Waiting for the instance')
  if (!instance)
    return stalled(
      'OutputMissing',
      `WorkspaceTemplate ${object.spec.workspaceTemplateRef.name} lacks an output: it needs ${NEEDED_OUTPUTS.join(' and ')}`,
      'add them to the template, as text',
    )
  if (object.spec.providerID === undefined) return act({ do: 'set-provider-id', providerId: instance.providerId })
  if (object.spec.providerID !== instance.providerId)
    return stalled(
      'InstanceReplaced',
      `Terraform made another instance (${instance.id}) than spec.providerID names`,
      'delete this CAPTMachine: its set makes another',
    )
  return decideNode(observed)
}

function decideNode(observed: Observed): Decision<Action> {
  const { object, node, nodeGroup } = observed
  const wanted = { ...(nodeGroup.is === 'found' ? nodeGroup.labels : {}), ...object.spec.labels }
  const labels = node.is === 'found' ? labelChange(node, wanted) : undefined
  if (labels) return act({ do: 'label-node', labels })
  if (node.is === 'unread') return done
  return doneFor(node.is === 'found' && node.isReady ? HEALTHY_SECONDS : nextCheck(observed))
}

/** Often at first, because an instance joins within minutes; seldom later. */
function nextCheck({ object, nowMs }: Observed): number {
  const since = Date.parse(conditionOf(object, 'Ready')?.lastTransitionTime ?? '')
  const elapsed = Number.isNaN(since) ? 0 : (nowMs - since) / 1000
  return Math.min(MOST_WAIT_SECONDS, Math.max(1, Math.round(elapsed / 4)))
}

function decideDelete(observed: Observed): Decision<Action> {
  const { object, apply, facts, node } = observed
  const draining = decideDrain(observed)
  if (draining) return draining
  const release = act<Action>({ do: 'remove-finalizer' })
  if (!apply) return node.is === 'found' ? act({ do: 'delete-node' }) : release
  if (foreignOwner(apply, object)) return release
  if (!facts.deleting) return act({ do: 'delete-apply' })
  if (facts.state.is === 'failed') return stalled('InstanceDeletionFailed', facts.state.message, facts.state.hint)
  const message = facts.state.is === 'progressing' ? facts.state.message : `Waiting for ${apply.metadata.name} to go`
  return waiting('Destroying', message)
}
