// Executes one action and returns at once: a run goes on by itself and triggers a reconcile when its record changes.
import {
  APPLY_FINALIZER,
  BLOCK_MOVE_ANNOTATION,
  blocksMove,
  CLUSTER_NAME_LABEL,
  keyOf,
  RETRY_ANNOTATION,
  WORKSPACE_ID_ANNOTATION,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import type { Engine, NamedWorkspace, RunRecord } from '#engine'
import { type Cache, isKubeError } from '#kube'
import { messageOf, parseDuration } from '#lib'
import { addFinalizer, removeFinalizer, type World } from '#runtime'
import type { Action } from './actions.ts'
import { refText } from './dependencies.ts'
import { checksOwner } from './drift/observe.ts'
import { begunWorkspace, type Observed, reportedResources } from './observe.ts'
import { nameSuspects } from './status.ts'
import { type ApplySummary, summarizeApply } from './summary.ts'

const RELEASE_ATTEMPTS = 5

export async function actOnApply(engine: Engine, world: World, observed: Observed, action: Action): Promise<void> {
  const { objects } = world
  const { apply, owner } = observed
  switch (action.do) {
    case 'add-finalizer':
      return addFinalizer(objects, WorkspaceTemplateApply, apply, APPLY_FINALIZER)
    case 'remove-finalizer':
      return release(objects, apply)
    case 'unblock-move':
      return markEnd(objects, observed)
    case 'delete-self':
      return objects.delete(WorkspaceTemplateApply, keyOf(apply))
    case 'abandon-run':
      return engine.abandon(owner)
    case 'cancel-run':
      // First, and on the version that was observed: a retry that is requested later still counts.
      if (action.dropsRetry) await dropRetry(objects, apply)
      return engine.cancel(owner, action.runId)
    case 'check-drift':
      return startCheck(engine, world, observed, action)
    case 'abandon-check':
      return engine.abandon(checksOwner(owner))
    case 'cancel-check':
      return engine.cancel(checksOwner(owner), action.runId)
    case 'forget-checks':
      return engine.forget(checksOwner(owner), { keepState: false, stillUsed: new Set() })
    case 'start-run':
      return startRun(engine, world, observed, action)
    case 'forget': {
      if (observed.drift.checks?.record)
        await engine.forget(checksOwner(owner), { keepState: false, stillUsed: new Set() })
      await engine.forget(owner, { keepState: action.keepState, stillUsed: credentialsOfOthers(world.cache, observed) })
      const message = action.keepState
        ? 'Left the infrastructure as it is; its state is kept'
        : 'Nothing is left of the workspace'
      const suspects = observed.view.record?.suspects ?? []
      if (action.keepState || suspects.length === 0)
        world.events.emit(apply, { type: 'Normal', reason: action.keepState ? 'Retained' : 'Destroyed', message })
      else
        world.events.emit(apply, {
          type: 'Warning',
          reason: 'SuspectsLeft',
          message: `Everything in the state is destroyed. A lost run may have made what no state has: look for ${nameSuspects(suspects)}`,
        })
    }
  }
}

/**
 * By now nothing is kept for the apply, so a change of it meanwhile is no reason to look again: the next look would miss the
 * record and take it for a lost one.
 */
async function release(objects: World['objects'], apply: Observed['apply']): Promise<void> {
  let latest: WorkspaceTemplateApply | undefined = apply
  for (let attempt = 1; latest && latest.metadata.uid === apply.metadata.uid; attempt++) {
    try {
      return await removeFinalizer(objects, WorkspaceTemplateApply, latest, APPLY_FINALIZER)
    } catch (error) {
      if (!isKubeError(error, 'Conflict') || attempt === RELEASE_ATTEMPTS) throw error
      latest = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, keyOf(apply))
    }
  }
}

async function dropRetry(objects: World['objects'], { metadata }: Observed['apply']): Promise<void> {
  const { namespace = '', name, resourceVersion } = metadata
  const body = { metadata: { resourceVersion, annotations: { [RETRY_ANNOTATION]: null } } }
  await objects.patch(WorkspaceTemplateApply, { namespace, name }, { type: 'merge', body })
}

async function startRun(
  engine: Engine,
  { objects, events }: World,
  { apply, owner, view, retryToken, tool }: Observed,
  { verb, hash, workspace, approval, corrects }: Extract<Action, { do: 'start-run' }>,
): Promise<void> {
  const named = nameWorkspace(apply, view.record)
  await markStart(objects, apply, named.workspaceId)
  const own = apply.spec.credentialsRef
  await engine.start({
    owner,
    verb,
    hash,
    timeoutSeconds: timeoutOf(apply),
    ...(workspace ? { workspace } : {}),
    ...(approval ? { approval } : {}),
    ...(corrects === undefined ? {} : { corrects }),
    ...(apply.spec.speculativeFor === undefined ? {} : { speculativeFor: apply.spec.speculativeFor }),
    ...(own ? { credentials: { namespace: own.namespace ?? owner.namespace, name: own.name } } : {}),
    ...(retryToken === undefined ? {} : { retryToken }),
    ...(view.record ? {} : { expected: reportedResources(apply), named }),
    basedOn: { runId: view.record?.run?.id },
  })
  const by = tool?.ok ? `${tool.tool.name} ${tool.tool.version}` : engine.name
  const why = view.activity === 'lost' ? 'Resuming an interrupted' : 'Starting'
  const what = corrects === undefined ? '' : ' to correct drift'
  events.emit(apply, { type: 'Normal', reason: 'RunStarted', message: `${why} terraform ${verb}${what} by ${by}` })
}

