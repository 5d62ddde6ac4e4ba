// Credentials of a run: read from Secrets when it starts, handed to Terraform by environment and by files outside the root
// module that are gone when it ends. They are never frozen, logged or put into argv.
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  ALLOW_NAMESPACES_ANNOTATION,
  type AnyObject,
  allowsNamespace,
  type ConfigMap,
  ConfigMapKind,
  keyText,
  MOVE_LABEL,
  type Secret,
  SecretKind,
} from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError, hashOf, ownValue } from '#lib'
import { KEEP_FINALIZER } from '../../names.ts'
import type { ObjectKey, SourceRef, Workspace } from '../../workspace.ts'
import { CREDENTIAL_FILES, credentialRefusals, PUBLIC_NAMES } from './credential-keys.ts'
import type { Folder } from './folder.ts'

export interface Credentials {
  readonly env: Readonly<Record<string, string>>
  /** Every value that must not be shown. */
  readonly secrets: readonly string[]
  /** Changes when one of the Secrets does. */
  readonly fingerprint: string
  /** Secrets that now have our finalizer. */
  readonly kept: readonly ObjectKey[]
}

type Needs = Pick<Workspace, 'credentials' | 'secretEnv'>

export async function readCredentials(
  objects: Objects,
  namespace: string,
  needs: Needs,
  folder: Folder,
  /** They belong to a Cluster, which takes them along when it is moved. */
  moves = false,
): Promise<Credentials> {
  const env: Record<string, string> = {}
  const secrets: string[] = []
  const versions = new Set<string>()
  const kept: ObjectKey[] = []
  const use = (secret: Secret) => {
    versions.add(`${secret.metadata.namespace}/${secret.metadata.name}@${secret.metadata.resourceVersion}`)
    if (secret.metadata.namespace === namespace) kept.push({ namespace, name: secret.metadata.name })
  }

  rmSync(folder.credentials, { recursive: true, force: true })
  for (const ref of needs.credentials) {
    const secret = await holdSecret(objects, await readSecret(objects, namespace, ref), namespace, moves)
    use(secret)
    assertAccepted(ref, secret)
    for (const [key, encoded] of Object.entries(secret.data ?? {})) {
      const text = Buffer.from(encoded, 'base64').toString('utf8')
      const variable = ownValue(CREDENTIAL_FILES, key)
      env[variable ?? key] = variable === undefined ? text : writePrivate(folder.credentials, key, text)
      if (!PUBLIC_NAMES.test(key)) secrets.push(text, ...(variable === undefined ? [] : secretsInFile(text)))
    }
  }
  // A run with AWS credentials of its own finds no profile of the manager.
  if (Object.keys(env).some((name) => name.startsWith('AWS_'))) {
    env['AWS_SHARED_CREDENTIALS_FILE'] ??= NO_FILE
    env['AWS_CONFIG_FILE'] ??= NO_FILE
  }
  for (const { name, ref } of needs.secretEnv) {
    const secret = await holdSecret(objects, await readSecret(objects, namespace, ref), namespace, moves)
    use(secret)
    const encoded = ownValue(secret.data, ref.key)
    if (encoded === undefined) throw missing(`there is no key ${ref.key} in Secret ${ref.namespace}/${ref.name}`, ref)
    env[name] = Buffer.from(encoded, 'base64').toString('utf8')
    secrets.push(env[name]!)
  }
  return { env, secrets, fingerprint: hashOf([...versions].sort()), kept: unique(kept) }
}

const NO_FILE = '/dev/null'

/** The values of an AWS file that are secret, without their names. */
function secretsInFile(text: string): readonly string[] {
  return text
    .split(/\r?\n/)
    .flatMap((line) => /^[^=:]*(?:key|token|secret|external_id)[^=:]*[=:]\s*(.+?)\s*$/i.exec(line)?.[1] ?? [])
}

/** All or nothing: a Secret with one key that is not accepted gives no credentials. */
function assertAccepted({ namespace, name }: ObjectKey, secret: Secret): void {
  const refused = credentialRefusals(secret.data)
  if (refused.length === 0) return
  throw new CaptError(
    'CAPT_CREDENTIALS_REFUSED',
    `Secret ${namespace}/${name} has keys that credentials may not have: ${refused.join('; ')}`,
    { hint: 'remove them from the Secret' },
  )
}

/** Every Secret that credentials come from. */
export function credentialRefs({ credentials, secretEnv }: Needs): readonly ObjectKey[] {
  return unique([...credentials, ...secretEnv.map(({ ref: { namespace, name } }) => ({ namespace, name }))])
}

