// Carries out one action and returns at once: runs go on by themselves and wake the apply when they have news.
import {
  APPLY_FINALIZER,
  blocksMove,
  CLUSTER_NAME_LABEL,
  RETRY_ANNOTATION,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import type { Engine } from '#engine'
import type { Cache } from '#kube'
import { parseDuration } from '#lib'
import { addFinalizer, removeFinalizer, type World } from '#runtime'
import { setBlockMove } from '../cluster/block-move.ts'
import type { Action } from './actions.ts'
import { refText } from './dependencies.ts'
import type { Observed } from './observe.ts'

export async function actOnApply(engine: Engine, world: World, seen: Observed, action: Action): Promise<void> {
  const { objects } = world
  const { apply, owner } = seen
  switch (action.do) {
    case 'add-finalizer':
      return addFinalizer(objects, WorkspaceTemplateApply, apply, APPLY_FINALIZER)
    case 'remove-finalizer':
      return removeFinalizer(objects, WorkspaceTemplateApply, apply, APPLY_FINALIZER)
    case 'unblock-move':
      return setBlockMove(objects, WorkspaceTemplateApply, apply, false)
    case 'abandon-run':
      return engine.abandon(owner)
    case 'cancel-run':
      // First, and on the version that was observed: a retry that is requested later still counts.
      if (action.dropsRetry) await dropRetry(objects, apply)
      return engine.cancel(owner, action.runId)
    case 'start-run':
      return startRun(engine, world, seen, action)
    case 'forget': {
      await engine.forget(owner, { keepState: action.keepState, stillUsed: credentialsOfOthers(world.cache, seen) })
      const message = action.keepState
        ? 'Left the infrastructure as it is; its state is kept'
        : 'Nothing is left of the workspace'
      world.events.emit(apply, { type: 'Normal', reason: action.keepState ? 'Retained' : 'Destroyed', message })
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
  { apply, owner, view, retryToken }: Observed,
  { verb, hash, workspace }: Extract<Action, { do: 'start-run' }>,
): Promise<void> {
  // Only what belongs to a Cluster is ever moved; a run must not be on while it is.
  if (CLUSTER_NAME_LABEL in (apply.metadata.labels ?? {}) && !blocksMove(apply)) {
    await setBlockMove(objects, WorkspaceTemplateApply, apply, true)
  }
  const own = apply.spec.credentialsRef
  await engine.start({
    owner,
    verb,
    hash,
    timeoutSeconds: Math.max(1, Math.round(parseDuration(apply.spec.timeout) / 1000)),
    ...(workspace ? { workspace } : {}),
    ...(own ? { credentials: { namespace: own.namespace ?? owner.namespace, name: own.name } } : {}),
    ...(retryToken === undefined ? {} : { retryToken }),
    ...(view.record ? {} : { expected: apply.status?.state?.resources ?? 0 }),
    basedOn: { runId: view.record?.run?.id },
  })
  const why = view.activity === 'lost' ? 'Taking up an interrupted' : 'Starting'
  events.emit(apply, { type: 'Normal', reason: 'RunStarted', message: `${why} terraform ${verb} by ${engine.name}` })
}

/** Secrets with credentials that other applies of the namespace still refer to. */
function credentialsOfOthers(cache: Cache, { apply }: Observed): ReadonlySet<string> {
  const namespace = apply.metadata.namespace ?? ''
  const used = cache
    .list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, brief: true })
    .filter((other) => other.metadata.name !== apply.metadata.name)
    .flatMap((other) => [
      ...(other.spec.credentialsRef ? [refText(other.spec.credentialsRef, namespace)] : []),
      ...credentialsOfTemplate(cache, other),
    ])
  return new Set(used)
}

function credentialsOfTemplate(cache: Cache, apply: WorkspaceTemplateApply): readonly string[] {
  const namespace = apply.metadata.namespace ?? ''
  const key = { namespace: apply.spec.templateRef.namespace ?? namespace, name: apply.spec.templateRef.name }
  const spec = cache.get<WorkspaceTemplate>(WorkspaceTemplate, key)?.spec.template.spec
  const provider = spec?.providerConfigRef
  const env = (spec?.forProvider.env ?? []).flatMap(({ secretKeyRef }) => (secretKeyRef ? [secretKeyRef] : []))
  return [...(provider ? [provider] : []), ...env].map((ref) => refText(ref, namespace))
}
