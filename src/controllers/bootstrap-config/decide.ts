// Decides the next step for one CAPTBootstrapConfig. Pure: same observation, same decision.
import { type CAPTBootstrapConfig, type ClusterFacts, isDeletedForMove, pauseOf } from '#api'
import type { Projected } from '#kube'
import { act, type Decision, done, stalled, waiting } from '#runtime'
import { waitForOwner } from '../shared/grace-period.ts'
import { refuseControlPlane } from '../shared/node-version.ts'
import { decidePaused } from '../shared/pause.ts'
import { type JoinFacts, nodeUserData } from './user-data.ts'

export interface Observed {
  readonly object: Projected<CAPTBootstrapConfig>
  /** The kind of what owns the object; undefined until Cluster API has set it. */
  readonly owner: 'Machine' | 'MachinePool' | undefined
  readonly cluster: Pick<ClusterFacts, 'name' | 'paused' | 'controlPlaneRef' | 'controlPlaneInitialized'> | undefined
  /** What a node has to know to join; the outputs that are missing when it is not known. */
  readonly join:
    | { readonly is: 'known'; readonly facts: JoinFacts }
    | { readonly is: 'missing'; readonly outputs: readonly string[] }
  /** The Secret of that name, and whether it is ours. */
  readonly secret: 'absent' | 'ours' | 'foreign'
  readonly nowMs: number
}

export type Action = { readonly do: 'write-secret'; readonly value: string }

export const secretNameOf = ({ metadata }: Pick<CAPTBootstrapConfig, 'metadata'>): string => metadata.name

export function decide(observed: Observed): Decision<Action> {
  const { object, owner, cluster, secret } = observed
  if (object.metadata.deletionTimestamp || isDeletedForMove(object)) return done
  if (pauseOf(cluster, object) !== undefined) return decidePaused(object, false) as Decision<never>
  if (!owner) return waitForOwner(object, observed.nowMs, 'Machine')
  if (!cluster) return waiting('WaitingForCluster', 'Waiting for the Cluster that the label names')
  if (secret === 'ours') return done
  if (secret === 'foreign')
    return stalled(
      'SecretNameTaken',
      `Secret ${secretNameOf(object)} belongs to somebody else`,
      'give the CAPTBootstrapConfig another name, or delete the Secret',
    )
  // EKS starts the nodes of a node group itself: Cluster API only asks that there is a Secret.
  if (owner === 'MachinePool') return act({ do: 'write-secret', value: '' })
  return decideUserData(observed)
}

function decideUserData({ object, cluster, join }: Observed): Decision<Action> {
  const unsupported = refuseControlPlane(cluster?.controlPlaneRef, 'a node with nodeadm', 'bootstrap configuration')
  if (unsupported) return unsupported
  if (!cluster?.controlPlaneInitialized)
    return waiting('WaitingForControlPlane', `Waiting for the control plane of Cluster ${cluster?.name}`)
  if (join.is === 'missing')
    return stalled(
      'OutputMissing',
      `The control plane template has no output ${join.outputs.join(', ')}`,
      'add it to the WorkspaceTemplate of the control plane; it must not be sensitive',
    )
  return act({ do: 'write-secret', value: nodeUserData(join.facts, object) })
}