/** Changes when one of the Secrets does, also when it comes or goes. */
export async function credentialsFingerprint(objects: Objects, refs: readonly ObjectKey[]): Promise<string> {
  const versions: string[] = []
  for (const { namespace, name } of refs) {
    const secret = await objects.get<Secret>(SecretKind, { namespace, name })
    versions.push(`${namespace}/${name}@${secret?.metadata.resourceVersion}`)
  }
  return hashOf(versions.sort())
}

/** Reads each object once however many of its keys are asked for; for one pass, not as a cache. */
export function readingOnce(objects: Pick<Objects, 'get'>): Pick<Objects, 'get'> {
  const reads = new Map<string, Promise<unknown>>()
  return {
    get(kind, key) {
      const id = `${kind.kind} ${keyText(key)}`
      const known = reads.get(id) ?? objects.get(kind, key)
      reads.set(id, known)
      return known as never
    },
  }
}

/** One key of a ConfigMap or Secret; undefined when it is not there. Another namespace must allow it. */
export async function readSource(
  objects: Pick<Objects, 'get'>,
  namespace: string,
  ref: SourceRef,
): Promise<string | undefined> {
  const key = { namespace: ref.namespace, name: ref.name }
  if (ref.kind === 'Secret') {
    const secret = await objects.get<Secret>(SecretKind, key)
    if (secret) assertAllowed(secret, namespace)
    const encoded = ownValue(secret?.data, ref.key)
    return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8')
  }
  const configMap = await objects.get<ConfigMap>(ConfigMapKind, key)
  if (configMap) assertAllowed(configMap, namespace)
  const binary = ownValue(configMap?.binaryData, ref.key)
  return (
    ownValue(configMap?.data, ref.key) ??
    (binary === undefined ? undefined : Buffer.from(binary, 'base64').toString('utf8'))
  )
}

async function readSecret(objects: Objects, namespace: string, ref: ObjectKey): Promise<Secret> {
  const secret = await objects.get<Secret>(SecretKind, { namespace: ref.namespace, name: ref.name })
  if (!secret) throw missing(`there is no Secret ${ref.namespace}/${ref.name} with credentials`, ref)
  assertAllowed(secret, namespace)
  return secret
}

function missing(message: string, { namespace, name }: ObjectKey): CaptError {
  return new CaptError('CAPT_CREDENTIALS_MISSING', message, {
    hint: `create the Secret ${name} in namespace ${namespace}; the run starts as soon as it is there`,
  })
}

function assertAllowed(object: AnyObject, namespace: string): void {
  if (allowsNamespace(object, namespace)) return
  const { namespace: own, name } = object.metadata
  throw new CaptError(
    'CAPT_REFERENCE_FORBIDDEN',
    `${object.kind} ${own}/${name} does not allow references from namespace ${namespace}`,
    {
      hint: `annotate it with ${ALLOW_NAMESPACES_ANNOTATION}=${namespace}`,
    },
  )
}

/** Our finalizer keeps the credentials while a namespace is being deleted: the destroy needs them. */
export async function holdSecret(objects: Objects, secret: Secret, namespace: string, moves: boolean): Promise<Secret> {
  const { finalizers = [], labels = {}, deletionTimestamp, resourceVersion, name } = secret.metadata
  const isMarked = !moves || MOVE_LABEL in labels
  if (secret.metadata.namespace !== namespace || deletionTimestamp) return secret
  if (finalizers.includes(KEEP_FINALIZER) && isMarked) return secret
  const body = {
    metadata: {
      resourceVersion,
      finalizers: [...new Set([...finalizers, KEEP_FINALIZER])],
      ...(isMarked ? {} : { labels: { [MOVE_LABEL]: '' } }),
    },
  }
  try {
    return await objects.patch<Secret>(SecretKind, { namespace, name }, { type: 'merge', body })
  } catch (error) {
    // It was changed meanwhile, or we may read it but not hold it: the run can go on either way.
    if (isKubeError(error, 'Conflict', 'Forbidden', 'NotFound')) return secret
    throw error
  }
}

function writePrivate(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, name)
  writeFileSync(path, text, { mode: 0o600 })
  chmodSync(path, 0o600)
  return path
}

function unique(keys: readonly ObjectKey[]): readonly ObjectKey[] {
  return [...new Map(keys.map((key) => [`${key.namespace}/${key.name}`, key])).values()]
}
