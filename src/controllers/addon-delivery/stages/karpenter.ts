// The stage type karpenter: the chart as Flux objects, delivered once its IAM role and queue are known.
import {
  type AddonStage,
  type AnyObject,
  CustomResourceDefinitionKind,
  DeploymentKind,
  NodeKind,
  type UnknownObject,
} from '#api'
import { chartTag, chartUrl, KARPENTER_RELEASE, karpenterChart, renderKarpenterValues } from '#catalog'
import { isKubeError, type Objects } from '#kube'
import { CaptError } from '#lib'
import { type Check, HelmReleaseKind } from '../health/read.ts'
import { definitions, nodeSteps } from '../teardown/karpenter.ts'
import { release } from '../teardown/release.ts'
import { fillValues, readChart, renderChart } from './chart.ts'
import { findSkippedStep, findStoredVersion, OWN_DEFINITIONS } from './karpenter/steps.ts'
import { chartSourceOf } from './registry-access.ts'
import { type Rendered, type StageInput, textOf } from './render/rendered.ts'
import type { Blocker, StageType } from './stage-type.ts'

export const karpenterStage: StageType = {
  component: 'karpenter',
  async readInput(stage, from) {
    const { namespace, replicas } = stage.karpenter!
    const chart = await readChart(stage.karpenter!, from)
    if (replicas !== undefined || !from.workload) return chart
    return { ...chart, ...(await readPlaces(from.workload, namespace)) }
  },
  render,
  chart: ({ karpenter }, version, override) => ({
    url: override?.chart ?? karpenter?.chart ?? chartUrl(),
    tag: chartTag(version),
    source: chartSourceOf(karpenter!, override),
  }),
  preflight: ({ karpenter }, { version = '' }) => [
    {
      kind: DeploymentKind,
      where: { labelSelector: 'app.kubernetes.io/name=karpenter' },
      decide: (deployments) =>
        findSecondKarpenter(deployments, karpenter!.namespace) ?? findSkippedStep(deployments, version),
    },
    ...OWN_DEFINITIONS.map((name) => ({
      kind: CustomResourceDefinitionKind,
      where: { name },
      decide: ([live]: readonly UnknownObject[]) => findStoredVersion(live, version),
    })),
  ],
  removal: ({ karpenter }, { nodesTimeoutMs }) => [
    ...nodeSteps(undefined, nodesTimeoutMs),
    release({ namespace: karpenter!.namespace, name: KARPENTER_RELEASE }),
    definitions,
  ],
}

function render(input: StageInput): Rendered {
  const spec = input.stage.karpenter!
  const isIrsa = identityOf(input, spec) === 'IRSA'
  const filled = fillValues(input, spec.values, ['CLUSTER_NAME', ...(isIrsa ? ['KARPENTER_IAM_ROLE_ARN'] : [])])
  if (filled.is === 'missing') return filled
  const version = input.versions.karpenter
  const { namespace, serviceAccount, timeout } = spec
  const values = renderKarpenterValues({
    version,
    clusterName: textOf(input.variables, 'CLUSTER_NAME')!,
    interruptionQueue: textOf(input.variables, 'INTERRUPTION_QUEUE_NAME'),
    identity: isIrsa ? 'irsa' : 'podIdentity',
    roleArn: isIrsa ? textOf(input.variables, 'KARPENTER_IAM_ROLE_ARN') : undefined,
    namespace,
    serviceAccount,
    replicas: spec.replicas ?? (spec.defaults === 'Chart' ? undefined : replicasFor(input.nodes, input.liveReplicas)),
    defaults: spec.defaults,
    values: filled.values,
  })
  const chart = karpenterChart(version, spec.chart)
  const checks: readonly Check[] = [
    ...OWN_DEFINITIONS.map((name): Check => ({ type: 'CRDEstablished', name })),
    { type: 'DeploymentAvailable', name: KARPENTER_RELEASE, namespace, awayFrom: 'karpenter.sh/nodepool' },
  ]
  return renderChart(input, { ...chart, namespace, version, timeout, values, isSecret: filled.isSecret, checks })
}

/** The role of the control plane trusts one kind of identity; another one would be refused by STS for ever. */
function identityOf({ variables }: StageInput, spec: NonNullable<AddonStage['karpenter']>): 'PodIdentity' | 'IRSA' {
  const made = textOf(variables, 'KARPENTER_IDENTITY')
    ?.toLowerCase()
    .replace(/[^a-z]/g, '')
  const trusted = made === 'irsa' ? 'IRSA' : made === 'podidentity' ? 'PodIdentity' : undefined
  if (spec.identity && trusted && spec.identity !== trusted)
    throw new CaptError(
      'CAPT_KARPENTER_IDENTITY',
      `The pipeline asks for ${spec.identity}, but the role of the control plane trusts ${trusted}`,
      { hint: 'Leave karpenter.identity out, or make the control plane for the other one' },
    )
  return spec.identity ?? trusted ?? 'PodIdentity'
}

/** Two, unless there is one node only: then the second could never be placed. It grows with the nodes, never shrinks. */
function replicasFor(nodes: number | undefined, live: number | undefined): number {
  const fitting = nodes === 1 ? 1 : 2
  return Math.max(fitting, Math.min(live ?? fitting, 2))
}

/** Where the controller could run: nodes that Karpenter did not make, and how many replicas it has now. */
async function readPlaces(
  objects: Objects,
  namespace: string,
): Promise<{ nodes: number | undefined; liveReplicas: number | undefined }> {
  try {
    let nodes = 0
    for await (const node of objects.list<AnyObject>(NodeKind, { labelSelector: '!karpenter.sh/nodepool' }))
      nodes += node.metadata.deletionTimestamp ? 0 : 1
    const release = await objects
      .get<UnknownObject>(HelmReleaseKind, { namespace, name: 'karpenter' })
      .catch((error: unknown) => {
        if (isKubeError(error, 'KindNotServed')) return undefined
        throw error
      })
    const { spec } = (release ?? {}) as { spec?: { values?: { replicas?: number } } }
    return { nodes: nodes === 0 ? undefined : nodes, liveReplicas: spec?.values?.replicas }
  } catch (error) {
    if (isKubeError(error)) return { nodes: undefined, liveReplicas: undefined }
    throw error
  }
}

/** Two controllers would fight over the same pods, and moving a release uninstalls it first. */
function findSecondKarpenter(deployments: readonly UnknownObject[], namespace: string): Blocker | undefined {
  const other = deployments.find(({ metadata }) => metadata.namespace !== namespace)?.metadata.namespace
  if (other === undefined) return undefined
  const message = `Karpenter already runs in namespace ${other}`
  const hint = `Set karpenter.namespace to ${other}, or take that installation away first`
  return { code: 'CAPT_KARPENTER_ELSEWHERE', message, hint }
}
