// Keeps the run record in a Secret beside the apply. Every write names the version it was made from, so of two
// managers or runners exactly one wins; the other one reads again.
import { randomUUID } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type Secret, SecretKind } from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError, isCaptError } from '#lib'
import { observeLock, unreleasedRun } from '../lock/lock.ts'
import { recordKey } from '../names.ts'
import { keptMetadata, type Owner } from '../owner.ts'
import type { NamedWorkspace, TagCounter } from '../port.ts'
import { type PlanText, unpackPlanText } from '../runner/plan/proposal.ts'
import type { ObjectKey } from '../workspace.ts'
import { newRecord, parseRecord, type RunRecord } from './record.ts'

export interface Versioned {
  readonly record: RunRecord
  /** Undefined: not written yet. */
  readonly version: string | undefined
}

export type RecordChange = (record: RunRecord) => RunRecord

const RECORD_KEY = 'record'
/** Summary of the plan that waits for approval, or of the last one that did. */
const PLAN_KEY = 'plan'
const LOG_KEY = /^log-(.+)$/
/** Logs of the last runs travel with the record, as much of their end as this. */
const KEPT_LOGS = 3
const MAX_LOG_BYTES = 256 * 1024

export async function readRecord(objects: Objects, key: ObjectKey): Promise<Versioned | undefined> {
  const secret = await objects.get<Secret>(SecretKind, recordKey(key))
  return secret && toVersioned(secret)
}

/** Undefined also for a record that is damaged. */
export async function readIfWhole(objects: Objects, key: ObjectKey): Promise<RunRecord | undefined> {
  try {
    return (await readRecord(objects, key))?.record
  } catch (error) {
    if (!isCaptError(error, 'CAPT_RECORD_UNREADABLE')) throw error
    return undefined
  }
}

/** For a caller that has decided that nothing is lost with an unreadable record: returns a new one to overwrite it. */
export async function readOrReplace(
  objects: Objects,
  key: ObjectKey,
  request: Loss = {},
): Promise<Versioned | undefined> {
  try {
    return await readRecord(objects, key)
  } catch (error) {
    if (!isCaptError(error, 'CAPT_RECORD_UNREADABLE')) throw error
    const secret = await objects.get<Secret>(SecretKind, recordKey(key))
    return secret && { record: await replaceRecord(objects, key, request), version: secret.metadata.resourceVersion }
  }
}

function toVersioned(secret: Secret): Versioned {
  const record = parseRecord(decode(secret.data?.[RECORD_KEY] ?? '').toString('utf8'))
  if (!record) {
    throw new CaptError('CAPT_RECORD_UNREADABLE', `Secret ${secret.metadata.name} holds no run record we can read`, {
      hint: 'it was changed by hand or by a newer version of capt; restore it, or run that version',
    })
  }
  return { record, version: secret.metadata.resourceVersion }
}

/**
 * Writes the record made from `seen`. Undefined after a conflicting write: read it and decide again.
 * `log` is filed with it, under the id of its run.
 */
export async function writeRecord(
  objects: Objects,
  owner: Owner,
  seen: Versioned | undefined,
  record: RunRecord,
  log?: { readonly runId: string; readonly text: string },
  plan?: Buffer,
): Promise<Versioned | undefined> {
  const key = recordKey(owner)
  const data: Record<string, string | null> = { [RECORD_KEY]: encode(Buffer.from(JSON.stringify(record))) }
  if (log) {
    data[`log-${log.runId}`] = encode(packLog(log.text))
    for (const { id } of record.history.slice(KEPT_LOGS)) data[`log-${id}`] = null
  }
  if (plan) data[PLAN_KEY] = encode(plan)
  try {
    if (seen?.version === undefined) {
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: keptMetadata(owner, key.name, 'record'), data }
      return toVersioned(await objects.create<Secret>(SecretKind, secret as Secret))
    }
    const body = { metadata: { resourceVersion: seen.version }, data }
    return toVersioned(await objects.patch<Secret>(SecretKind, key, { type: 'merge', body }))
  } catch (error) {
    if (isKubeError(error, 'Conflict', 'AlreadyExists', 'NotFound')) return undefined
    throw error
  }
}

/** Changes the record regardless of its holder; false where there is none. For people and for what must not be lost. */
export async function changeRecord(objects: Objects, owner: Owner, change: RecordChange): Promise<boolean> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const seen = await readRecord(objects, owner)
    if (!seen) return false
    if (await writeRecord(objects, owner, seen, change(seen.record))) return true
  }
  throw recordTaken(owner)
}

export const recordTaken = ({ namespace, name }: ObjectKey): CaptError =>
  new CaptError('CAPT_RECORD_TAKEN', `the record of ${namespace}/${name} keeps changing`, {
    hint: 'a run is being started; try again when it has ended',
  })

interface Loss {
  /** Resources in the status of the apply although there is no record. */
  readonly expected?: number
  readonly named?: NamedWorkspace
  /** Its runs plan upon the state of this apply, and make nothing. */
  readonly speculativeFor?: string
}

/**
 * A record where there is none, or none that can be read. A lock that a run has not released shows that its record was lost, and
 * so does an apply that names its workspace. Its tags are counted where no other source has recorded a resource.
 */
export async function replaceRecord(
  objects: Objects,
  key: ObjectKey,
  { expected = 0, named, speculativeFor }: Loss,
  countTagged?: TagCounter,
): Promise<RunRecord> {
  const lostRun = speculativeFor === undefined ? unreleasedRun(await observeLock(objects, key)) : undefined
  const isKnownLoss = expected > 0 || lostRun !== undefined
  const tagged = named?.isBegun && !isKnownLoss ? await countTagged?.(key, named.workspaceId) : 0
  const counted = typeof tagged === 'number' ? tagged : 0
  const isFirst = named?.isBegun === false && !isKnownLoss
  return {
    ...newRecord(isFirst ? named.workspaceId : randomUUID()),
    ...(expected + counted > 0 ? { expected: expected + counted } : {}),
    ...(lostRun === undefined ? {} : { lostRun }),
  }
}

/** The log of a past run as it was filed; undefined when it is not there any more. */
export async function readLog(objects: Objects, key: ObjectKey, runId: string): Promise<string | undefined> {
  const secret = await objects.get<Secret>(SecretKind, recordKey(key))
  const packed = Object.entries(secret?.data ?? {}).find(([name]) => LOG_KEY.exec(name)?.[1] === runId)?.[1]
  return packed === undefined ? undefined : gunzipSync(decode(packed)).toString('utf8')
}

/** The summary of the last plan that waited for approval. */
export async function readPlanText(objects: Objects, key: ObjectKey): Promise<PlanText | undefined> {
  const secret = await objects.get<Secret>(SecretKind, recordKey(key))
  const packed = secret?.data?.[PLAN_KEY]
  return packed === undefined ? undefined : unpackPlanText(decode(packed))
}

/** Of a long log the end is kept, from the beginning of a line: it says what went wrong. */
function packLog(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_LOG_BYTES) return gzipSync(bytes)
  const end = bytes.subarray(bytes.length - MAX_LOG_BYTES)
  const line = end.indexOf(0x0a) + 1
  return gzipSync(Buffer.concat([Buffer.from('… the beginning of this log was left out …\n'), end.subarray(line)]))
}

const encode = (bytes: Buffer): string => bytes.toString('base64')
const decode = (text: string): Buffer => Buffer.from(text, 'base64')
