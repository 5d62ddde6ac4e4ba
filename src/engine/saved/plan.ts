// A plan kept beside its run, for a runner that resumes the run without its work folder. The record names it before its first
// part is written, and its hash shows whether it is whole: half a plan is never applied, and none is left behind.
import { readFileSync, statSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type Secret, SecretKind } from '#api'
import { ignore, isKubeError, type Objects } from '#kube'
import { sha256, shortHash } from '#lib'
import { KEEP_FINALIZER, planName, slotName, suffixOf } from '../names.ts'
import type { Owner } from '../owner.ts'
import type { PlanRef, RunRecord, Verb } from '../record/record.ts'
import { deleteHeld } from '../state/state-secrets.ts'
import type { ObjectKey } from '../workspace.ts'
import { countParts, readPart, toParts } from './chunks.ts'

const MAX_PLAN_BYTES = 8 * 1024 * 1024
/** Nothing is refreshed between plan and apply: after an hour it is better to plan again. */
export const PLAN_LIFE_MS = 60 * 60_000

interface PackedPlan extends Pick<PlanRef, 'id' | 'parts' | 'bytes' | 'sha256'> {
  /** Undefined when it is too large to be stored. */
  readonly packed: Buffer | undefined
}

/** Terraform's plans are compressed already: one that is too large does not become small enough. */
export function packPlan(path: string, limit = MAX_PLAN_BYTES): PackedPlan {
  const plan = readFileSync(path)
  const hash = sha256(plan)
  const packed = plan.length > 2 * limit ? undefined : gzipSync(plan, { level: 1 })
  const fits = packed !== undefined && packed.length <= limit
  const bytes = packed?.length ?? plan.length
  const facts = { id: shortHash(hash), bytes, sha256: hash }
  return fits ? { ...facts, parts: countParts(packed), packed } : { ...facts, parts: 0, packed: undefined }
}

/** The plan that lies in a work folder, if it is this one and whole. */
export function planInFolder(path: string, ref: PlanRef): Buffer | undefined {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined
  const plan = readFileSync(path)
  return sha256(plan) === ref.sha256 ? plan : undefined
}

function nameOf(key: ObjectKey, { id, slots }: PlanRef, part: number): string {
  const slot = slots?.[part]
  return slot === undefined ? planName(suffixOf(key), id, part) : slotName(suffixOf(key), slot)
}

/** Each part is deleted as soon as it is there: our finalizer alone holds it, so that one request deletes it. */
export async function savePlan(objects: Objects, owner: Owner, ref: PlanRef, packed: Buffer): Promise<void> {
  for (const secret of toParts(owner, 'plan', packed, (part) => nameOf(owner, ref, part))) {
    // Its name is made from its content: the same plan may lie there already.
    await objects.create<Secret>(SecretKind, secret).catch(ignore('AlreadyExists'))
    await objects.delete(SecretKind, { namespace: owner.namespace, name: secret.metadata.name })
  }
}

/** Undefined when it is not there, or not whole. */
export async function loadPlan(objects: Objects, key: ObjectKey, ref: PlanRef): Promise<Buffer | undefined> {
  const parts: Buffer[] = []
  for (let part = 0; part < ref.parts; part++) {
    const name = nameOf(key, ref, part)
    const secret = await objects.get<Secret>(SecretKind, { namespace: key.namespace, name })
    const data = secret && readPart(secret, 'plan')
    if (data === undefined) return undefined
    parts.push(data)
  }
  try {
    const plan = gunzipSync(Buffer.concat(parts))
    return sha256(plan) === ref.sha256 ? plan : undefined
  } catch {
    return undefined
  }
}

/** Refused where it has other finalizers too. */
const LET_GO = [
  { op: 'test', path: '/metadata/finalizers', value: [KEEP_FINALIZER] },
  { op: 'remove', path: '/metadata/finalizers' },
] as const

/** Whatever was written of it goes; forgives what is gone. */
export async function deletePlan(objects: Objects, key: ObjectKey, ref: PlanRef): Promise<void> {
  for (let part = 0; part < ref.parts; part++) {
    const at = { namespace: key.namespace, name: nameOf(key, ref, part) }
    try {
      const left = await objects.patch<Secret>(SecretKind, at, { type: 'json', body: LET_GO })
      // Its writer was killed before it was deleted.
      if (left.metadata.deletionTimestamp === undefined) await objects.delete(SecretKind, at)
    } catch (error) {
      if (isKubeError(error, 'NotFound')) continue
      if (!isKubeError(error, 'Invalid')) throw error
      await deleteHeld(objects, SecretKind, at)
    }
  }
}

export function isExpired({ expiresAt }: PlanRef, nowMs: number): boolean {
  return Date.parse(expiresAt) <= nowMs
}

/** What a run finds that would apply a plan of an earlier one. */
export interface PlanSituation {
  readonly runId: string
  readonly verb: Verb
  readonly history: RunRecord['history']
  readonly hash: string
  readonly tool: string
  readonly state: { readonly lineage: string; readonly serial: number } | undefined
  readonly credentials: string
  /** Hash of the plan that was approved. */
  readonly approved?: string | undefined
  /** Nothing is applied without approval. */
  readonly isManual?: boolean
  /** Absolute paths are part of the module, and its folder is another one. */
  readonly isElsewhere: boolean
  readonly nowMs: number
}

/** Why the plan may not be applied; undefined when it is as good as on the day it was made. */
export function planObstacle(plan: PlanRef, now: PlanSituation): string | undefined {
  const wasLost = now.history.some(({ id, phase }) => id === plan.run && phase === 'Lost')
  const isApproved = plan.needs !== undefined && plan.needs === now.approved
  if (!isApproved && (plan.needs !== undefined || now.isManual)) return 'the plan was not approved'
  if (!isApproved && plan.run !== now.runId && !wasLost) return 'the plan belongs to a run that has ended'
  if (plan.verb !== now.verb || plan.hash !== now.hash) return 'the inputs have changed since the plan was made'
  if (plan.tool !== now.tool) return `the plan was made by ${plan.tool}, this is ${now.tool}`
  if (plan.serial !== now.state?.serial || plan.lineage !== now.state?.lineage)
    return `the plan was made from ${nameState(plan.serial)}, now there is ${nameState(now.state?.serial)}`
  if (plan.credentials !== now.credentials) return 'the credentials have changed since the plan was made'
  if (isExpired(plan, now.nowMs)) return `the plan of ${plan.madeAt} has expired`
  return now.isElsewhere ? 'the module speaks of absolute paths, and its folder is another one' : undefined
}

const nameState = (serial: number | undefined): string => (serial === undefined ? 'no state' : `state ${serial}`)
