// Which steps take stages away, in order. Nodes go before the controller that drains them, the release before its CRDs,
// Flux after everything it manages. Pure.
import type { AddonStage } from '#api'
import { parseDuration } from '#lib'
import { orderRemoval } from './plan.ts'
import type { Step, StepType } from './teardown-seen.ts'

export interface RemovalOptions {
  readonly cause: 'cluster' | 'wish'
  /** How long nodes may take. */
  readonly nodesTimeoutMs: number
  /** Stages that may have a probe pod out, beside those that ask for one. */
  readonly probed?: ReadonlySet<string>
}

/** A Service of type LoadBalancer may take minutes to let go of its addresses. */
const BALANCER_TIMEOUT_MS = 300_000

export function planRemoval(
  all: readonly AddonStage[],
  going: ReadonlySet<string>,
  options: RemovalOptions,
): readonly Step[] {
  const stages = orderRemoval(all).filter((stage) => going.has(stage.name))
  const steps = stages.flatMap((stage) => stepsOf(stage, options))
  if (options.cause === 'wish') return steps
  // The cluster goes: its load balancers hold addresses in the VPC. They leave while nodes can still be told.
  const at = steps.findIndex(
    (step) => step.type === 'node-classes' || step.type === 'release' || step.type === 'objects',
  )
  const balancers: Step = {
    name: 'cluster/load-balancers',
    stage: 'cluster',
    type: 'load-balancers',
    timeoutMs: BALANCER_TIMEOUT_MS,
  }
  return at < 0 ? steps : [...steps.slice(0, at), balancers, ...steps.slice(at)]
}

function stepsOf(stage: AddonStage, { cause, nodesTimeoutMs, probed }: RemovalOptions): readonly Step[] {
  const timeoutMs = parseDuration(stage.uninstall.timeout)
  const step = (type: StepType, more: Partial<Step> = {}): Step => ({
    name: `${stage.name}/${type}`,
    stage: stage.name,
    type,
    timeoutMs,
    ...more,
  })
  const pool = stage.nodePool ? { pool: stage.nodePool.name } : {}
  const nodes = [
    step('node-pools', pool),
    step('node-claims', { ...pool, timeoutMs: nodesTimeoutMs }),
    step('node-classes', pool),
  ]
  const probe = stage.nodePool?.verify || probed?.has(stage.name) ? [step('probe')] : []
  // What is to be kept is only let go of: the sets and the gate go, the workload cluster is not touched.
  const isKept = stage.uninstall.policy === 'Keep'
  if (isKept) return cause === 'cluster' ? probe : [step('sets'), ...probe, step('gate')]
  const work = stage.nodePool
    ? [...probe, ...nodes]
    : stage.karpenter
      ? [...nodes, step('release', { namespace: stage.karpenter.namespace }), step('definitions')]
      : [step('objects')]
  // A deleted Cluster is left alone by core; its sets and labels go with it.
  return cause === 'cluster' ? work : [step('sets'), ...work, step('gate')]
}