/** The first record of an apply takes the uid as its id, so that every attempt to start the first run names the same. */
function nameWorkspace(apply: Observed['apply'], record: RunRecord | undefined): NamedWorkspace {
  const begun = begunWorkspace(apply)
  return { workspaceId: record?.workspaceId ?? begun ?? apply.metadata.uid ?? '', isBegun: begun !== undefined }
}

/**
 * What the apply says from the start of a run on: the id of its workspace, and, for objects of a Cluster, that they must not be
 * moved now. One write for both, and none where a request was made with block-move: its end names the workspace then.
 */
async function markStart(objects: World['objects'], apply: Observed['apply'], workspaceId?: string): Promise<void> {
  if (blocksMove(apply)) return
  const isOfCluster = CLUSTER_NAME_LABEL in (apply.metadata.labels ?? {})
  await annotate(objects, apply, {
    ...(isOfCluster ? { [BLOCK_MOVE_ANNOTATION]: 'true' } : {}),
    ...idAnnotation(apply, workspaceId),
  })
}

/** Before it may be moved, an apply names its workspace: the uid is another one after that. */
async function markEnd(objects: World['objects'], { apply, view }: Observed): Promise<void> {
  await annotate(objects, apply, { [BLOCK_MOVE_ANNOTATION]: null, ...idAnnotation(apply, view.record?.workspaceId) })
}

function idAnnotation({ metadata, spec }: Observed['apply'], workspaceId: string | undefined) {
  if (workspaceId === undefined || spec.speculativeFor !== undefined) return {}
  return metadata.annotations?.[WORKSPACE_ID_ANNOTATION] === workspaceId
    ? {}
    : { [WORKSPACE_ID_ANNOTATION]: workspaceId }
}

async function annotate(objects: World['objects'], apply: Observed['apply'], annotations: object): Promise<void> {
  if (Object.keys(annotations).length === 0) return
  await objects.patch(WorkspaceTemplateApply, keyOf(apply), { type: 'merge', body: { metadata: { annotations } } })
}

const timeoutOf = ({ spec }: Observed['apply']): number => Math.max(1, Math.round(parseDuration(spec.timeout) / 1000))

/** A check that cannot start is no trouble of the apply: it stays due. */
async function startCheck(
  engine: Engine,
  { log, objects }: World,
  { apply, owner, drift }: Observed,
  { workspace, of }: Extract<Action, { do: 'check-drift' }>,
): Promise<void> {
  try {
    await markStart(objects, apply)
    await engine.start({
      owner: checksOwner(owner),
      verb: 'apply',
      hash: workspace.hash,
      timeoutSeconds: timeoutOf(apply),
      // It has no outputs to hand out.
      workspace: { ...workspace, connectionSecret: undefined },
      speculativeFor: owner.name,
      check: of,
      ...(drift.request === undefined ? {} : { retryToken: drift.request }),
      basedOn: { runId: drift.checks?.record?.run?.id },
    })
  } catch (error) {
    log.warn('Starting a drift check failed', { error: messageOf(error) })
  }
}

/** Secrets with credentials that other applies of the namespace still refer to. */
function credentialsOfOthers(cache: Cache, { apply }: Observed): ReadonlySet<string> {
  const namespace = apply.metadata.namespace ?? ''
  const used = cache
    .summaries(WorkspaceTemplateApply, summarizeApply, { namespace })
    .filter((other) => other.name !== apply.metadata.name)
    .flatMap((other) => [
      ...(other.credentialsRef ? [refText(other.credentialsRef, namespace)] : []),
      ...credentialsOfTemplate(cache, other),
    ])
  return new Set(used)
}

function credentialsOfTemplate(cache: Cache, { namespace, templateRef }: ApplySummary): readonly string[] {
  const key = { namespace: templateRef.namespace ?? namespace, name: templateRef.name }
  const spec = cache.get<WorkspaceTemplate>(WorkspaceTemplate, key)?.spec.template.spec
  const provider = spec?.providerConfigRef
  const env = (spec?.forProvider.env ?? []).flatMap(({ secretKeyRef }) => (secretKeyRef ? [secretKeyRef] : []))
  return [...(provider ? [provider] : []), ...env].map((ref) => refText(ref, namespace))
}
