// How one resource of an installation stands in the survey: absent, as it should be, or different; and whether capt made it.
import { hashOf } from '#lib'
import { idOf, type ResourceRef } from '../journal.ts'
import type { Survey } from '../survey/survey.ts'
import { hasNodeRole } from './aws-auth.ts'
import { foundRelease, isSameDocument, withoutZonalShift } from './controller-role.ts'
import { aliasOf } from './pools.ts'
import type { Resource } from './resources.ts'

/** On everything in AWS that capt makes and that can carry a tag; the value is the name of the cluster. */
export const OWNER_TAG = 'capt.appthrust.com/karpenter'

interface Standing {
  readonly is: 'absent' | 'same' | 'different'
  /** What differs, in a few words. */
  readonly what: string
  readonly isOurs: boolean
}

type Found = { readonly tags?: Readonly<Record<string, string>> } | undefined

export function observeResource(resource: Resource, survey: Survey): Standing {
  const { kubernetes, cluster } = survey
  const made = kubernetes.journal?.made ?? []
  const isInJournal = made.some((one) => idOf(one) === idOf(resource))
  const standing = (exists: boolean, difference: string | undefined, found?: Found): Standing => ({
    is: !exists ? 'absent' : difference === undefined ? 'same' : 'different',
    what: difference ?? '',
    // What carries tags proves itself: a journal may name what was planned and never made.
    isOurs: found?.tags ? found.tags[OWNER_TAG] === cluster.name : isInJournal,
  })
  const differs = (what: string, actual: unknown, desired: unknown) =>
    isSameDocument(actual, desired) ? undefined : what
  const { name, of, desired } = resource
  switch (resource.type) {
    case 'flux': {
      const { flux } = kubernetes
      const isHalfway = flux?.isRunning ? undefined : 'it does not run'
      return standing(flux !== undefined, flux?.version === resource.value ? isHalfway : `it is ${flux?.version}`)
    }
    case 'node-role':
    case 'controller-role': {
      const role = resource.type === 'node-role' ? survey.nodeRole : survey.controllerRole
      return standing(role !== undefined, differs('it trusts somebody else', role?.trust, desired), role)
    }
    case 'attached-policy':
      return standing(roleOf(survey, of)?.attached.includes(name) ?? false, undefined)
    case 'inline-policy': {
      const document = roleOf(survey, of)?.inline[name]
      return standing(
        document !== undefined,
        differs('its statements differ', isInJournal ? document : withoutZonalShift(document), desired),
      )
    }
    case 'instance-profile': {
      const profile = survey.instanceProfile
      const holds = profile?.roles.length === 0 ? 'it holds no role' : `it holds the role ${profile?.roles.join(', ')}`
      return standing(profile !== undefined, profile?.roles.join() === of ? undefined : holds, profile)
    }
    case 'queue':
      return standing(
        survey.queue !== undefined,
        differs('its policy differs', survey.queue?.policy, desired),
        survey.queue,
      )
    case 'rule': {
      const rule = survey.rules[name]
      const pattern = differs('its pattern differs', rule?.pattern, desired?.['pattern'])
      const target = rule?.targets.includes(of ?? '') ? undefined : 'it does not lead to the queue'
      return standing(rule !== undefined, pattern ?? target, rule)
    }
    case 'access-entry':
      return standing(survey.accessEntries.includes(name), undefined)
    case 'aws-auth':
      return standing(hasNodeRole(kubernetes.mapRoles ?? '', name), undefined)
    case 'association': {
      const found = survey.associations.find((one) => `${one.namespace}/${one.serviceAccount}` === name)
      return standing(found !== undefined, found?.roleArn === of ? undefined : `it gives the role ${found?.roleArn}`)
    }
    case 'tag': {
      const tags = [...survey.subnets, ...survey.securityGroups].find(({ id }) => id === name)?.tags ?? {}
      const value = tags[of ?? ''] || undefined
      return standing(value !== undefined, value === resource.value ? undefined : `it is ${value}`)
    }
    case 'spot-role':
      return { is: survey.hasSpotRole ? 'same' : 'absent', what: '', isOurs: false }
    case 'namespace':
      return standing(kubernetes.namespaces.includes(name), undefined)
    case 'definition':
      return standing(kubernetes.sharedDefinitions.includes(name), undefined)
    case 'release': {
      const found = foundRelease(survey)
      if (found) return standing(true, found.version === desired?.['version'] ? undefined : `it is ${found.version}`)
      const exists = kubernetes.karpenter.some(({ namespace }) => namespace === of) || kubernetes.hasRelease
      const isCurrent = kubernetes.journal?.release === releaseHash(resource)
      return standing(exists, isCurrent ? undefined : 'its version or values differ')
    }
    case 'node-class': {
      const found = kubernetes.nodeClasses.find((one) => one.name === name)
      const alias = desired && aliasOf(desired as { spec: Record<string, unknown> })
      const isPinned =
        alias === undefined || found === undefined || found.aliases.length === 0 || found.aliases.includes(alias)
      return standing(found !== undefined, isPinned ? undefined : `its image is ${found.aliases.join(', ')}`)
    }
    case 'node-pool':
      return standing(
        kubernetes.nodePools.some((one) => one.name === name),
        undefined,
      )
    case 'autoscaler':
    case 'node-group-size':
      throw new Error(`a ${resource.type} is observed by hand-over.ts`)
  }
}

export const releaseHash = ({ of, value, desired }: Pick<Resource, 'of' | 'value' | 'desired'>): string =>
  hashOf({ namespace: of, installer: value, ...desired }).slice(0, 16)

function roleOf({ nodeRole, controllerRole }: Survey, name: ResourceRef['of']) {
  return [nodeRole, controllerRole].find((role) => role?.name === name)
}
