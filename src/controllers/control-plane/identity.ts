// Resolves the identity a spec refers to into credentials. The Secret is read on every call, so that a rotated key takes
// effect; one of another namespace is used only where its owner allows it.
import { ALLOW_NAMESPACES_ANNOTATION, allowsNamespace, type Secret, SecretKind } from '#api'
import type { AwsIdentity } from '#aws'
import { credentialRefusals } from '#engine'
import type { Objects } from '#kube'
import { CaptError } from '#lib'
import type { Identity } from '../shared/apply.ts'

export async function resolveIdentity(
  objects: Objects,
  identity: Identity | undefined,
  namespace: string,
): Promise<AwsIdentity> {
  const { secretRef, roleArn, externalId } = identity ?? {}
  const role = roleArn === undefined ? {} : { role: { arn: roleArn, ...(externalId ? { externalId } : {}) } }
  if (!secretRef) return role
  const at = secretRef.namespace ?? namespace
  const secret = await objects.get<Secret>(SecretKind, { namespace: at, name: secretRef.name })
  if (!secret)
    throw new CaptError(
      'CAPT_IDENTITY_MISSING',
      `Secret ${at}/${secretRef.name} with the AWS identity does not exist`,
      {
        hint: 'create it with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
      },
    )
  if (!allowsNamespace(secret, namespace))
    throw new CaptError('CAPT_IDENTITY_FORBIDDEN', `Secret ${at}/${secretRef.name} may not be used from ${namespace}`, {
      hint: `add ${namespace} to its annotation ${ALLOW_NAMESPACES_ANNOTATION}`,
    })
  const refused = credentialRefusals(secret.data)
  if (refused.length > 0)
    throw new CaptError(
      'CAPT_IDENTITY_INVALID',
      `Secret ${at}/${secretRef.name} has keys that credentials may not have: ${refused.join('; ')}`,
      { hint: 'remove them from the Secret; capt explain CAPT_IDENTITY_INVALID says which keys it needs' },
    )
  return { keys: keysOf(secret, `${at}/${secretRef.name}`), ...role }
}

function keysOf(secret: Secret, name: string): NonNullable<AwsIdentity['keys']> {
  const read = (key: string): string =>
    Buffer.from(secret.data?.[key] ?? '', 'base64')
      .toString('utf8')
      .trim()
  const accessKeyId = read('AWS_ACCESS_KEY_ID')
  const secretAccessKey = read('AWS_SECRET_ACCESS_KEY')
  const sessionToken = read('AWS_SESSION_TOKEN')
  if (!accessKeyId || !secretAccessKey)
    throw new CaptError('CAPT_IDENTITY_INVALID', `Secret ${name} lacks AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY`, {
      hint: 'add both keys to the Secret',
    })
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
}
