// Counts what a workspace has in AWS by its tag, with the credentials of its runs. An answer that cannot be had is no number.
import { WorkspaceTemplateApply } from '#api'
import { type Aws, findTaggedAround } from '#aws'
import { awsPlaceOf, identityAt } from '#controllers'
import { type TagCounter, WORKSPACE_TAG } from '#engine'
import type { Objects } from '#kube'
import { type Log, messageOf } from '#lib'

export function tagCounter(objects: Objects, aws: Pick<Aws, 'findTagged'>, log: Log): TagCounter {
  return async ({ namespace, name }, workspaceId) => {
    try {
      const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
      const place = apply && awsPlaceOf(apply)
      // One that names no region has nothing in AWS that could be looked for, as in a simulation.
      if (place?.region === undefined) return 'unavailable'
      const identity = await identityAt(objects, place, namespace)
      const tags = { [WORKSPACE_TAG]: workspaceId }
      const { arns, unanswered } = await findTaggedAround(aws, { identity, region: place.region, tags })
      if (unanswered[0]) throw unanswered[0].error
      return arns.size
    } catch (error) {
      log.warn('Counting resources by their tag failed', {
        WorkspaceTemplateApply: `${namespace}/${name}`,
        error: messageOf(error),
      })
      return 'unavailable'
    }
  }
}
