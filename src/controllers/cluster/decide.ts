// Decides the next step for one CAPTCluster. Pure: same observation, same decision.
import { blocksMove, CLUSTER_FINALIZER, pauseOf } from '#api'
import type { Json } from '#lib'
import { act, type Decision, done, hasFinalizer, stalled, waiting } from '#runtime'
import { type ApplyRequest, isUpToDate, refuseApply } from '../shared/apply.ts'
import { waitForApply, waitForCluster } from '../shared/grace-period.ts'
import { decideLifecycle } from '../shared/lifecycle.ts'
import { decideDelete } from './decide-delete.ts'
import type { NameReport } from './name/choose.ts'
import type { Observed } from './observe.ts'
import { vpcRequest } from './variables.ts'

/** A name that is taken may become free. */
const NAME_RETRY_SECONDS = 60
/** AWS has not answered yet, or the template does not exist yet. */
const NAME_WAIT_SECONDS = 2

export type Action =
  | { readonly do: 'add-finalizer' | 'remove-finalizer' | 'unblock-move' }
  | { readonly do: 'write-apply'; readonly request: ApplyRequest }
  | { readonly do: 'delete-apply' | 'retain-apply' }
  | { readonly do: 'record-name'; readonly name: string; readonly report: NameReport }

export function decide(observed: Observed): Decision<Action> {
  const { object, cluster, facts } = observed
  return decideLifecycle<Action>(object, CLUSTER_FINALIZER, {
    pause: pauseOf(cluster, object),
    isRunning: facts.running,
    deleting: () => decideDelete(observed),
    active: () => decideNetwork(observed),
  })
}

function decideNetwork(observed: Observed): Decision<Action> {
  const { object, cluster, facts, apply } = observed
  if (!cluster) return waitForCluster(object, observed.nowMs)
  if (!hasFinalizer(object, CLUSTER_FINALIZER)) return act({ do: 'add-finalizer' })

  const unnamed = decideName(observed)
  if (unnamed) return unnamed
  const request = requestOf(observed)
  if (!request) return done
  const refused = refuseApply(apply, request, {
    deleting: 'VPCDeleting',
    taken: 'VPCNameTaken',
    hint: 'set spec.workspaceTemplateApplyName to a name of its own on a new CAPTCluster',
  })
  if (refused) return refused
  if (!isUpToDate(apply, request)) return act({ do: 'write-apply', request })

  const { state } = facts
  if (state.is === 'failed') return settle(observed, stalled('VPCCreationFailed', state.message, state.hint))
  if (state.is !== 'applied') return waitForApply(state, observed.nowMs, 'VPCCreating', `Waiting for ${request.name}`)
  if (vpcIdOf(observed) === undefined)
    return settle(
      observed,
      stalled(
        'OutputMissing',
        `WorkspaceTemplate ${request.spec.templateRef.name} has no output vpc_id`,
        'add output "vpc_id" to the template, as text',
      ),
    )
  return settle(observed, done)
}

/** Anything but the ordinary choice is recorded before it is used. */
function decideName({ name }: Observed): Decision<Action> | undefined {
  if (name?.is === 'refused') return stalled('ClusterNameTaken', name.message, name.hint, NAME_RETRY_SECONDS)
  if (name?.is === 'waiting') return waiting('ChoosingClusterName', name.message, NAME_WAIT_SECONDS)
  return name?.report && act({ do: 'record-name', name: name.name, report: name.report })
}

/** Undefined when the VPC exists already. */
function requestOf({ object, clusterName, name }: Observed): ApplyRequest | undefined {
  return name?.is === 'chosen' ? vpcRequest(object, clusterName, name.name) : undefined
}

/** Removes block-move after the end of a run, before anything else is reported. */
function settle(observed: Observed, decision: Decision<Action>): Decision<Action> {
  return blocksMove(observed.object) && !observed.facts.running ? act({ do: 'unblock-move' }) : decision
}

export function vpcIdOf({ object, facts }: Observed): string | undefined {
  return object.spec.existingVpcId ?? textOf(facts.outputs['vpc_id'])
}

const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
