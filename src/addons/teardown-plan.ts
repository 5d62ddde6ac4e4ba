// Which steps take stages away, in order. With the Cluster its load balancers go first, while the controllers that
// delete them run; then nodes, before the controller that drains them; the release before its CRDs; Flux after everything
// it manages; and last whatever still carries the cluster's tags in the cloud. Pure.
import type { AddonStage } from '#api'
import { parseDuration } from '#lib'
import { orderRemoval } from './plan.ts'
import type { Step, StepType } from './teardown-seen.ts'

export interface RemovalOptions {
  readonly cause: 'cluster' | 'wish'
  /** The Cluster itself is deleted: what people made in it goes too. */
  readonly withCluster: boolean
  /** How long nodes may take. */
  readonly nodesTimeoutMs: number
  /** Stages that may have a probe pod out, beside those that ask for one. */
  readonly probed?: ReadonlySet<string>
}

/** A Service of type LoadBalancer may take minutes to release its addresses. */
const BALANCER_TIMEOUT_MS = 300_000
const CLUSTER = 'cluster'

export function planRemoval(
  all: readonly AddonStage[],
  going: ReadonlySet<string>,
  options: RemovalOptions,
): readonly Step[] {
  const stages = orderRemoval(all).filter((stage) => going.has(stage.name))
  const steps = stages.flatMap((stage) => stepsOf(stage, options))
  if (!options.withCluster) return steps
  const ofCluster = (type: StepType, timeoutMs: number): Step => ({
    name: `${CLUSTER}/${type}`,
    stage: CLUSTER,
    type,
    timeoutMs,
  })
  // Karpenter may be there without a stage that brought it: its machines would run on after EKS is gone.
  const isDrained = steps.some((step) => step.type === 'node-claims' && step.pool === undefined)
  const nodes = isDrained
    ? []
    : [ofCluster('node-pools', options.nodesTimeoutMs), ofCluster('node-claims', options.nodesTimeoutMs)]
  const ownNodes = steps.filter(isAboutMachines)
  const rest = steps.filter((step) => !isAboutMachines(step))
  const ordered = isDrained ? steps : [...ownNodes, ...nodes, ...rest]
  return [ofCluster('load-balancers', BALANCER_TIMEOUT_MS), ...ordered, ofCluster('cloud', BALANCER_TIMEOUT_MS)]
}

const isAboutMachines = ({ type }: Step): boolean =>
  type === 'probe' || type === 'node-pools' || type === 'node-claims' || type === 'node-classes'

function stepsOf(stage: AddonStage, { cause, withCluster, nodesTimeoutMs, probed }: RemovalOptions): readonly Step[] {
  const timeoutMs = parseDuration(stage.uninstall.timeout)
  const step = (type: StepType, more: Partial<Step> = {}): Step => ({
    name: `${stage.name}/${type}`,
    stage: stage.name,
    type,
    timeoutMs,
    ...more,
  })
  const pool = stage.nodePool ? { pool: stage.nodePool.name } : {}
  const machines = [step('node-pools', pool), step('node-claims', { ...pool, timeoutMs: nodesTimeoutMs })]
  const nodes = [...machines, step('node-classes', pool)]
  const probe = stage.nodePool?.verify || probed?.has(stage.name) ? [step('probe')] : []
  // What is to be kept stays in the workload cluster; machines cannot stay when the cluster itself goes.
  if (stage.uninstall.policy === 'Keep') {
    if (cause === 'wish') return [step('sets'), ...probe, step('gate')]
    return withCluster && (stage.nodePool || stage.karpenter) ? [...probe, ...machines] : probe
  }
  const work = stage.nodePool
    ? [...probe, ...nodes]
    : stage.karpenter
      ? [...nodes, step('release', { namespace: stage.karpenter.namespace }), step('definitions')]
      : [step('objects')]
  // A deleted Cluster is left alone by core; its sets and labels go with it.
  return cause === 'cluster' ? work : [step('sets'), ...work, step('gate')]
}
