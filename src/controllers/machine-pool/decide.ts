// Decides the next step for one CAPTMachinePool. Pure: same observation, same decision.
import { blocksMove, CAPTControlPlane, MACHINE_POOL_FINALIZER, pauseOf } from '#api'
import { jsonEqual } from '#lib'
import { act, type Decision, done, doneFor, hasFinalizer, lifecycleOf, stalled, waiting } from '#runtime'
import { eksVersion, refuseSkew } from '../control-plane/version.ts'
import { type ApplyRequest, foreignOwner, isUpToDate } from '../shared/apply.ts'
import { waitForApply, waitForOwner } from '../shared/grace-period.ts'
import { decidePaused } from '../shared/pause.ts'
import { decideDelete } from './decide-delete.ts'
import type { Observed } from './observe.ts'
import { boundsOf, nodeGroupRequest } from './variables.ts'

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'unblock-move' | 'ensure-spot-role' | 'delete-apply' }
  | { readonly do: 'write-apply'; readonly request: ApplyRequest }
  | { readonly do: 'set-provider-ids'; readonly ids: readonly string[] }
  | { readonly do: 'report-replicas'; readonly replicas: number }

/** Nodes are not watched: they are read again after this time, more often while some are missing. */
const NODES_SECONDS = 60
const JOINING_SECONDS = 5

export function decide(observed: Observed): Decision<Action> {
  const { object, cluster, facts } = observed
  switch (lifecycleOf(object, MACHINE_POOL_FINALIZER, pauseOf(cluster, object))) {
    case 'released':
      return done
    case 'moved':
      return act({ do: 'remove-finalizer' })
    case 'paused':
      return decidePaused(object, facts.running)
    case 'deleting':
      return decideDelete(observed)
    case 'active':
      return decideNodeGroup(observed)
  }
}

function decideNodeGroup(observed: Observed): Decision<Action> {
  const { object, machinePool, cluster, apply } = observed
  if (!machinePool) return waitForOwner(object, observed.nowMs, 'MachinePool')
  if (!cluster) return waiting('WaitingForCluster', `Waiting for Cluster ${machinePool.clusterName}`)
  if (!hasFinalizer(object, MACHINE_POOL_FINALIZER)) return act({ do: 'add-finalizer' })
  if (cluster.deleting || machinePool.deleting)
    return waiting('MachinePoolDeleting', `MachinePool ${machinePool.name} is being deleted`)

  const request = decideRequest(observed)
  if ('is' in request) return request
  if (apply?.metadata.deletionTimestamp)
    return waiting('NodeGroupDeleting', `${request.name} is being deleted; it is made again when it is gone`)
  const foreign = apply && foreignOwner(apply, object)
  if (foreign)
    return stalled(
      'NodeGroupNameTaken',
      `WorkspaceTemplateApply ${request.name} belongs to ${foreign.kind} ${foreign.name}`,
      'give the CAPTMachinePool another name',
    )
  if (!isUpToDate(apply, request)) return decideSpotRole(observed) ?? act({ do: 'write-apply', request })
  return decideRun(observed)
}

/** The request, or why there is none yet. */
function decideRequest(observed: Observed): ApplyRequest | Decision<Action> {
  const { object, machinePool, cluster, controlPlane, place, runningVersion, apply } = observed
  const ref = cluster?.controlPlaneRef
  if (ref && ref.kind !== CAPTControlPlane.kind)
    return stalled(
      'ControlPlaneUnsupported',
      `The control plane of the Cluster is a ${ref.kind}: a node group joins one of EKS that capt made`,
      'use a CAPTControlPlane, or the machine pools of the provider that made the control plane',
    )
  if (!controlPlane || !cluster?.controlPlaneInitialized || !place || runningVersion === undefined)
    return waiting('WaitingForControlPlane', `Waiting for the control plane of Cluster ${cluster?.name}`)
  const refused = decideVersion(observed, runningVersion) ?? decideReplicas(observed)
  if (refused) return refused
  const version = eksVersion(machinePool!.version ?? runningVersion)!
  return nodeGroupRequest(object, machinePool!, place, version, apply)
}

const minorOf = (version: string): number => Number(version.split('.')[1])

