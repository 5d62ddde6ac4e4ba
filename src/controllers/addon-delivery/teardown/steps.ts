// Which steps take stages away, in order. With the Cluster its load balancers go first, while the controllers that
// delete them run; then nodes, before the controller that drains them; the release before its CRDs; Flux after everything
// it manages; and last whatever still has the cluster's tags in the cloud. Pure.
import type { AddonStage } from '#api'
import { parseDuration } from '#lib'
import { orderRemoval } from '../stages/order.ts'
import { typeOf } from '../stages/registry.ts'
import type { StepDraft } from '../stages/stage-type.ts'
import { drainsEveryNode, nodeSteps } from './karpenter.ts'
import { observeBalancers, observeProbePod } from './observe-step.ts'
import type { Step } from './observed.ts'

export interface RemovalOptions {
  /** The Cluster itself is deleted: what people made in it goes too. */
  readonly withCluster: boolean
  /** The Cluster object stays, and with it the sets and labels that would deliver again. */
  readonly isClusterKept: boolean
  /** How long nodes may take. */
  readonly nodesTimeoutMs: number
  /** Stages that may have a probe pod out, beside those that ask for one. */
  readonly probed?: ReadonlySet<string>
}

/** A Service of type LoadBalancer may take minutes to release its addresses. */
export const BALANCER_TIMEOUT_MS = 300_000
const CLUSTER = 'cluster'

export function planRemoval(
  all: readonly AddonStage[],
  going: ReadonlySet<string>,
  options: RemovalOptions,
): readonly Step[] {
  const stages = orderRemoval(all).filter((stage) => going.has(stage.name))
  const steps = stages.flatMap((stage) => stepsOf(stage, options))
  if (!options.withCluster) return steps
  const ofCluster = (draft: StepDraft): Step => ({ timeoutMs: options.nodesTimeoutMs, ...toStep(CLUSTER, draft) })
  // Karpenter may run without a stage that delivered it: its machines and instance profiles would outlive EKS.
  const isDrained = steps.some(drainsEveryNode)
  const nodes = nodeSteps(undefined, options.nodesTimeoutMs).map(ofCluster)
  const ownNodes = steps.filter(isNodeStep)
  const rest = steps.filter((step) => !isNodeStep(step))
  const ordered = isDrained ? steps : [...ownNodes, ...nodes, ...rest]
  return [ofCluster(LOAD_BALANCERS), ...ordered, ofCluster(CLOUD)]
}

/** Services, Ingresses and Gateways that hold load balancers. First of all, while their controllers run. */
const LOAD_BALANCERS: StepDraft = { type: 'load-balancers', observe: observeBalancers, timeoutMs: BALANCER_TIMEOUT_MS }
/** What has the cluster's tags in the cloud, last: whatever the other steps did not remove is found here. */
const CLOUD: StepDraft = { type: 'cloud', timeoutMs: BALANCER_TIMEOUT_MS }
/** ClusterResourceSets in the management cluster, so that nothing is delivered again. */
const SETS: StepDraft = { type: 'sets' }
/** Gate label and payloads, last: only then may the stage come back. */
const GATE: StepDraft = { type: 'gate' }
/** The probe pod: left alone it would request another node. */
const PROBE: StepDraft = { type: 'probe', observe: observeProbePod }

const PLACES: Readonly<Record<string, Step['where']>> = { sets: 'home', gate: 'home', cloud: 'cloud' }

const toStep = (stage: string, draft: StepDraft) => ({
  ...draft,
  name: `${stage}/${draft.type}`,
  stage,
  where: PLACES[draft.type] ?? 'workload',
})

const isNodeStep = ({ type, isOfNodes = false }: Step): boolean => type === PROBE.type || isOfNodes

function stepsOf(stage: AddonStage, options: RemovalOptions): readonly Step[] {
  const { withCluster, isClusterKept, nodesTimeoutMs, probed } = options
  const timeoutMs = parseDuration(stage.uninstall.timeout)
  const { removal, verification } = typeOf(stage)
  const probe = verification?.(stage) || probed?.has(stage.name) ? [PROBE] : []
  const ofType = removal(stage, { nodesTimeoutMs })
  const isOfWork = ({ isOfNodes = false }: StepDraft): boolean =>
    // What is to be kept stays in the workload cluster; nodes cannot stay when the cluster itself goes.
    stage.uninstall.policy === 'Delete' || (withCluster && isOfNodes)
  const work = [...probe, ...ofType.filter(isOfWork)]
  // A deleted Cluster is left alone by core; its sets and labels go with it.
  const steps = isClusterKept ? [SETS, ...work, GATE] : work
  return steps.map((draft) => ({ timeoutMs, ...toStep(stage.name, draft) }))
}
