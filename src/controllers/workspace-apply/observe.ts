// Reads all that the decision about one apply needs: template, sources, secrets, dependencies, pause, and its run.
import {
  APPLY_FINALIZER,
  allowsNamespace,
  CLUSTER_NAME_LABEL,
  type KindRef,
  pauseOf,
  RETRY_ANNOTATION,
  readCluster,
  type Secret,
  SecretKind,
  WORKSPACE_ID_ANNOTATION,
  WorkspaceTemplate,
  type WorkspaceTemplateApply,
} from '#api'
import {
  type ApplyFacts,
  backoffSeconds,
  credentialsFingerprint,
  type Engine,
  type FaultKind,
  isAsApplied,
  type Owner,
  type Reconstruction,
  type Rendering,
  type RunRecord,
  readSource,
  renderWorkspace,
  type ToolChoice,
  type WorkspaceView,
  workspaceSources,
} from '#engine'
import type { Projected } from '#kube'
import { isCaptError, parseDuration } from '#lib'
import type { World } from '#runtime'
import { nameCommands } from '../shared/ways-out.ts'
import { type ApprovalOptions, DEFAULT_APPROVAL, type ObservedApproval, observeApproval } from './approval/approval.ts'
import { asTarget, observeSpeculation, type Speculation } from './approval/speculation.ts'
import { cycleOf, dependentsOf, refText, unreadyOf } from './dependencies.ts'
import { type ObservedDrift, observeDrift } from './drift/observe.ts'
import { type Reader, type RecentSources, recentSources } from './recent-sources.ts'
import { type RolloutSlot, slotOf } from './rollout.ts'
import { otherTenant } from './tenant.ts'

export interface Observed {
  readonly apply: WorkspaceTemplateApply
  readonly owner: Owner
  readonly view: WorkspaceView
  /** Resources found outside the record; read before a deletion ends without destroy, and when the record is damaged. */
  readonly remains?: Reconstruction | undefined
  /** Why the apply is paused; undefined when it is not. */
  readonly paused: string | undefined
  readonly template: WorkspaceTemplate | undefined
  /** Why the template may not be used. */
  readonly forbidden: string | undefined
  /** Undefined while a run is on or the template is missing. */
  readonly rendering: Rendering | undefined
  /** ConfigMaps and Secrets are not watched: they are read again after this time. Undefined when there are none. */
  readonly recheckSeconds: number | undefined
  /** The program that a run would use, or why there is none; undefined where there is nothing to choose. */
  readonly tool?: ToolChoice | undefined
  readonly missingSecrets: readonly string[]
  readonly unready: readonly string[]
  readonly cycle: readonly string[] | undefined
  readonly dependents: readonly string[]
  readonly slot: RolloutSlot
  readonly approval: ObservedApproval
  readonly speculation?: Speculation | undefined
  readonly drift: ObservedDrift
  /** The namespace that may run Terraform here instead of this one; undefined when this one may. */
  readonly otherTenant?: string | undefined
  /** Seconds until another attempt is due; zero or less means now. */
  readonly dueInSeconds: number
  /** Seconds in which another attempt to destroy may begin; undefined unless the apply is being deleted. */
  readonly deletionLeftSeconds: number | undefined
  /** The credentials are not those the last run failed with. */
  readonly credentialsChanged: boolean
  /** Value of the retry annotation that no run has taken yet. */
  readonly retryToken: string | undefined
}

export interface ObserveOptions {
  readonly engine: Engine
  readonly clusterKind: KindRef | undefined
  readonly backoff?: (kind: FaultKind, attempt: number) => number
  readonly sourceSeconds?: number | undefined
  /** Runs share one identity and disk: only one namespace is served. */
  readonly singleTenant?: boolean | undefined
  readonly approval?: ApprovalOptions | undefined
  /** Cache of what earlier reconciles read; empty when left out. */
  readonly sources?: RecentSources
}