/** Nodes follow their control plane: never newer, at most three minor versions older, never back. */
function decideVersion({ machinePool, facts }: Observed, running: string): Decision<never> | undefined {
  const { version, name } = machinePool!
  const target = eksVersion(version ?? running)
  if (target === undefined)
    return stalled(
      'VersionInvalid',
      `MachinePool ${name} asks for "${version}", which is not a Kubernetes version`,
      'write spec.template.spec.version of the MachinePool like v1.34.0, or leave it out',
    )
  if (minorOf(target) > minorOf(running))
    return waiting(
      'WaitingForControlPlaneUpgrade',
      `Kubernetes ${target} is asked for and the control plane runs ${running}: nodes are upgraded after it`,
    )
  const tooOld = refuseSkew(target, running)
  if (tooOld)
    return stalled(
      'VersionTooOld',
      `Kubernetes ${target} is asked for and the control plane runs ${running}: nodes may be three minor versions older`,
      `set spec.template.spec.version of MachinePool ${name} to 1.${minorOf(running) - 3} or newer`,
    )
  const made = facts.outputs['kubernetes_version']
  if (typeof made === 'string' && minorOf(made) > minorOf(target))
    return stalled(
      'DowngradeRefused',
      `The nodes run Kubernetes ${made} and ${target} is asked for: EKS does not go back`,
      `set spec.template.spec.version of MachinePool ${name} to ${made}`,
    )
  return undefined
}

function decideReplicas({ object, machinePool }: Observed): Decision<never> | undefined {
  const { name, replicas, isAutoscaled } = machinePool!
  if (isAutoscaled) {
    if (object.spec.scaling) return undefined
    return stalled(
      'ScalingMissing',
      `An autoscaler owns the replicas of MachinePool ${name}, and there are no bounds for it`,
      'set spec.scaling.minSize and spec.scaling.maxSize of the CAPTMachinePool',
    )
  }
  const { min, max } = boundsOf(object, replicas)
  if (replicas >= min && replicas <= max) return undefined
  return stalled(
    'ReplicasOutOfBounds',
    `MachinePool ${name} asks for ${replicas} nodes, and spec.scaling allows ${min} to ${max}`,
    'change spec.replicas of the MachinePool, or spec.scaling of the CAPTMachinePool',
  )
}

/** Spot instances need a role of the account: the run is not started without it. */
function decideSpotRole({ spotRole }: Observed): Decision<Action> | undefined {
  if (!spotRole || spotRole.is === 'present') return undefined
  if (spotRole.is === 'unknown') return act({ do: 'ensure-spot-role' })
  return stalled('SpotServiceLinkedRoleFailed', spotRole.message, spotRole.hint, spotRole.retryAfterSeconds)
}

function decideRun(observed: Observed): Decision<Action> {
  const { object, facts } = observed
  const { state } = facts
  const settled = blocksMove(object) && !facts.running ? act<Action>({ do: 'unblock-move' }) : undefined
  if (state.is === 'failed') return settled ?? stalled('NodeGroupFailed', state.message, state.hint)
  if (state.is !== 'applied')
    return waitForApply(state, observed.nowMs, isProvisioned(observed) ? 'Updating' : 'Creating', 'Waiting')
  return settled ?? decideNodes(observed)
}

function decideNodes({ object, machinePool, nodes }: Observed): Decision<Action> {
  if (nodes.is === 'unread') return waiting('WaitingForNodes', 'Waiting for the nodes to be read', JOINING_SECONDS)
  if (nodes.is === 'unreachable')
    return waiting('NodesUnknown', `The nodes cannot be read: ${nodes.message}`, NODES_SECONDS)
  if (!jsonEqual(object.spec.providerIDList ?? [], nodes.providerIds))
    return act({ do: 'set-provider-ids', ids: nodes.providerIds })
  const { isAutoscaled, replicas, name } = machinePool!
  if (isAutoscaled && nodes.count !== replicas) return act({ do: 'report-replicas', replicas: nodes.count })
  if (!isAutoscaled && nodes.count !== replicas)
    return waiting(
      'WaitingForNodes',
      `${nodes.count} of ${replicas} nodes of MachinePool ${name} have joined the cluster`,
      JOINING_SECONDS,
    )
  if (nodes.ready < nodes.count)
    return waiting('NodesNotReady', `${nodes.ready} of ${nodes.count} nodes are ready`, JOINING_SECONDS)
  return doneFor(NODES_SECONDS)
}

/** One-way: a later failure is reported by conditions. */
export function isProvisioned({ object, facts }: Observed): boolean {
  return object.status?.initialization?.provisioned === true || facts.revision !== undefined
}
