// What the doctor asks of AWS: everything that carries the tag of a workspace, wherever the workspace may have made it,
// with the credentials of that workspace or else those of the person.
import type { WorkspaceTemplateApply } from '#api'
import { type Aws, connectAws, homeRegionOf, isAwsError } from '#aws'
import { WORKSPACE_TAG } from '#engine'
import type { Objects } from '#kube'
import { CaptError, type Clock } from '#lib'
import { awsPlaceOf, identityAt } from './app-cloud.ts'
import type { Cloud } from './cli/doctor-observe.ts'

type Environment = Readonly<Record<string, string | undefined>>

export function openCloud(objects: Objects, clock: Clock, env: Environment): Cloud {
  return cloudOf(objects, connectAws({ clock, env }), env)
}

export function cloudOf(objects: Objects, aws: Pick<Aws, 'findTagged'>, env: Environment): Cloud {
  const regionOf = (apply: WorkspaceTemplateApply): string | undefined => awsPlaceOf(apply).region
  return {
    regionOf,
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
      const regions = [...new Set([own, ...seen, homeRegionOf(own)])]
      const identity = await identityAt(objects, awsPlaceOf(apply), namespace)
      const tagged = new Map<string, { readonly arn: string }>()
      const silent: { region: string; message: string; hint: string }[] = []
      for (const region of regions) {
        try {
          for (const { arn } of await aws.findTagged(identity, region, { [WORKSPACE_TAG]: workspaceId }))
            tagged.set(arn, { arn })
        } catch (error) {
          // Without its own region nothing is known; without another one, only that is not.
          if (!isAwsError(error) || region === own) throw error
          silent.push({ region, message: error.message, hint: error.hint ?? '' })
        }
      }
      const asked = regions.filter((region) => !silent.some((one) => one.region === region))
      return { regions: asked, tagged: [...tagged.values()], silent }
    },
  }
}
