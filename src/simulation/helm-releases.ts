// Plays helm-controller: a release becomes Ready when its source is fetched and what the chart brings is available.
// Only the chart `karpenter` brings anything here; for any other chart the message says so.
import { type AnyObject, ConfigMapKind, CustomResourceDefinitionKind, DeploymentKind, type KindRef, keyOf, type UnknownObject } from '#api'
import { isKubeError, type Objects, type Projected } from '#kube'
import { hashOf, messageOf, parseDuration, toTimestamp } from '#lib'
import { act, addFinalizer, type Controller, type Decision, done, hasFinalizer, isTrue, removeFinalizer, waiting, type World } from '#runtime'
import { conditionList, secondsLeft, type Stage } from './actor.ts'
import { type Fault, faultOf, isFaultMap, parseFault } from './faults.ts'
import { FLUX_FINALIZER, isRunning, type Source } from './flux-sources.ts'
import { karpenterDefinitions, renderKarpenterChart } from './karpenter-chart.ts'
import { FAULTS, HelmReleaseKind, HelmRepositoryKind, OCIRepositoryKind } from './names.ts'

interface Release extends AnyObject {
  readonly spec?: {
    readonly suspend?: boolean
    readonly timeout?: string
    readonly releaseName?: string
    readonly chartRef?: { readonly kind: string; readonly name: string; readonly namespace?: string }
    readonly chart?: { readonly spec: { readonly chart: string; readonly version?: string; readonly sourceRef: { readonly kind: string; readonly name: string; readonly namespace?: string } } }
    readonly install?: { readonly remediation?: { readonly retries?: number }; readonly strategy?: { readonly name?: string } }
    readonly values?: Readonly<Record<string, unknown>>
  }
  readonly status?: {
    readonly conditions?: unknown
    readonly observedGeneration?: number
    readonly history?: readonly { readonly chartVersion: string; readonly digest?: string; readonly status?: string }[]
    readonly lastAttemptedAt?: string
    readonly lastHandledResetAt?: string
    readonly installFailures?: number
  }
}

interface Chart {
  readonly name: string
  readonly version: string
  readonly isReady: boolean
  readonly problem: string
}

interface Seen {
  readonly release: Projected<Release>
  readonly isAlive: boolean
  readonly chart: Chart | undefined
  readonly digest: string
  readonly deployment: AnyObject | undefined
  readonly fault: Fault
  readonly problem: { message?: string }
  readonly nowMs: number
}
type Action = { readonly do: 'hold' | 'install' | 'uninstall' | 'let-go' }

const DIGEST_ANNOTATION = 'capt.appthrust.com/simulated-digest'
const RESET = 'reconcile.fluxcd.io/resetAt'

export function helmReleaseActor(stage: Stage): Controller<Release, Seen, Action> {
  const all = (cache: { list(kind: KindRef): readonly AnyObject[] }) => cache.list(HelmReleaseKind).map(keyOf)
  return {
    name: 'simulated-helmrelease',
    kind: HelmReleaseKind,
    summary: false,
    wakes: [
      { kind: DeploymentKind, toKeys: (_object, cache) => all(cache) },
      { kind: OCIRepositoryKind, toKeys: (_object, cache) => all(cache) },
      { kind: HelmRepositoryKind, toKeys: (_object, cache) => all(cache) },
      { kind: ConfigMapKind, toKeys: (object, cache) => (isFaultMap(object) ? all(cache) : []) },
    ],
    observe: async (world, release) => await observe(world, release, stage),
    decide,
    act: (world, seen, action) => actOn(world, seen, action),
    status: report,
  }
}

async function observe({ cache }: World, release: Projected<Release>, stage: Stage): Promise<Seen> {
  const chart = chartOf(release, (kind, name, namespace) => cache.get<Source>(kind, { namespace, name }))
  const name = release.spec?.releaseName ?? release.metadata.name
  return {
    release,
    isAlive: isRunning(cache, 'helm-controller'),
    chart,
    digest: hashOf({ values: release.spec?.values ?? {}, chart: chart?.version }).slice(0, 16),
    deployment: cache.get(DeploymentKind, { namespace: release.metadata.namespace!, name }),
    fault: faultOf(cache, release),
    problem: {},
    nowMs: stage.clock.now(),
  }
}

