// Finds what carries a tag in a region, in others where it may have been made, and where its partition keeps global
// services.
import { homeRegionOf } from './partition.ts'
import { type Aws, type AwsError, type AwsIdentity, isAwsError } from './port.ts'

interface TagSearch {
  readonly identity: AwsIdentity
  readonly region: string
  readonly others?: readonly string[]
  readonly tags: Readonly<Record<string, string>>
}

interface Tagged {
  readonly arns: ReadonlySet<string>
  /** The regions that answered. */
  readonly regions: readonly string[]
  readonly unanswered: readonly { readonly region: string; readonly error: AwsError }[]
}

/** Throws when the region itself does not answer: without it nothing is known. */
export async function findTaggedAround(aws: Pick<Aws, 'findTagged'>, search: TagSearch): Promise<Tagged> {
  const { identity, region: own, others = [], tags } = search
  const arns = new Set<string>()
  const regions: string[] = []
  const unanswered: Tagged['unanswered'][number][] = []
  for (const region of new Set([own, ...others, homeRegionOf(own)])) {
    try {
      for (const { arn } of await aws.findTagged(identity, region, tags)) arns.add(arn)
      regions.push(region)
    } catch (error) {
      if (!isAwsError(error) || region === own) throw error
      unanswered.push({ region, error })
    }
  }
  return { arns, regions, unanswered }
}
