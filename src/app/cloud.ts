// AWS as the doctor asks for it, with the credentials of the person.
import { type AwsRequests, connectAws, connectRequests, findTaggedAround } from '#aws'
import { type Cloud, cloudOf } from '#doctor'
import type { Objects } from '#kube'
import type { Clock } from '#lib'

type Environment = Readonly<Record<string, string | undefined>>

/** Requests to one region, for the preflight check. */
export function openRegion(clock: Clock, env: Environment, signal: AbortSignal): (region: string) => AwsRequests {
  return (region) => connectRequests({ clock, env, region, signal })
}

export function openCloud(objects: Objects, clock: Clock, env: Environment): Cloud {
  return cloudOf(objects, connectAws({ clock, env }), env)
}

interface TagSearch {
  readonly arns: readonly string[]
  /** Regions that did not answer, with the reason. */
  readonly unanswered: readonly string[]
}

/** What carries all these tags in a region, and where its partition keeps global things. */
export function openTagSearch(
  clock: Clock,
  env: Environment,
): (region: string, tags: Readonly<Record<string, string>>) => Promise<TagSearch> {
  const aws = connectAws({ clock, env })
  return async (region, tags) => {
    const { arns, unanswered } = await findTaggedAround(aws, { identity: {}, region, tags })
    return { arns: [...arns].sort(), unanswered: unanswered.map((one) => `${one.region}: ${one.error.message}`) }
  }
}