function chartOf({ spec, metadata }: Release, find: (kind: KindRef, name: string, namespace: string) => Source | undefined): Chart | undefined {
  const namespace = metadata.namespace!
  if (spec?.chartRef) {
    const source = find(OCIRepositoryKind, spec.chartRef.name, spec.chartRef.namespace ?? namespace)
    const name = source?.spec?.url?.split('/').at(-1) ?? ''
    return { name, version: source?.spec?.ref?.tag ?? '', isReady: source !== undefined && isTrue(source, 'Ready'), problem: source ? `${spec.chartRef.kind} '${spec.chartRef.name}' is not ready` : `${spec.chartRef.kind} '${spec.chartRef.name}' not found` }
  }
  if (!spec?.chart) return undefined
  const { chart, version = '', sourceRef } = spec.chart.spec
  const source = find(HelmRepositoryKind, sourceRef.name, sourceRef.namespace ?? namespace)
  const isReady = source !== undefined && (source.spec?.type === 'oci' || isTrue(source, 'Ready'))
  return { name: chart, version, isReady, problem: source ? `HelmRepository '${sourceRef.name}' is not ready` : `HelmRepository '${sourceRef.name}' not found` }
}

const isInstalled = ({ deployment, digest }: Seen) => deployment?.metadata.annotations?.[DIGEST_ANNOTATION] === digest
const isAvailable = ({ deployment }: Seen) => deployment !== undefined && isTrue(deployment, 'Available')

function decide(seen: Seen): Decision<Action> {
  const { release, chart } = seen
  if (!seen.isAlive) return waiting('NoController', 'helm-controller does not run')
  const isHeld = hasFinalizer(release, FLUX_FINALIZER)
  if (release.metadata.deletionTimestamp) {
    if (!isHeld) return done
    return release.spec?.suspend || !seen.deployment ? act<Action>({ do: 'let-go' }) : act<Action>({ do: 'uninstall' }, { do: 'let-go' })
  }
  if (release.spec?.suspend) return done
  if (!isHeld) return act<Action>({ do: 'hold' })
  if (!chart?.isReady) return waiting('SourceNotReady', chart?.problem ?? 'No chart')
  if (chart.name !== 'karpenter') return done
  if (!isInstalled(seen)) return act<Action>({ do: 'install' })
  const left = isAvailable(seen) ? 0 : timeoutIn(seen)
  return left > 0 ? waiting('Progressing', 'Waiting for what was installed', left) : done
}

function timeoutIn({ release, nowMs }: Seen): number {
  return secondsLeft(release.status?.lastAttemptedAt, parseDuration(release.spec?.timeout ?? '5m'), nowMs)
}

async function actOn({ objects }: World, seen: Seen, action: Action): Promise<void> {
  const { release } = seen
  if (action.do === 'hold') return await addFinalizer(objects, HelmReleaseKind, release, FLUX_FINALIZER)
  if (action.do === 'let-go') return await removeFinalizer(objects, HelmReleaseKind, release, FLUX_FINALIZER)
  if (action.do === 'uninstall') return await objects.delete(DeploymentKind, keyOf(seen.deployment!))
  try {
    await install(objects, seen)
  } catch (error) {
    if (isKubeError(error)) throw error
    seen.problem.message = messageOf(error)
  }
}

async function install(objects: Objects, { release, chart, digest }: Seen): Promise<void> {
  const rendered = renderKarpenterChart({ namespace: release.metadata.namespace!, release: release.spec?.releaseName ?? release.metadata.name, version: chart!.version, values: release.spec?.values ?? {} })
  const faults = (await objects.get<AnyObject & { data?: Record<string, string> }>(ConfigMapKind, FAULTS))?.data ?? {}
  for (const definition of karpenterDefinitions()) {
    if (parseFault(faults[definition.metadata.name]).is !== 'missing') await ensure(objects, CustomResourceDefinitionKind, definition)
  }
  for (const object of rendered) {
    const kind: KindRef = object.kind === 'Deployment' ? DeploymentKind : { group: '', version: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true }
    await ensure(objects, kind, { ...object, metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [DIGEST_ANNOTATION]: digest } } } as UnknownObject)
  }
}

