// The stage type karpenter: the chart as Flux objects, delivered once its IAM role and queue are known.
import { type AddonStage, type AnyObject, DeploymentKind, NodeKind, type UnknownObject } from '#api'
import { chartTag, chartUrl, KARPENTER_RELEASE, type Values } from '#catalog'
import { isKubeError, type Objects } from '#kube'
import { CaptError, type JsonObject } from '#lib'
import { HelmReleaseKind } from '../health/read.ts'
import { expand } from '../manifests/expand.ts'
import { renderPart } from '../resource-set/render-part.ts'
import { definitions, nodeSteps, release } from '../teardown/karpenter.ts'
import { karpenterChecks, renderKarpenter } from './karpenter/release.ts'
import { accessFields, chartSourceOf, readAccess, renderAccess } from './registry-access.ts'
import { type Rendered, ready, type StageInput, textOf } from './render/rendered.ts'
import type { Blocker, StageType } from './stage-type.ts'

export const karpenterStage: StageType = {
  field: 'karpenter',
  component: 'karpenter',
  async readInput(stage, from) {
    const { namespace, replicas } = stage.karpenter!
    const access = await readAccess(chartSourceOf(stage.karpenter!, from.override), from)
    if (replicas !== undefined || !from.workload) return { access }
    return { access, ...(await readPlaces(from.workload, namespace)) }
  },
  render,
  chart: ({ karpenter }, version, override) => ({
    url: override?.chart ?? karpenter?.chart ?? chartUrl(),
    tag: chartTag(version),
    source: chartSourceOf(karpenter!, override),
  }),
  preflight: ({ karpenter }) => [
    {
      kind: DeploymentKind,
      where: { labelSelector: 'app.kubernetes.io/name=karpenter' },
      decide: (deployments) => findSecondKarpenter(deployments, karpenter!.namespace),
    },
  ],
  removal: ({ karpenter }, { nodesTimeoutMs }) => [
    ...nodeSteps(undefined, nodesTimeoutMs),
    release(karpenter!.namespace),
    definitions,
  ],
}

function render(input: StageInput): Rendered {
  const spec = input.stage.karpenter!
  const identity = identityOf(input, spec)
  const needed = ['CLUSTER_NAME', ...(identity === 'IRSA' ? ['KARPENTER_IAM_ROLE_ARN'] : [])]
  const values = expand(
    { spec: (spec.values ?? {}) as JsonObject, own: (input.override?.values ?? {}) as JsonObject },
    input.variables,
  )
  const missing = [
    ...new Set([...values.missing, ...needed.filter((name) => textOf(input.variables, name) === undefined)]),
  ].sort()
  const absent = input.access?.missing ?? []
  if (missing.length > 0 || absent.length > 0) return { is: 'missing', variables: missing, sources: absent }
  const version = input.versions.karpenter
  const karpenter = {
    spec: { ...spec, chart: input.override?.chart ?? spec.chart, values: values.value.spec },
    access: accessFields(input.access, KARPENTER_RELEASE),
    version,
    fluxVersion: input.versions.flux,
    clusterName: textOf(input.variables, 'CLUSTER_NAME')!,
    identity,
    roleArn: textOf(input.variables, 'KARPENTER_IAM_ROLE_ARN'),
    interruptionQueue: textOf(input.variables, 'INTERRUPTION_QUEUE_NAME'),
    replicas: spec.replicas ?? replicasFor(input.nodes, input.liveReplicas),
    values: values.value.own as Values,
  }
  const isSecret = [...values.used].some((name) => input.secretVariables.has(name))
  return ready(version, [
    ...renderAccess(input, input.access, { name: KARPENTER_RELEASE, namespace: spec.namespace }),
    renderPart(input, '', renderKarpenter(karpenter), [...karpenterChecks(karpenter), ...input.stage.checks], {
      secret: isSecret,
    }),
  ])
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
