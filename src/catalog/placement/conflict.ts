// Finds controller placements that point at a node pool's own nodes. The guard keeps the controller off them, so such a
// placement leaves it Pending unless a node group carries the same labels: a person has to look.
import type { MatrixFault } from '../matrix/matrix.ts'
import { canRunOn, type Placement, type Taint } from './match.ts'

export interface PoolNodes {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly taints?: readonly Taint[]
}

export function placementConflicts(placement: Placement, pools: readonly PoolNodes[]): MatrixFault[] {
  return pools
    .filter((pool) => isAimed(placement) && canRunOn(placement, { labels: pool.labels, taints: pool.taints ?? [] }))
    .map((pool) => ({
      code: 'CAPT_PLACEMENT_CONFLICT',
      message: `The controller's placement selects nodes of NodePool ${pool.name} (${describe(pool.labels)})`,
      hint: 'select a label that only a managed node group carries, for example eks.amazonaws.com/nodegroup',
    }))
}

/** A placement that selects nothing in particular is the guard's business alone. */
function isAimed({ nodeSelector, affinity }: Placement): boolean {
  const chosen = Object.keys(nodeSelector ?? {}).some((key) => key !== 'kubernetes.io/os')
  return chosen || affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined
}

const describe = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(', ') || 'no labels'
