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
import type { Objects } from '#kube'
import { CaptError, type Json } from '#lib'
import { suffixOf, WORKSPACE_LABEL } from '../names.ts'
import type { Owner } from '../owner.ts'
import type { StateOutput } from '../state/state-file.ts'
import type { ObjectKey } from '../workspace.ts'

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
  const shown: Record<string, Json> = {}
  const omitted: string[] = []
  let all = 0
  for (const { name, value, size } of open) {
    if (size > MAX_ONE || all + size > MAX_ALL) omitted.push(name)
    else {
      all += size
      shown[name] = value
    }
  }
  const sorted = Object.fromEntries(Object.entries(shown).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { outputs: sorted, omitted: omitted.sort() }
}

export function connectionData(outputs: Outputs): Readonly<Record<string, string>> {
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

export async function writeConnectionSecret(
  objects: Objects,
  owner: Owner,
  target: ObjectKey,
  outputs: Outputs,
): Promise<void> {
  const data = connectionData(outputs)
  const isNear = target.namespace === owner.namespace
  if (!isNear) await assertWritable(objects, owner, target)
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...target,
      labels: {
        [WORKSPACE_LABEL]: suffixOf(owner),
        [MOVE_LABEL]: '',
        ...(owner.cluster === undefined ? {} : { [CLUSTER_NAME_LABEL]: owner.cluster }),
      },
      ...(isNear
        ? { ownerReferences: [{ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name, uid: owner.uid }] }
        : {}),
    },
    data,
  }
  await objects.apply(SecretKind, secret)
}

/** Writing into another namespace needs its consent: a Secret that is there already and says so. */
async function assertWritable(objects: Objects, owner: Owner, target: ObjectKey): Promise<void> {
  const existing = await objects.get<Secret>(SecretKind, target)
  if (existing && allowsNamespace(existing, owner.namespace)) return
  throw new CaptError(
    'CAPT_REFERENCE_FORBIDDEN',
    `namespace ${target.namespace} has not allowed ${owner.namespace} to write the Secret ${target.name}`,
    {
      hint: `create an empty Secret ${target.name} there, annotated with ${ALLOW_NAMESPACES_ANNOTATION}=${owner.namespace}`,
    },
  )
}
