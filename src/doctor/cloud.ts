// What the doctor asks of AWS: everything that carries the tag of a workspace, wherever the workspace may have made it,
// with the credentials of that workspace or else those of the person.
import type { WorkspaceTemplateApply } from '#api'
import { type AccessKeys, type Aws, findTaggedAround } from '#aws'
import { awsPlaceOf, identityAt } from '#controllers'
import { WORKSPACE_TAG } from '#engine'
import type { Objects } from '#kube'
import { CaptError } from '#lib'
import type { Cloud } from './observe.ts'

type Environment = Readonly<Record<string, string | undefined>>

export function cloudOf(objects: Objects, aws: Pick<Aws, 'findTagged'> & AccessKeys, env: Environment): Cloud {
  const regionOf = (apply: WorkspaceTemplateApply): string | undefined => awsPlaceOf(apply).region
  return {
    regionOf,
    // IAM is global: the region only says in which partition it is asked.
    askKeyAge: (keys) => aws.accessKeyCreation({ keys }, env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? 'us-east-1'),
    async findTagged(apply, workspaceId, seen) {
      const { namespace = '', name } = apply.metadata
      const own = regionOf(apply) ?? seen[0] ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION']
      if (own === undefined)
        throw new CaptError(
          'CAPT_AWS_PLACE_UNKNOWN',
          `nothing says in which region ${namespace}/${name} makes things`,
          {
            hint: 'set AWS_REGION, or give the apply a variable region',
          },
        )
      const identity = await identityAt(objects, awsPlaceOf(apply), namespace)
      const tags = { [WORKSPACE_TAG]: workspaceId }
      const { arns, regions, unanswered } = await findTaggedAround(aws, { identity, region: own, others: seen, tags })
      return {
        regions,
        tagged: [...arns].map((arn) => ({ arn })),
        silent: unanswered.map(({ region, error }) => ({ region, message: error.message, hint: error.hint ?? '' })),
      }
    },
  }
}
