// The Secrets of a cluster by the contract of Cluster API: name, type, label, key and owner. Annotations hold what a
// decision needs, so that their data is not read for it.
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  CLUSTER_SECRET_TYPE,
  caSecretName,
  keyOf,
  kubeconfigSecretName,
  type Secret,
  SecretKind,
  userKubeconfigSecretName,
} from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError, hashOf, toTimestamp } from '#lib'
import { ownerReference } from '#runtime'
import { foreignOwner } from '../../shared/apply.ts'

/** Hash of everything the Secret was made from, except the token. */
export const SOURCE_ANNOTATION = 'capt.appthrust.com/source'
/** Hash of the data as we wrote it: shows a Secret that was changed by hand. */
export const CONTENT_ANNOTATION = 'capt.appthrust.com/content'
export const EXPIRES_ANNOTATION = 'capt.appthrust.com/expires-at'
export const REFRESHED_ANNOTATION = 'capt.appthrust.com/refreshed-at'
/** Why the last refresh failed; gone after one that worked. */
export const REFRESH_ERROR_ANNOTATION = 'capt.appthrust.com/refresh-error'

/** A Secret without its data. */
export interface SecretFacts {
  readonly type: string | undefined
  readonly metadata: AnyObject['metadata']
  /** Hash of the keys we write. Equal to the content annotation unless the Secret was changed by hand. */
  readonly content: string
}

interface SecretSet {
  readonly owner: AnyObject
  readonly cluster: string
  readonly source: string
  readonly kubeconfig: string
  /** Undefined when the kubeconfig does not expire. */
  readonly expiresAtMs: number | undefined
  readonly nowMs: number
  readonly userKubeconfig: string
  /** PEM, base64. */
  readonly caData: string
}

/** The kubeconfig of Cluster API is last: when it is current, so are the others. */
export const clusterSecretNames = (cluster: string): readonly string[] => [
  caSecretName(cluster),
  userKubeconfigSecretName(cluster),
  kubeconfigSecretName(cluster),
]

const FIELD_MANAGER = 'capt-kubeconfig'
const OUR_KEYS = ['ca.crt', 'tls.crt', 'value']

/** Hash of the keys we write; other keys are ignored. */
export function contentOf(data: Secret['data'] = {}): string {
  return hashOf(OUR_KEYS.map((key) => data[key] ?? null)).slice(0, 32)
}

/** Leaves out managed fields: a thousand clusters have three thousand cached Secrets. */
export function toFacts({ type, metadata, data }: Secret): SecretFacts {
  const { managedFields: _fields, creationTimestamp: _made, ...kept } = metadata
  return { type, metadata: kept, content: contentOf(data) }
}

/** The Secret is ours and as we wrote it, from whatever source. */
export function isWhole(facts: SecretFacts | undefined, owner: AnyObject, cluster: string): boolean {
  if (facts?.type !== CLUSTER_SECRET_TYPE) return false
  const { annotations = {}, labels = {}, ownerReferences = [] } = facts.metadata
  return (
    annotations[CONTENT_ANNOTATION] === facts.content &&
    labels[CLUSTER_NAME_LABEL] === cluster &&
    ownerReferences.some(({ uid }) => uid === owner.metadata.uid)
  )
}

export function toSecrets(set: SecretSet): readonly Secret[] {
  const { owner, cluster, source, caData } = set
  const ca = Buffer.from(caData, 'base64').toString('utf8')
  const [caName = '', userName = '', name = ''] = clusterSecretNames(cluster)
  const secret = (name: string, texts: Record<string, string>, annotations: Record<string, string> = {}): Secret => {
    const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, toBase64(text)]))
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace: owner.metadata.namespace ?? '',
        labels: { [CLUSTER_NAME_LABEL]: cluster },
        annotations: { [SOURCE_ANNOTATION]: source, [CONTENT_ANNOTATION]: contentOf(data), ...annotations },
        ownerReferences: [ownerReference(owner, { controller: true, blockOwnerDeletion: true })],
      },
      type: CLUSTER_SECRET_TYPE,
      data,
    }
  }
  return [
    secret(caName, { 'tls.crt': ca, 'ca.crt': ca }),
    secret(userName, { value: set.userKubeconfig }),
    secret(name, { value: set.kubeconfig }, timesOf(set.nowMs, set.expiresAtMs)),
  ]
}

export function timesOf(nowMs: number, expiresAtMs: number | undefined): Record<string, string> {
  if (expiresAtMs === undefined) return {}
  return { [REFRESHED_ANNOTATION]: toTimestamp(nowMs), [EXPIRES_ANNOTATION]: toTimestamp(expiresAtMs) }
}

export const toBase64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64')

/** Creates the Secret; one that exists is checked and overwritten. */
export async function writeSecret(
  objects: Objects,
  secret: Secret,
  current: SecretFacts | undefined,
  owner: AnyObject,
): Promise<Secret> {
  if (current) return await overwriteSecret(objects, secret, current, owner)
  try {
    return await objects.create<Secret>(SecretKind, secret, { fieldManager: FIELD_MANAGER })
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
    const found = await objects.get<Secret>(SecretKind, keyOf(secret))
    if (!found) throw error
    return await overwriteSecret(objects, secret, toFacts(found), owner)
  }
}

/** The type of a Secret cannot be changed: one of another type is replaced, unless it has a foreign owner. */
async function overwriteSecret(
  objects: Objects,
  secret: Secret,
  current: SecretFacts,
  owner: AnyObject,
): Promise<Secret> {
  const foreign = foreignOwner(current, owner)
  if (foreign && foreign.kind !== owner.kind)
    throw new CaptError(
      'CAPT_SECRET_TAKEN',
      `Secret ${secret.metadata.name} belongs to ${foreign.kind} ${foreign.name}`,
      { hint: 'delete that Secret, or give the Cluster another name' },
    )
  if (current.type !== secret.type) await objects.delete(SecretKind, keyOf(secret), { uid: current.metadata.uid ?? '' })
  return await objects.apply<Secret>(SecretKind, secret, { fieldManager: FIELD_MANAGER })
}
