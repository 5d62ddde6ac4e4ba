// AWS as the doctor asks for it, with the credentials of the person.
import { type AwsRequests, connectAws, connectRequests } from '#aws'
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