/** For objects stored before the field was there, on servers that give defaults only to what is written. */
const DELETION_TIMEOUT = '2h'
/** A change in a ConfigMap or Secret that a template reads reaches Terraform within this time. */
const SOURCE_SECONDS = 900

export async function observeApply(
  { objects, cache, clock }: World,
  apply: Projected<WorkspaceTemplateApply>,
  {
    engine,
    clusterKind,
    backoff = backoffSeconds,
    sourceSeconds = SOURCE_SECONDS,
    singleTenant = false,
    approval = DEFAULT_APPROVAL,
    sources = recentSources(),
  }: ObserveOptions,
): Promise<Observed> {
  const { namespace = '', name } = apply.metadata
  const { view, isRecordDamaged } = await observeRun(engine, { namespace, name })
  const ref = { namespace: apply.spec.templateRef.namespace ?? namespace, name: apply.spec.templateRef.name }
  const found = cache.get<WorkspaceTemplate>(WorkspaceTemplate, ref)
  const isAllowed = found !== undefined && allowsNamespace(found, namespace)
  const template = isAllowed ? found : undefined
  const isQuiet = view.activity !== 'running'
  const refs = template ? workspaceSources(template, apply) : []
  const { rendering, forbidden } =
    template && isQuiet
      ? await tryRender(sources(objects, clock, apply, failedRunOf(view.record)), refs, template, asTarget(apply))
      : { rendering: undefined, forbidden: undefined }
  const cluster = clusterOf(cache, clusterKind, apply)
  const credentialsChanged = isQuiet && (await areCredentialsChanged(objects, view.record, apply))
  const observedApproval = await observeApproval(objects, apply, template, view.record, approval, clock.now(), cluster)
  const isAsIs = rendering?.ok === true && isAsApplied(view.record, rendering.workspace.hash)
  const isDone = isAsIs && observedApproval.isUnconfirmed !== true
  return {
    apply,
    owner: ownerOf(apply),
    view,
    remains:
      isRecordDamaged || needsReconstruction(apply, view)
        ? await engine.reconstruct(ownerOf(apply), factsOf(apply))
        : undefined,
    paused: pauseOf(cluster && readCluster(cluster), apply),
    template,
    forbidden:
      found && !isAllowed
        ? `WorkspaceTemplate ${ref.namespace}/${ref.name} does not allow references from namespace ${namespace}`
        : forbidden,
    rendering,
    tool: isQuiet ? toolOf(engine, apply, rendering, view.record) : undefined,
    recheckSeconds: refs.length > 0 ? sourceSeconds : undefined,
    missingSecrets: isDone || !isQuiet ? [] : await missingSecretsOf(objects, apply),
    unready: unreadyOf(cache, apply),
    cycle: cycleOf(cache, apply),
    dependents: apply.metadata.deletionTimestamp ? dependentsOf(cache, apply) : [],
    slot: template ? slotOf(cache, apply, template) : { is: 'now' },
    approval: observedApproval,
    speculation: observeSpeculation(cache, apply, clock.now()),
    drift: await observeDrift(engine, apply, template, view.record, rendering, clock.now()),
    otherTenant: singleTenant && !isDone ? otherTenant(cache, apply) : undefined,
    dueInSeconds: dueIn(view.record, credentialsChanged, clock.now(), backoff),
    deletionLeftSeconds: deletionLeft(apply, view.record, clock.now()),
    credentialsChanged,
    retryToken: apply.metadata.annotations?.[RETRY_ANNOTATION],
  }
}

/** The hint goes to conditions, events and people, so its commands must work as they stand. */
function withNamedCommands(view: WorkspaceView, name: string): WorkspaceView {
  const { record } = view
  if (!record?.run?.fault) return view
  const { run } = record
  const fault = { ...run.fault!, hint: nameCommands(run.fault!.hint, name) }
  return { ...view, record: { ...record, run: { ...run, fault } } }
}