async function ensure(objects: Objects, kind: KindRef, object: UnknownObject): Promise<void> {
  try {
    await objects.create(kind, object)
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
    const { apiVersion: _version, kind: _kind, ...body } = object
    await objects.patch(kind, keyOf(object), { type: 'merge', body })
  }
}

function report(seen: Seen) {
  const { release, isAlive, chart, nowMs, digest } = seen
  const { generation, annotations } = release.metadata
  if (!isAlive || release.metadata.deletionTimestamp || release.spec?.suspend) return {}
  const previous = release.status?.conditions
  const resetAt = annotations?.[RESET]
  const wasReset = resetAt !== undefined && resetAt !== release.status?.lastHandledResetAt
  const say = (ready: 'True' | 'False' | 'Unknown', reason: string, message: string, stalled?: string) => {
    const drafts = [{ type: 'Ready', status: ready, reason, message } as const, ...(stalled ? [{ type: 'Stalled', status: 'True', reason: stalled, message } as const] : [])]
    return { observedGeneration: generation, conditions: conditionList(previous, drafts, nowMs, generation), ...(resetAt ? { lastHandledResetAt: resetAt } : {}) }
  }
  if (!chart?.isReady) return { fields: say('False', 'SourceNotReady', chart?.problem ?? 'no chart is given') }
  if (chart.name !== 'karpenter') return { fields: { ...say('True', 'InstallSucceeded', `Simulated: chart ${chart.name} brings nothing here`), history: [deployed(release, chart, digest, nowMs, 1)] } }
  if (seen.problem.message) return { fields: say('False', 'InstallFailed', `Helm install failed: ${seen.problem.message}`, 'RetriesExceeded') }
  const lastAttemptedAt = isInstalled(seen) && !wasReset ? (release.status?.lastAttemptedAt ?? toTimestamp(nowMs)) : toTimestamp(nowMs)
  if (isInstalled(seen) && isAvailable(seen)) {
    const known = release.status?.history?.[0]
    const history = known?.digest === digest ? release.status!.history : [deployed(release, chart, digest, nowMs, (release.status?.history?.length ?? 0) + 1), ...(release.status?.history ?? [])].slice(0, 5)
    const reason = (history?.length ?? 1) > 1 ? 'UpgradeSucceeded' : 'InstallSucceeded'
    return { fields: { ...say('True', reason, `Helm ${reason === 'InstallSucceeded' ? 'install' : 'upgrade'} succeeded for release karpenter with chart ${chart.name}@${chart.version} (simulated)`), history, lastAttemptedAt, installFailures: 0 } }
  }
  const isOver = isInstalled(seen) && !wasReset && release.status?.lastAttemptedAt !== undefined && timeoutIn(seen) === 0
  if (!isOver) return { fields: { ...say('Unknown', 'Progressing', 'Running install action with timeout (simulated)'), lastAttemptedAt } }
  const retries = release.spec?.install?.remediation?.retries ?? 0
  const isRetried = release.spec?.install?.strategy?.name === 'RetryOnFailure' || retries !== 0
  const message = 'Helm install failed: context deadline exceeded (simulated)'
  return { fields: { ...say('False', 'InstallFailed', message, isRetried ? undefined : 'RetriesExceeded'), lastAttemptedAt, installFailures: 1 } }
}

/** One entry of status.history, with everything that the real definition asks for. */
function deployed(release: AnyObject, chart: Chart, digest: string, nowMs: number, version: number) {
  const at = toTimestamp(nowMs)
  return {
    name: release.metadata.name,
    namespace: release.metadata.namespace ?? '',
    version,
    chartName: chart.name,
    chartVersion: chart.version,
    digest,
    configDigest: digest,
    firstDeployed: at,
    lastDeployed: at,
    status: 'deployed',
  }
}
