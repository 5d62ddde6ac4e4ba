// Outputs, for those who may see them: people get what is not sensitive, within bounds; the connection Secret gets all,
// strings as they are and everything else as JSON text.
import {
  ALLOW_NAMESPACES_ANNOTATION,
  allowsNamespace,
  CLUSTER_NAME_LABEL,
  MOVE_LABEL,
  type Secret,
  SecretKind,
} from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError, type Json, jsonEqual } from '#lib'
import { suffixOf, WORKSPACE_LABEL } from '../../names.ts'
import type { Owner } from '../../owner.ts'
import type { StateOutput } from '../../state/state-file.ts'
import type { ObjectKey } from '../../workspace.ts'

const MAX_ONE = 4 * 1024
const MAX_ALL = 64 * 1024
const MAX_SECRET = 1024 * 1024

export type Outputs = Readonly<Record<string, StateOutput>>

/** Smallest first, so that one large output does not push the others out. */
export function publicOutputs(outputs: Outputs): {
  readonly outputs: Readonly<Record<string, Json>>
  readonly omitted: readonly string[]
} {
  const open = Object.entries(outputs)
    .filter(([, { sensitive }]) => !sensitive)
    .map(([name, { value }]) => ({ name, value, size: JSON.stringify(value).length + name.length }))
    .sort((a, b) => a.size - b.size)
  const shown: [string, Json][] = []
  const omitted: string[] = []
  let all = 0
  for (const { name, value, size } of open) {
    if (size > MAX_ONE || all + size > MAX_ALL) omitted.push(name)
    else {
      all += size
      shown.push([name, value])
    }
  }
  const sorted = Object.fromEntries(shown.sort(([a], [b]) => (a < b ? -1 : 1)))
  return { outputs: sorted, omitted: omitted.sort() }
}

function connectionData(outputs: Outputs): Readonly<Record<string, string>> {
  const texts = Object.entries(outputs).map(
    ([name, { value }]) => [name, typeof value === 'string' ? value : JSON.stringify(value)] as const,
  )
  const size = texts.reduce((sum, [name, text]) => sum + name.length + Buffer.byteLength(text), 0)
  if (size > MAX_SECRET) {
    const [largest] = [...texts].sort(([, a], [, b]) => b.length - a.length)
    throw new CaptError(
      'CAPT_OUTPUTS_TOO_LARGE',
      `the outputs take ${(size / 1024 / 1024).toFixed(1)} MiB, a Secret holds 1 MiB; the largest is ${largest?.[0]}`,
      {
        hint: 'leave large outputs out of the module: everything was applied, only the connection Secret was not written',
      },
    )
  }
  return Object.fromEntries(texts.map(([name, text]) => [name, Buffer.from(text).toString('base64')]))
}

/**
 * Writes the outputs to the connection Secret. It is made by this run, or it has the label of this workspace, or it is
 * an empty Secret that another namespace has made for it: nothing else is taken over, and so nothing else is deleted later.
 */
export async function writeConnectionSecret(
  objects: Objects,
  owner: Owner,
  target: ObjectKey,
  outputs: Outputs,
): Promise<void> {
  const data = connectionData(outputs)
  const isNear = target.namespace === owner.namespace
  const labels = {
    [WORKSPACE_LABEL]: suffixOf(owner),
    [MOVE_LABEL]: '',
    ...(owner.cluster === undefined ? {} : { [CLUSTER_NAME_LABEL]: owner.cluster }),
  }
  const ownerReferences = [{ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name, uid: owner.uid }]
  const secret: Secret = { apiVersion: 'v1', kind: 'Secret', metadata: { ...target, labels, ownerReferences }, data }
  // Most often it does not exist yet: one request.
  if (isNear && (await isCreated(objects, secret))) return
  const existing = await objects.get<Secret>(SecretKind, target)
  if (!isNear) assertConsent(existing, owner, target)
  else if (!existing) {
    // It was deleted just now.
    await objects.create<Secret>(SecretKind, secret)
    return
  }
  assertOurs(existing, owner, target)
  const removed = Object.keys(existing.data ?? {}).filter((key) => !Object.hasOwn(data, key))
  const { resourceVersion, ownerReferences: others = [] } = existing.metadata
  const references = [...others.filter(({ uid }) => uid !== owner.uid), ...ownerReferences]
  const isWritten = existing.metadata.labels?.[WORKSPACE_LABEL] !== undefined && jsonEqual(existing.data ?? {}, data)
  if (isWritten && (!isNear || others.some(({ uid }) => uid === owner.uid))) return
  await objects.patch(SecretKind, target, {
    type: 'merge',
    body: {
      // What was examined is what is written to.
      metadata: { resourceVersion, labels, ...(isNear ? { ownerReferences: references } : {}) },
      data: { ...Object.fromEntries(removed.map((key) => [key, null])), ...data },
    },
  })
}

async function isCreated(objects: Objects, secret: Secret): Promise<boolean> {
  try {
    await objects.create<Secret>(SecretKind, secret)
    return true
  } catch (error) {
    if (isKubeError(error, 'AlreadyExists')) return false
    throw error
  }
}

/** Writing into another namespace needs its consent: a Secret that exists already and allows it. */
function assertConsent(existing: Secret | undefined, owner: Owner, target: ObjectKey): asserts existing is Secret {
  if (existing && allowsNamespace(existing, owner.namespace)) return
  throw new CaptError(
    'CAPT_REFERENCE_FORBIDDEN',
    `namespace ${target.namespace} has not allowed ${owner.namespace} to write the Secret ${target.name}`,
    {
      hint: `create an empty Secret ${target.name} there, annotated with ${ALLOW_NAMESPACES_ANNOTATION}=${owner.namespace}`,
    },
  )
}

function assertOurs(existing: Secret, owner: Owner, target: ObjectKey): void {
  if (existing.metadata.labels?.[WORKSPACE_LABEL] === suffixOf(owner)) return
  // Consent to be read is no consent to be overwritten.
  const isOffered = target.namespace !== owner.namespace && Object.keys(existing.data ?? {}).length === 0
  if (!isOffered) throw notOurs(owner, target)
}

function notOurs(owner: Owner, { namespace, name }: ObjectKey): CaptError {
  return new CaptError(
    'CAPT_CONNECTION_SECRET_TAKEN',
    `Secret ${namespace}/${name} exists and was not made for this workspace; the outputs were not written to it`,
    {
      hint: `name another Secret in writeConnectionSecretToRef, or hand this one over, to be deleted with the apply: kubectl label secret -n ${namespace} ${name} ${WORKSPACE_LABEL}=${suffixOf(owner)}, then: capt retry ${owner.name}`,
    },
  )
}