/** An unreadable record counts as unknown; other sources are read instead. */
async function observeRun(
  engine: Engine,
  key: { readonly namespace: string; readonly name: string },
): Promise<{ readonly view: WorkspaceView; readonly isRecordDamaged: boolean }> {
  try {
    return { view: withNamedCommands(await engine.observe(key), key.name), isRecordDamaged: false }
  } catch (error) {
    if (!isCaptError(error, 'CAPT_RECORD_UNREADABLE')) throw error
    return { view: { record: undefined, activity: 'idle', cancelling: false }, isRecordDamaged: true }
  }
}

/**
 * Resources that the status speaks of: the last witness of a record that was lost. A run that had planned may have made all of
 * it; after a destroy that succeeded there are none.
 */
export function reportedResources({ status }: Pick<WorkspaceTemplateApply, 'status'>): number {
  const { run, plan, state } = status ?? {}
  if (isReportedGone(status)) return 0
  const isUnderWay = run?.verb === 'apply' && run.finishedAt === undefined
  return Math.max(state?.resources ?? 0, isUnderWay ? (plan?.add ?? 0) + (plan?.replace ?? 0) : 0)
}

/**
 * Id of the workspace once a run was started: by the annotation, and during the first run, which has its uid as id, by the status.
 * Undefined before that.
 */
export function begunWorkspace({ metadata, status }: WorkspaceTemplateApply): string | undefined {
  return metadata.annotations?.[WORKSPACE_ID_ANNOTATION] ?? (status?.run === undefined ? undefined : metadata.uid)
}

/** After a destroy that succeeded, tags of what is gone may still be listed: they are not asked for. */
function factsOf(apply: WorkspaceTemplateApply): ApplyFacts {
  const workspaceId = isReportedGone(apply.status) ? undefined : begunWorkspace(apply)
  return { status: reportedResources(apply), workspaceId }
}

const isReportedGone = (status: WorkspaceTemplateApply['status']): boolean =>
  status?.run?.verb === 'destroy' && status.run.phase === 'Succeeded'

/** A missing or empty record may have been lost: state and copies are looked up by name. */
function needsReconstruction({ metadata, spec }: WorkspaceTemplateApply, { record, activity }: WorkspaceView): boolean {
  if (!metadata.deletionTimestamp || spec.retainWorkspaceOnDelete || activity !== 'idle') return false
  return metadata.finalizers?.includes(APPLY_FINALIZER) === true && isNothingLeft(record) && !isDestroyed(record)
}

/** Nothing was ever made, or everything was destroyed. Inputs are frozen before anything is made. */
export function isNothingLeft(record: RunRecord | undefined): boolean {
  if (!record || isDestroyed(record)) return true
  return record.bundle === undefined && record.backend === undefined && (record.state?.resources ?? 0) === 0
}

export function isDestroyed(record: RunRecord | undefined): boolean {
  return record?.run?.verb === 'destroy' && record.run.phase === 'Succeeded'
}

const failedRunOf = (record: RunRecord | undefined): string | undefined =>
  record?.run?.fault === undefined ? undefined : record.run.id

export function ownerOf(apply: WorkspaceTemplateApply): Owner {
  const { namespace = '', name, uid = '', labels } = apply.metadata
  const cluster = labels?.[CLUSTER_NAME_LABEL]
  const { apiVersion, kind } = apply
  return { namespace, name, uid, apiVersion, kind, ...(cluster === undefined ? {} : { cluster }) }
}

function toolOf(
  engine: Engine,
  { metadata }: WorkspaceTemplateApply,
  rendering: Rendering | undefined,
  record: RunRecord | undefined,
): ToolChoice | undefined {
  const verb = metadata.deletionTimestamp === undefined ? 'apply' : 'destroy'
  return engine.toolFor?.({ verb, ...(rendering?.ok ? { workspace: rendering.workspace } : {}) }, record)
}

