// What EKS says of adopted clusters. It is asked when a control plane is reconciled and the last answer is old; everything here may be
// lost at a restart.
import { type Key, keyOf, keyText } from '#api'
import { type ClusterDescriptions, type EksDescription, isAwsError } from '#aws'
import { CaptError, type Clock, messageOf, redact } from '#lib'
import type { World } from '#runtime'
import { resolveIdentity } from '../identity.ts'
import type { Observed } from '../observe.ts'
import { identityOf } from '../variables.ts'

interface Fault {
  readonly message: string
  readonly hint: string
  /** There is no such cluster. */
  readonly isMissing: boolean
}

export interface Described {
  /** The name that was asked for. */
  readonly name: string
  /** The last answer, also when a later question failed. */
  readonly cluster?: EksDescription | undefined
  readonly fault?: Fault | undefined
  readonly isDue: boolean
  readonly retryAfterSeconds: number
}

export interface Descriptions {
  read(plane: Key): Described
  note(plane: Key, name: string, answer: EksDescription | Fault): void
  forget(plane: Key): void
}

/** Reconciles come with every refresh of the token, so an upgrade by others is observed within minutes. */
const ANSWER_MS = 300_000
const RETRY_MS = 30_000

const isFault = (answer: EksDescription | Fault): answer is Fault => 'isMissing' in answer

export const isUp = ({ status }: Pick<EksDescription, 'status'>): boolean =>
  status === 'ACTIVE' || status === 'UPDATING'

export function createDescriptions(clock: Clock): Descriptions {
  const notes = new Map<string, Pick<Described, 'name' | 'cluster' | 'fault'> & { readonly untilMs: number }>()
  return {
    read(plane) {
      const note = notes.get(keyText(plane))
      if (!note) return { name: '', isDue: true, retryAfterSeconds: 0 }
      const { untilMs, ...known } = note
      const leftMs = untilMs - clock.monotonic()
      return { ...known, isDue: leftMs <= 0, retryAfterSeconds: Math.max(0.1, Math.ceil(leftMs / 100) / 10) }
    },
    note(plane, name, answer) {
      const cluster = isFault(answer) ? notes.get(keyText(plane))?.cluster : answer
      const isSettled = !isFault(answer) && isUp(answer)
      notes.set(keyText(plane), {
        name,
        ...(cluster ? { cluster } : {}),
        ...(isFault(answer) ? { fault: answer } : {}),
        untilMs: clock.monotonic() + (isSettled ? ANSWER_MS : RETRY_MS),
      })
    },
    forget: (plane) => void notes.delete(keyText(plane)),
  }
}

interface DescribePorts {
  readonly aws: Partial<ClusterDescriptions>
  readonly descriptions: Descriptions
}

export async function describeAdopted(
  { objects }: Pick<World, 'objects'>,
  { aws, descriptions }: DescribePorts,
  { object, network, clusterName, region = '' }: Observed,
): Promise<void> {
  const name = network.clusterName ?? clusterName
  const missing: Fault = {
    message: `There is no EKS cluster ${name} in ${region}`,
    hint: 'correct spec.clusterName and spec.region of the CAPTCluster, or its identity; delete the Cluster if it is gone for good',
    isMissing: true,
  }
  try {
    const identity = await resolveIdentity(objects, identityOf(object, network), object.metadata.namespace ?? '')
    descriptions.note(keyOf(object), name, (await aws.describeCluster?.(identity, region, name)) ?? missing)
  } catch (error) {
    if (!(error instanceof CaptError) && !isAwsError(error)) throw error
    const hint = error.hint ?? 'allow eks:DescribeCluster'
    descriptions.note(keyOf(object), name, { message: redact(messageOf(error)), hint, isMissing: false })
  }
}
