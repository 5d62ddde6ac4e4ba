// Tags of what the stand-in keeps, found by ARN. moto answers for clusters.
import { Fault, type Json } from './call.ts'
import type { ClusterState } from './cluster-state.ts'

/** The tags behind an ARN of ours; nothing for an ARN that moto answers for. */
export function tagsAt(arn: string, clusters: Iterable<ClusterState>): Record<string, string> | undefined {
  if (!/^arn:[^:]+:eks:[^:]+:\d+:(access-entry|addon|podidentityassociation)\//.test(arn)) return undefined
  for (const { accessEntries, addons, associations } of clusters) {
    const all = [...accessEntries.values(), ...addons.values(), ...associations.values()]
    const found = all.find((one) => Object.values(one).includes(arn) && !('ownerArn' in one && one.ownerArn === arn))
    if (found) return found.tags
  }
  throw new Fault('NotFoundException', `The resource ${arn} was not found.`)
}

export function answerTags(method: string, tags: Record<string, string>, query: URLSearchParams, body: Json): Json {
  if (method === 'GET') return { tags }
  if (method === 'POST') Object.assign(tags, body['tags'])
  else for (const key of query.getAll('tagKeys')) delete tags[key]
  return {}
}
