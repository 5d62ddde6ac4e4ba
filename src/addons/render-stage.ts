// Turns one stage into what is delivered to one Cluster: parts in order, each a ClusterResourceSet with its carriers
// and the checks that must pass before the next part goes out. Pure; everything it needs was read before.
import type { AddonDelivery, AddonStage } from '#api'
import type { Values } from '#catalog'
import { CaptError, hashOf, isCaptError, type Json, type JsonObject, ownValue } from '#lib'
import { expand } from './expand.ts'
import { renderFlux } from './flux-install.ts'
import { fluxChecks, READINESS_JOB, renderProbe, renderReadinessJob } from './flux-stage.ts'
import { parsePath } from './health-path.ts'
import { karpenterChecks, renderKarpenter } from './karpenter-stage.ts'
import { lintManifests } from './lint.ts'
import { type Manifest, parseManifests } from './manifests.ts'
import { FLUX_NAMESPACE, fluxCarrierName, MANAGED_LABEL, setName } from './names.ts'
import { nodePoolChecks, renderNodePool } from './node-pool-stage.ts'
import { type Part, renderPart, toCarriers } from './render-part.ts'
import type { Variables } from './variables.ts'

export type Rendered =
  | {
      readonly is: 'ready'
      readonly version: string | undefined
      readonly parts: readonly Part[]
      readonly hash: string
    }
  | { readonly is: 'missing'; readonly variables: readonly string[]; readonly sources: readonly string[] }
  | { readonly is: 'refused'; readonly code: string; readonly message: string; readonly hint: string }

export interface SourceText {
  readonly kind: 'ConfigMap' | 'Secret'
  readonly name: string
  /** Undefined when the object does not exist. */
  readonly values: Readonly<Record<string, string>> | undefined
}

export interface StageInput {
  readonly stage: AddonStage
  readonly cluster: string
  readonly variables: Variables
  /** Variables that came out of Secrets: what uses them travels in a Secret. */
  readonly secretVariables: ReadonlySet<string>
  readonly override: AddonDelivery['spec']['overrides'][number] | undefined
  readonly versions: { readonly flux: string; readonly karpenter: string }
  readonly definitions: readonly JsonObject[]
  /** A Flux that somebody else installed is used: nothing is rendered, only looked at. */
  readonly isFluxAdopted: boolean
  /** What Flux must be able to fetch when the pipeline names nothing: the chart that comes next. */
  readonly probe: { readonly url: string; readonly tag: string } | undefined
  /** Text of flux.manifest, fetched and checked. */
  readonly installFile: string | undefined
  readonly sources: readonly SourceText[]
  /** Nodes that Karpenter did not make; undefined when not known. */
  readonly nodes: number | undefined
  readonly liveReplicas: number | undefined
}

export function renderStage(input: StageInput): Rendered {
  try {
    const { stage } = input
    for (const { path } of stage.checks) if (path !== undefined) parsePath(path)
    if (stage.flux) return renderFluxStage(input, stage.flux)
    if (stage.karpenter) return renderKarpenterStage(input, stage.karpenter)
    if (stage.nodePool) return renderNodePoolStage(input, stage.nodePool)
    return renderResources(input, stage.resources ?? [])
  } catch (error) {
    if (!isCaptError(error)) throw error
    return { is: 'refused', code: error.code, message: error.message, hint: error.hint ?? 'Correct the AddonPipeline' }
  }
}

function renderFluxStage(input: StageInput, spec: NonNullable<AddonStage['flux']>): Rendered {
  const version = input.versions.flux
  if (input.isFluxAdopted) return ready(version, [renderPart(input, '', [], [...fluxChecks(), ...input.stage.checks])])
  const options = {
    networkPolicy: spec.networkPolicy,
    tolerations: spec.tolerations as readonly JsonObject[] | undefined,
    imageRegistry: spec.imageRegistry,
    imageDigests: spec.imageDigests,
  }
  const isPlain =
    spec.networkPolicy && !spec.tolerations?.length && !spec.imageRegistry && !spec.imageDigests && !spec.manifest
  const key = isPlain ? '' : hashOf({ ...options, manifest: spec.manifest })
  const bundle = remember(`${version} ${key}`, () => {
    const manifests = input.installFile
      ? parseManifests(input.installFile, spec.manifest?.url ?? 'install file').map(markAsOurs)
      : renderFlux(version, input.definitions, options)
    const shared = (index: number) => fluxCarrierName(version, key, index)
    return { manifests, carriers: toCarriers(input.stage.name, '', input.cluster, manifests, { shared }) }
  })
  const checks = [...fluxChecks(), ...input.stage.checks]
  const install: Part = { name: '', set: setName(input.stage.name, '', input.cluster), ...bundle, checks }
  const source = spec.probe ?? input.probe
  const probe = source
    ? [
        renderPart(input, 'probe', renderProbe(source), [
          { type: 'SourceReady', kind: 'OCIRepository', name: 'capt-probe', namespace: FLUX_NAMESPACE },
        ]),
      ]
    : []
  const job = spec.readinessJob
    ? [
        renderPart(input, 'readiness', renderReadinessJob(spec.readinessJob, spec.tolerations), [
          { type: 'JobComplete', name: READINESS_JOB, namespace: FLUX_NAMESPACE },
        ]),
      ]
    : []
  return ready(version, [install, ...job, ...probe])
}

