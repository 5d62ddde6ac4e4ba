// Recreates the account, the role or the Secret of a run that was deleted during the run; retry-denied.ts is how the
// runner waits for that.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type KindRef,
  RoleBindingKind,
  RoleKind,
  SecretKind,
  ServiceAccountKind,
  type WorkspaceTemplateApply,
} from '#api'
import { applyOfChecks, suffixOf } from '../names.ts'
import type { Owner } from '../owner.ts'
import type { RunRecord } from '../record/record.ts'
import { findOwner } from '../recovery/restore.ts'
import type { ObjectKey } from '../workspace.ts'
import { GRACE_SECONDS, type JobEngineOptions, makeIdentity, putToken } from './launch.ts'
import { connectionOfAccount, identityName } from './render-identity.ts'
import { toTokenSecret } from './run-secret.ts'

/** Kinds of what was missing and is there again. Only for a run whose runner has read what its Secret had. */
export async function repairIdentity(
  options: JobEngineOptions,
  key: ObjectKey,
  record: RunRecord,
): Promise<readonly string[]> {
  const { objects, runNamespace, access, log, graceSeconds = GRACE_SECONDS } = options
  const run = record.run!
  const name = identityName(suffixOf(key))
  const needed: readonly (readonly [KindRef, ObjectKey])[] = [
    [ServiceAccountKind, { namespace: runNamespace, name }],
    [RoleKind, { namespace: key.namespace, name }],
    [RoleBindingKind, { namespace: key.namespace, name }],
    [SecretKind, run.job!],
  ]
  const found = await Promise.all(needed.map(([kind, at]) => objects.get<AnyObject>(kind, at)))
  const missing = needed.flatMap(([{ kind }], i) => (found[i] ? [] : [kind]))
  if (missing.length === 0) return []
  const { apply } = await findOwner(objects, applyOfChecks(key))
  const cluster = apply?.metadata.labels?.[CLUSTER_NAME_LABEL]
  const owner = { ...key, ...(cluster === undefined ? {} : { cluster }) } as Owner
  const connectionSecret = connectionOfAccount(found[0]) ?? connectionOfApply(apply)
  const speculativeFor = run.isCheck ? applyOfChecks(key).name : apply?.spec.speculativeFor
  const account = await makeIdentity(options, { owner, record, connectionSecret, speculativeFor })
  // A token is bound to its account and to its Secret: with either of them it has ended.
  if (missing.some((kind) => kind === ServiceAccountKind.kind || kind === SecretKind.kind)) {
    const secret = await objects.apply(SecretKind, toTokenSecret({ key: run.job!, account, access }))
    await putToken(objects, account, secret, run.timeoutSeconds + graceSeconds)
  }
  log.warn('What a run needs was deleted, and is made again', {
    WorkspaceTemplateApply: `${key.namespace}/${key.name}`,
    run: run.id,
    kinds: missing.join(', '),
  })
  return missing
}

/** One of another namespace needs consent, which the next run asks for. */
function connectionOfApply(apply: WorkspaceTemplateApply | undefined): ObjectKey | undefined {
  const { namespace = '' } = apply?.metadata ?? {}
  const ref = apply?.spec.writeConnectionSecretToRef
  return ref && (ref.namespace ?? namespace) === namespace ? { namespace, name: ref.name } : undefined
}