function clusterOf(cache: World['cache'], clusterKind: KindRef | undefined, apply: WorkspaceTemplateApply) {
  const { namespace = '', labels } = apply.metadata
  const name = labels?.[CLUSTER_NAME_LABEL]
  return clusterKind === undefined || name === undefined ? undefined : cache.get(clusterKind, { namespace, name })
}

async function tryRender(
  reader: Reader,
  refs: ReturnType<typeof workspaceSources>,
  template: WorkspaceTemplate,
  apply: WorkspaceTemplateApply,
): Promise<{ readonly rendering: Rendering | undefined; readonly forbidden: string | undefined }> {
  const namespace = apply.metadata.namespace ?? ''
  const contents = new Map<string, string | undefined>()
  try {
    for (const ref of refs) {
      contents.set(JSON.stringify(ref), await readSource(reader, namespace, ref))
    }
  } catch (error) {
    if (isCaptError(error, 'CAPT_REFERENCE_FORBIDDEN')) return { rendering: undefined, forbidden: error.message }
    throw error
  }
  const rendering = renderWorkspace(template, apply, (ref) => contents.get(JSON.stringify(ref)))
  return { rendering, forbidden: undefined }
}

async function missingSecretsOf(objects: World['objects'], apply: WorkspaceTemplateApply): Promise<readonly string[]> {
  const { namespace = '', deletionTimestamp } = apply.metadata
  if (deletionTimestamp) return []
  const missing: string[] = []
  for (const ref of apply.spec.waitForSecrets) {
    const key = { namespace: ref.namespace ?? namespace, name: ref.name }
    const secret = await objects.get<Secret>(SecretKind, key)
    // A Secret that does not allow the reference counts as missing: existence is not disclosed.
    if (!secret || !allowsNamespace(secret, namespace)) missing.push(`${key.namespace}/${key.name}`)
  }
  return missing.sort()
}

/** Changed credentials reset the backoff to its first delay. */
export function dueIn(
  record: RunRecord | undefined,
  credentialsChanged: boolean,
  nowMs: number,
  backoff: (kind: FaultKind, attempt: number) => number,
): number {
  const run = record?.run
  if (!run?.fault || run.finishedAt === undefined) return 0
  const finishedMs = Date.parse(run.finishedAt)
  // By the clock of another host, which is ahead of ours: how long ago it was is not known.
  if (finishedMs > nowMs) return 0
  const dueMs = finishedMs + backoff(run.fault.kind, credentialsChanged ? 1 : run.attempt) * 1000
  return Math.ceil((dueMs - nowMs) / 1000)
}

/** Counted from the first attempt to destroy, and again after `capt retry`; before that from the deletion itself. */
export function deletionLeft(
  { metadata, spec }: WorkspaceTemplateApply,
  record: RunRecord | undefined,
  nowMs: number,
): number | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined
  const run = record?.run
  const since = run?.verb === 'destroy' ? (run.seriesStartedAt ?? run.startedAt) : metadata.deletionTimestamp
  return Math.ceil((Date.parse(since) + parseDuration(spec.deletionTimeout ?? DELETION_TIMEOUT) - nowMs) / 1000)
}

/** Read only after a credentials fault. Without a Secret to compare they count as unchanged. */
async function areCredentialsChanged(
  objects: World['objects'],
  record: RunRecord | undefined,
  apply: WorkspaceTemplateApply,
): Promise<boolean> {
  const run = record?.run
  if (run?.fault?.kind !== 'credentials') return false
  const used = run.credentialRefs ?? []
  const own = apply.spec.credentialsRef
  // A new reference changes the inputs of an apply; a destroy has frozen inputs and reads the reference again.
  if (run.verb === 'destroy' && own && !used.includes(refText(own, apply.metadata.namespace))) return true
  if (used.length === 0 || run.credentials === undefined) return false
  const refs = used.map((text) => {
    const [namespace = '', name = ''] = text.split('/')
    return { namespace, name }
  })
  return (await credentialsFingerprint(objects, refs)) !== run.credentials
}