/** What capt brought must be known again, or it would be taken for somebody else's at the next look. */
function markAsOurs(manifest: Manifest): Manifest {
  const labels = { ...(manifest.metadata['labels'] as Record<string, string> | undefined), [MANAGED_LABEL]: 'true' }
  return { ...manifest, metadata: { ...manifest.metadata, labels } }
}

type Bundle = Pick<Part, 'manifests' | 'carriers'>
const bundles = new Map<string, Bundle>()
const MAX_BUNDLES = 8

/** Writing a bundle out takes long and every Cluster shares the result. */
function remember(key: string, render: () => Bundle): Bundle {
  const known = bundles.get(key)
  if (known) return known
  const bundle = render()
  if (bundles.size >= MAX_BUNDLES) bundles.delete(bundles.keys().next().value!)
  bundles.set(key, bundle)
  return bundle
}

function renderKarpenterStage(input: StageInput, spec: NonNullable<AddonStage['karpenter']>): Rendered {
  const identity = identityOf(input, spec)
  const needed = ['CLUSTER_NAME', ...(identity === 'IRSA' ? ['KARPENTER_IAM_ROLE_ARN'] : [])]
  const values = expand(
    { spec: (spec.values ?? {}) as JsonObject, own: (input.override?.values ?? {}) as JsonObject },
    input.variables,
  )
  const missing = [
    ...new Set([...values.missing, ...needed.filter((name) => textOf(input.variables, name) === undefined)]),
  ].sort()
  if (missing.length > 0) return { is: 'missing', variables: missing, sources: [] }
  const version = input.versions.karpenter
  const wish = {
    spec: { ...spec, values: values.value.spec },
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
    renderPart(input, '', renderKarpenter(wish), [...karpenterChecks(wish), ...input.stage.checks], {
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

function renderNodePoolStage(input: StageInput, spec: NonNullable<AddonStage['nodePool']>): Rendered {
  const role = textOf(input.variables, 'NODE_ROLE_NAME')
  const free = expand(
    { nodePool: (spec.nodePool ?? {}) as JsonObject, nodeClass: (spec.nodeClass ?? {}) as JsonObject },
    input.variables,
  )
  const needsRole = spec.role === undefined && role === undefined && !('instanceProfile' in free.value.nodeClass)
  const missing = [...free.missing, ...(needsRole ? ['NODE_ROLE_NAME'] : [])].sort()
  if (missing.length > 0) return { is: 'missing', variables: missing, sources: [] }
  const manifests = renderNodePool({
    spec: { ...spec, ...free.value },
    clusterName: textOf(input.variables, 'CLUSTER_NAME')!,
    role,
    discoveryTag: textOf(input.variables, 'KARPENTER_DISCOVERY_TAG_KEY'),
    subnetIds: textsOf(input.variables['KARPENTER_SUBNET_IDS']),
  })
  return ready(undefined, [renderPart(input, '', manifests, [...nodePoolChecks(spec), ...input.stage.checks])])
}

function renderResources(input: StageInput, resources: NonNullable<AddonStage['resources']>): Rendered {
  const absent = resources.filter(
    (one) => !input.sources.some((source) => source.kind === one.kind && source.name === one.name && source.values),
  )
  if (absent.length > 0)
    return { is: 'missing', variables: [], sources: absent.map((one) => `${one.kind} ${one.name}`).sort() }
  const missing = new Set<string>()
  let isSecret = false
  const manifests = resources.flatMap((one) => {
    const source = input.sources.find((other) => other.kind === one.kind && other.name === one.name)!
    isSecret ||= one.kind === 'Secret'
    return Object.keys(source.values!)
      .sort()
      .flatMap((key) => parseManifests(source.values![key]!, `${one.kind} ${one.name}, key ${key}`))
  })
  const expanded = expand(manifests as unknown as Json, input.variables)
  for (const name of expanded.missing) missing.add(name)
  if (missing.size > 0) return { is: 'missing', variables: [...missing].sort(), sources: [] }
  isSecret ||= [...expanded.used].some((name) => input.secretVariables.has(name))
  const final = expanded.value as unknown as readonly Manifest[]
  const [finding] = lintManifests(final, `Stage ${input.stage.name}`)
  if (finding)
    throw new CaptError('CAPT_MANIFEST_TRAP', finding.message, {
      hint: 'ClusterResourceSet would go wrong with it; change the manifest',
    })
  if (final.length === 0)
    throw new CaptError('CAPT_MANIFEST_INVALID', `Stage ${input.stage.name} delivers nothing`, {
      hint: 'Put manifests into its sources',
    })
  return ready(undefined, [renderPart(input, '', final, input.stage.checks, { secret: isSecret })])
}

function textOf(variables: Variables, name: string): string | undefined {
  const value = ownValue(variables, name)
  return typeof value === 'string' && value !== '' ? value : undefined
}

function textsOf(value: Json | undefined): readonly string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined
}

function ready(version: string | undefined, parts: readonly Part[]): Rendered {
  const hash = hashOf(parts.map((one) => [one.set, one.carriers.map((carrier) => [carrier.name, carrier.hash])]))
  return { is: 'ready', version, parts, hash: `sha256:${hash}` }
}
