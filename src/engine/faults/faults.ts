// Decides what kind of failure a diagnostic is, and what to do next. The class decides whether another attempt can help:
// a wrong input needs a person, a busy cloud needs time. Patterns are tested on recorded messages.
import type { Diagnostic } from '../messages.ts'

export type FaultKind =
  | 'user'
  | 'credentials'
  | 'throttling'
  | 'capacity'
  | 'dependency'
  | 'network'
  | 'internal'
  | 'cancelled'
  | 'deadline'
  | 'paused'
  | 'memory'
  | 'lost'
  | 'locked'

export interface RunFault {
  readonly kind: FaultKind
  readonly code: string
  readonly address?: string
  readonly message: string
  readonly hint: string
}

export type Stage = 'init' | 'plan' | 'apply' | 'destroy'

interface Class {
  readonly kind: FaultKind
  readonly code: string
  readonly hint: string
  readonly matches: RegExp
}

const INVALID = {
  kind: 'user',
  code: 'CAPT_TF_INVALID',
  hint: 'correct the template or its variables; a change starts the next run',
} as const

/** First match wins, so the narrow ones come first. */
const CLASSES: readonly Class[] = [
  {
    kind: 'credentials',
    code: 'CAPT_TF_CREDENTIALS',
    hint: 'renew the credentials this run uses; the next attempt reads them again',
    matches:
      /ExpiredToken|InvalidClientTokenId|UnrecognizedClientException|SignatureDoesNotMatch|AuthFailure|InvalidAccessKeyId|No valid credential sources|NoCredentialProviders|failed to refresh cached credentials|could not find (?:default )?credentials|InvalidGrantException|security token included in the request is (?:invalid|expired)/i,
  },
  {
    kind: 'credentials',
    code: 'CAPT_TF_ACCESS_DENIED',
    hint: 'allow the action to the identity this run uses, then: capt retry',
    matches:
      /AccessDenied|UnauthorizedOperation|is not authorized to perform|not authorized to (?:access|assume)|\bForbidden\b|StatusCode: 403|403 Forbidden|explicit deny/i,
  },
  {
    kind: 'throttling',
    code: 'CAPT_TF_THROTTLED',
    hint: 'the cloud asks for fewer requests; the next attempt waits longer',
    matches: /Throttl|RequestLimitExceeded|TooManyRequests|Rate exceeded|SlowDown|StatusCode: 429|429 Too Many/i,
  },
  {
    kind: 'capacity',
    code: 'CAPT_TF_QUOTA',
    hint: 'raise the quota or free what is not needed, then: capt retry',
    matches:
      /(?:Address|Vpc|NatGateway|InternetGateway|Vcpu|Instance|Cluster|Resource|Service|Subnet|SecurityGroup|RouteTable|Rules?PerSecurityGroup)\w*LimitExceeded|ServiceQuotaExceeded|LimitExceededException|has reached (?:its|the) (?:limit|quota)|maximum number of .* (?:has been )?reached/i,
  },
  {
    kind: 'capacity',
    code: 'CAPT_TF_CAPACITY',
    hint: 'the cloud has no room there now; other zones or instance types may have',
    matches:
      /InsufficientInstanceCapacity|InsufficientFreeAddresses|InsufficientCapacity|UnsupportedAvailabilityZone|Insufficient\w*Capacity|does not have enough free addresses/i,
  },
  {
    kind: 'dependency',
    code: 'CAPT_TF_DEPENDENCY',
    hint: 'something else still uses it, or is not there yet; the next attempt tries again',
    matches:
      /DependencyViolation|ResourceInUse|OperationAborted|ConflictException|IncorrectState|is (?:currently )?in use|has dependencies and cannot be deleted|DeleteConflict|BucketNotEmpty|InvalidParameterCombination.*in progress|another operation .* in progress|ResourceNotReady|OperationNotPermitted.*(?:attached|in use)/i,
  },
  {
    kind: 'network',
    code: 'CAPT_TF_NETWORK',
    hint: 'the connection failed; the next attempt tries again',
    matches:
      /dial tcp|no such host|connection (?:refused|reset|timed out)|i\/o timeout|TLS handshake|context deadline exceeded|unexpected EOF|server misbehaving|Temporary failure in name resolution|could not connect to|Failed to query available provider packages|Failed to download module|Error accessing remote module registry|RequestError: send request failed|InternalServerError|InternalFailure|InternalError\b|ServiceUnavailable|50[0234] (?:Bad Gateway|Service|Gateway|Internal)/i,
  },
  {
    kind: 'internal',
    code: 'CAPT_TF_CRASHED',
    hint: 'a provider broke down; capt logs shows its last words',
    matches:
      /plugin did not respond|Plugin did not respond|plugin process exited|panic:|The plugin encountered an error|Request cancelled/i,
  },
  {
    kind: 'internal',
    code: 'CAPT_DISK_FULL',
    hint: 'make room in the work folder, then: capt retry',
    matches: /no space left on device|ENOSPC|disk quota exceeded/i,
  },
  {
    kind: 'locked',
    code: 'CAPT_STATE_LOCKED',
    hint: 'somebody else works on this state; the next attempt tries again',
    matches: /Error acquiring the state lock|state is already locked/i,
  },
  {
    kind: 'user',
    code: 'CAPT_TF_EXISTS',
    hint: 'it exists outside this state: import it or remove it, then: capt retry',
    matches: /\w*AlreadyExists\b|already exists/i,
  },
  {
    ...INVALID,
    matches:
      /InvalidParameter|ValidationE(?:rror|xception)|MalformedPolicyDocument|BadRequest|InvalidRequest|StatusCode: 400|Unsupported (?:argument|block|attribute)|Invalid value|Invalid reference|is required/i,
  },
]

/** An unknown message before anything was made mean a wrong template; later, another attempt costs little. */
export function toFault(errors: readonly Diagnostic[], stage: Stage): RunFault | undefined {
  const [first] = errors
  if (!first) return undefined
  const worst = errors.map((error) => ({ error, found: classOf(error, stage) }))
  // One fault that needs a person outweighs those that pass: trying again cannot help then.
  const chosen = worst.find(({ found }) => needsPerson(found.kind)) ?? worst[0]!
  const { error, found } = chosen
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  return {
    kind: found.kind,
    code: found.code,
    ...(error.address === '' ? {} : { address: error.address }),
    message: bounded(`${sentence(error)}${more}`),
    hint: found.hint,
  }
}

export function needsPerson(kind: FaultKind): boolean {
  return kind === 'user' || kind === 'credentials'
}

function classOf(error: Diagnostic, stage: Stage): Omit<Class, 'matches'> {
  const text = `${error.summary}\n${error.detail}`
  const found = CLASSES.find(({ matches }) => matches.test(text))
  if (found) return found
  if (stage === 'init' || stage === 'plan') return INVALID
  return { kind: 'internal', code: 'CAPT_TF_FAILED', hint: 'capt logs shows the whole output' }
}

/** An address that is the place is shown beside the message already. */
function sentence({ summary, detail, at, address }: Diagnostic): string {
  const text = detail.trim() === '' ? summary : `${summary}: ${detail.trim()}`
  const where = at === '' || at === address ? '' : `${at}: `
  return `${where}${text}`.replace(/\s*\n\s*/g, ' ')
}

const MAX_MESSAGE = 1024
function bounded(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`
}
