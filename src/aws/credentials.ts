// From an identity to keys that can sign. The process's own credentials come from the SDK's chain (environment, shared
// files, IRSA, Pod Identity, instance role), loaded on first use; a role is assumed by one signed call to STS.
import { hashOf, messageOf, redact } from '#lib'
import { elementIn, queryCall, send, type Transport } from './call.ts'
import { AwsError, type AwsIdentity, type AwsKeys } from './port.ts'

interface Credentials extends AwsKeys {
  /** Undefined when they do not end. */
  readonly expiresAtMs: number | undefined
}

/** A token lives 15 minutes: keys that end earlier are replaced before they sign one. */
const MARGIN_MS = 16 * 60_000
const SESSION_SECONDS = 3600

type ChainProvider = (options?: { forceRefresh?: boolean }) => Promise<AwsKeys & { expiration?: Date }>

interface CredentialSource {
  keysFor(identity: AwsIdentity, region: string): Promise<Credentials>
}

export function credentialSource(transport: Transport): CredentialSource {
  const chains = new Map<string, Promise<ChainProvider>>()
  const sessions = new Map<string, Credentials>()

  const isFresh = ({ expiresAtMs }: Credentials): boolean =>
    expiresAtMs === undefined || expiresAtMs - transport.nowMs() > MARGIN_MS

  async function fromChain(profile: string | undefined): Promise<Credentials> {
    const name = profile ?? ''
    const loading = chains.get(name) ?? loadChain(profile)
    chains.set(name, loading)
    try {
      const provider = await loading
      const found = toCredentials(await provider())
      return isFresh(found) ? found : toCredentials(await provider({ forceRefresh: true }))
    } catch (error) {
      chains.delete(name)
      throw new AwsError('NoCredentials', `No AWS credentials were found: ${redact(messageOf(error))}`, {
        hint: 'on your machine: aws configure, or set AWS_PROFILE; for a manager: spec.identity, IRSA or Pod Identity',
        cause: error,
      })
    }
  }

  async function assumed(identity: AwsIdentity, region: string): Promise<Credentials> {
    const { role, ...base } = identity
    const id = hashOf([identity, region])
    const known = sessions.get(id)
    if (known && isFresh(known)) return known
    const keys = await keysFor(base, region)
    const call = queryCall({ service: 'sts', region, keys }, 'AssumeRole', '2011-06-15', {
      RoleArn: role!.arn,
      RoleSessionName: 'capt',
      DurationSeconds: String(SESSION_SECONDS),
      ExternalId: role!.externalId,
    })
    const session = readSession(await send(transport, call), role!.arn)
    // A rotated Secret makes a new entry; those that have ended are dropped on the way.
    for (const [key, { expiresAtMs = 0 }] of sessions) if (expiresAtMs < transport.nowMs()) sessions.delete(key)
    sessions.set(id, session)
    return session
  }

  function keysFor(identity: AwsIdentity, region: string): Promise<Credentials> {
    if (identity.role) return assumed(identity, region)
    if (identity.keys) return Promise.resolve({ ...identity.keys, expiresAtMs: undefined })
    return fromChain(identity.profile)
  }

  return { keysFor }
}

async function loadChain(profile: string | undefined): Promise<ChainProvider> {
  const { fromNodeProviderChain } = await import('@aws-sdk/credential-providers')
  return fromNodeProviderChain(profile === undefined ? {} : { profile }) as unknown as ChainProvider
}

function toCredentials({ accessKeyId, secretAccessKey, sessionToken, expiration }: AwsKeys & { expiration?: Date }) {
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    expiresAtMs: expiration?.getTime(),
  }
}

function readSession(xml: string, arn: string): Credentials {
  const accessKeyId = elementIn(xml, 'AccessKeyId')
  const secretAccessKey = elementIn(xml, 'SecretAccessKey')
  const sessionToken = elementIn(xml, 'SessionToken')
  const expiration = elementIn(xml, 'Expiration')
  if (!accessKeyId || !secretAccessKey || !sessionToken || !expiration)
    throw new AwsError('Refused', `sts:AssumeRole for ${arn} answered without credentials`)
  return { accessKeyId, secretAccessKey, sessionToken, expiresAtMs: Date.parse(expiration) }
}
