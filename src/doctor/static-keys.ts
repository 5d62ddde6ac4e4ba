// Access keys in Secrets that nobody has replaced for a long time. A role or a session ends by itself; a key does not.
import { type AnyObject, type Key, keyText, type Secret, SecretKind, type WorkspaceTemplateApply } from '#api'
import { ignore, type Objects } from '#kube'
import { isCaptError } from '#lib'
import type { Examined } from '#view'

/** When an access key was made; undefined when that account does not know it. Throws CaptError when it may not be asked. */
export type AskKeyAge = (keys: { accessKeyId: string; secretAccessKey: string }) => Promise<number | undefined>

interface StaticKey {
  readonly secret: Key
  readonly accessKeyId: string
  readonly madeAtMs: number
  /** What says so: IAM, or else the last change of the Secret, which the key may be older than. */
  readonly source: 'IAM' | 'Secret'
}

const OLDEST_MS = 90 * 86_400_000

/** The Secrets with credentials that these objects name. */
export function credentialSecretsOf(
  applies: readonly WorkspaceTemplateApply[],
  others: readonly AnyObject[],
): readonly Key[] {
  const refs = [
    ...applies.map(({ metadata, spec }) => ({ metadata, ref: spec.credentialsRef })),
    ...others.map((object) => ({ metadata: object.metadata, ref: identityRefOf(object) })),
  ]
  const keys = refs.flatMap(({ metadata, ref }) =>
    ref ? [{ namespace: ref.namespace ?? metadata.namespace ?? '', name: ref.name }] : [],
  )
  return [...new Map(keys.map((key) => [keyText(key), key])).values()]
}

interface SecretRef {
  readonly name: string
  readonly namespace?: string
}

const identityRefOf = (object: AnyObject): SecretRef | undefined =>
  (object as { spec?: { identity?: { secretRef?: SecretRef } } }).spec?.identity?.secretRef

/** Secrets that are missing or may not be read are left out: others report them. */
export async function observeStaticKeys(
  objects: Objects,
  secrets: readonly Key[],
  ask: AskKeyAge | undefined,
): Promise<readonly StaticKey[]> {
  const found: StaticKey[] = []
  for (const key of secrets) {
    const secret = await objects.get<Secret>(SecretKind, key).catch(ignore('Forbidden'))
    const keys = secret && staticKeysOf(secret)
    if (!keys) continue
    const asked = ask && (await ask(keys).catch(ifNotAllowed))
    found.push({
      secret: key,
      accessKeyId: keys.accessKeyId,
      madeAtMs: asked ?? changedAt(secret),
      source: asked === undefined ? 'Secret' : 'IAM',
    })
  }
  return found
}

function ifNotAllowed(error: unknown): undefined {
  if (!isCaptError(error)) throw error
  return undefined
}

/** Undefined for a session, which ends by itself. */
function staticKeysOf({ data = {} }: Secret) {
  const read = (name: string) =>
    Buffer.from(data[name] ?? '', 'base64')
      .toString('utf8')
      .trim()
  const [accessKeyId, secretAccessKey] = [read('AWS_ACCESS_KEY_ID'), read('AWS_SECRET_ACCESS_KEY')]
  const isSession = read('AWS_SESSION_TOKEN') !== '' || accessKeyId.startsWith('ASIA')
  return accessKeyId === '' || secretAccessKey === '' || isSession ? undefined : { accessKeyId, secretAccessKey }
}

interface ManagedFields {
  readonly time?: string
  readonly fieldsV1?: Readonly<Record<string, unknown>>
}

/** When the data of the Secret was last written, as far as its managed fields say. */
export function changedAt({ metadata }: Pick<Secret, 'metadata'>): number {
  const fields = (metadata as { managedFields?: readonly ManagedFields[] }).managedFields ?? []
  const times = fields.flatMap(({ time, fieldsV1 }) => (time && fieldsV1?.['f:data'] ? [Date.parse(time)] : []))
  return Math.max(Date.parse(metadata.creationTimestamp ?? ''), ...times)
}

/** Nothing for a key that is young enough. */
export function examineStaticKey({ secret, accessKeyId, madeAtMs, source }: StaticKey, nowMs: number): Examined[] {
  if (!(nowMs - madeAtMs > OLDEST_MS)) return []
  const days = Math.floor((nowMs - madeAtMs) / 86_400_000)
  const said =
    source === 'IAM'
      ? `the access key …${accessKeyId.slice(-4)} was made ${days} days ago, says IAM`
      : `the access key …${accessKeyId.slice(-4)} is in the Secret for ${days} days (IAM was not asked or refused, the key may be older)`
  return [
    {
      name: `Secret/${keyText(secret)}`,
      fact: '',
      findings: [
        {
          word: 'old key',
          weight: 'know',
          what: `${said}; a key that nobody replaces is found sooner or later`,
          todo: 'make another one, put it into the Secret (the next run and the next token use it) and delete this one, or name a role in identity.roleArn instead',
          since: new Date(madeAtMs).toISOString(),
        },
      ],
    },
  ]
}
