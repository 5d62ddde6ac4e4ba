// Decides the next step for one CAPTMachinePool. Pure: same observation, same decision.
import { blocksMove, MACHINE_POOL_FINALIZER, pauseOf } from '#api'
import { jsonEqual } from '#lib'
import { act, type Decision, doneFor, hasFinalizer, stalled, waiting } from '#runtime'
import { eksVersion } from '../control-plane/version.ts'
import { type ApplyRequest, isUpToDate, refuseApply } from '../shared/apply.ts'
import { waitForApply, waitForOwner } from '../shared/grace-period.ts'
import { decideLifecycle } from '../shared/lifecycle.ts'
import { isOlder, refuseControlPlane, refuseNodeVersion } from '../shared/node-version.ts'
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
  return decideLifecycle<Action>(object, MACHINE_POOL_FINALIZER, {
    pause: pauseOf(cluster, object),
    isRunning: facts.running,
    deleting: () => decideDelete(observed),
    active: () => decideNodeGroup(observed),
  })
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
  const refused = refuseApply(apply, request, {
    deleting: 'NodeGroupDeleting',
    taken: 'NodeGroupNameTaken',
    hint: 'give the CAPTMachinePool another name',
  })
  if (refused) return refused
  if (!isUpToDate(apply, request)) return decideSpotRole(observed) ?? act({ do: 'write-apply', request })
  return decideRun(observed)
}

/** The request, or why there is none yet. */
function decideRequest(observed: Observed): ApplyRequest | Decision<Action> {
  const { object, machinePool, cluster, controlPlane, place, runningVersion, apply } = observed
  const unsupported = refuseControlPlane(cluster?.controlPlaneRef, 'a node group', 'machine pools')
  if (unsupported) return unsupported
  if (!controlPlane || !cluster?.controlPlaneInitialized || !place || runningVersion === undefined)
    return waiting('WaitingForControlPlane', `Waiting for the control plane of Cluster ${cluster?.name}`)
  const refused = decideVersion(observed, runningVersion) ?? decideReplicas(observed)
  if (refused) return refused
  const version = eksVersion(machinePool!.version ?? runningVersion)!
  return nodeGroupRequest(object, machinePool!, place, version, apply)
}

/** Nodes follow their control plane, and never go back. */
function decideVersion({ machinePool, facts }: Observed, running: string): Decision<never> | undefined {
  const { version, name } = machinePool!
  const field = 'spec.template.spec.version'
  const refused = refuseNodeVersion({ version, running, owner: `MachinePool ${name}`, field })
  if (refused) return refused
  const target = eksVersion(version ?? running)!
  const made = facts.outputs['kubernetes_version']
  if (typeof made === 'string' && isOlder(target, made))
    return stalled(
      'DowngradeRefused',
      `The nodes run Kubernetes ${made} and ${target} is asked for: EKS does not go back`,
      `set ${field} of MachinePool ${name} to ${made}`,
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
