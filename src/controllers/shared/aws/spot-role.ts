// The service-linked role for EC2 Spot, asked for once per account. The answers may be lost at a restart.
import type { Aws } from '#aws'
import type { Objects } from '#kube'
import { CaptError, type Clock, hashOf, messageOf, redact } from '#lib'
import { resolveIdentity } from '../../control-plane/identity.ts'
import type { Identity } from '../apply.ts'

export type SpotRole =
  | { readonly is: 'unknown' }
  | { readonly is: 'present' }
  | { readonly is: 'refused'; readonly message: string; readonly hint: string; readonly retryAfterSeconds: number }

interface SpotPlace {
  readonly namespace: string
  readonly region: string
  readonly identity: Identity | undefined
}

export interface SpotRoles {
  read(place: SpotPlace): SpotRole
  /** True when the role was made by this call. Refusals are kept for a while and do not throw. */
  ensure(objects: Objects, place: SpotPlace): Promise<boolean>
}

const RETRY_MS = 60_000

export function spotRoles(aws: Pick<Aws, 'ensureSpotRole'>, clock: Clock): SpotRoles {
  const known = new Map<string, { readonly fault?: { message: string; hint: string }; readonly untilMs: number }>()
  // A Secret belongs to a namespace; a role or the identity of the process is the same everywhere.
  const idOf = ({ namespace, region, identity }: SpotPlace): string =>
    hashOf([identity?.secretRef ? namespace : null, region, identity ?? null])
  return {
    read(place) {
      const note = known.get(idOf(place))
      if (!note) return { is: 'unknown' }
      if (!note.fault) return { is: 'present' }
      const leftMs = note.untilMs - clock.monotonic()
      if (leftMs <= 0) return { is: 'unknown' }
      return { is: 'refused', ...note.fault, retryAfterSeconds: Math.ceil(leftMs / 100) / 10 }
    },
    async ensure(objects, place) {
      const untilMs = clock.monotonic() + RETRY_MS
      try {
        const identity = await resolveIdentity(objects, place.identity, place.namespace)
        const found = await aws.ensureSpotRole(identity, place.region)
        known.set(idOf(place), { untilMs })
        return found === 'created'
      } catch (error) {
        const hint =
          error instanceof CaptError && error.hint ? error.hint : 'allow iam:GetRole and iam:CreateServiceLinkedRole'
        known.set(idOf(place), { fault: { message: redact(messageOf(error)), hint }, untilMs })
        return false
      }
    },
  }
}
