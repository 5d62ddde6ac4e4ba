// The NodePools of an installation and their classes: the default ones, those of a file, or those that a file once gave.
import { defaultNodeClass, defaultNodePool, type NodePoolObject } from '#catalog'
import type { Survey } from '../survey/survey.ts'
import type { Choices } from './choose.ts'
import type { Options, Refuse } from './options.ts'
import type { Resource } from './resources.ts'

/** Classes before the pools that refer to them. */
export function poolResources(survey: Survey, choices: Choices, options: Options): readonly Resource[] {
  if (options.pools === undefined && isOfFile(survey)) return keptResources(survey, choices)
  return poolObjects(survey, choices, options).map((object) => ({
    type: object.kind === 'NodePool' ? 'node-pool' : 'node-class',
    name: object.metadata.name,
    desired: object as unknown as Record<string, unknown>,
    about:
      object.kind === 'NodePool'
        ? describePool(object)
        : `image ${aliasOf(object) ?? 'of its own'}, profile ${choices.names.instanceProfile}`,
  }))
}

export function poolObjects(survey: Survey, choices: Choices, options: Options): readonly NodePoolObject[] {
  if (options.pools) return [...options.pools].sort((a, b) => a.kind.localeCompare(b.kind))
  const spec = {
    clusterName: survey.cluster.name,
    instanceProfile: choices.names.instanceProfile,
    zones: choices.zones,
    amiAlias: choices.image.value,
    discoveryTag: choices.discoveryTag,
  }
  return [defaultNodeClass(spec), defaultNodePool(spec)]
}

const madePools = ({ kubernetes }: Survey) =>
  (kubernetes.journal?.made ?? []).filter(({ type }) => type === 'node-pool' || type === 'node-class')

/** The journal names pools that capt would not make by itself. */
const isOfFile = (survey: Survey): boolean => madePools(survey).some(({ name }) => name !== 'default')

const isThere = ({ kubernetes }: Survey, { type, name }: { readonly type: string; readonly name: string }): boolean =>
  (type === 'node-pool' ? kubernetes.nodePools : kubernetes.nodeClasses).some((one) => one.name === name)

/** Pools of a file need no file to stay; an upgrade changes the image of classes that boot the family of the pin. */
function keptResources(survey: Survey, { image }: Choices): readonly Resource[] {
  const family = image.value.split('@')[0]
  return madePools(survey)
    .filter((ref) => isThere(survey, ref))
    .map(({ type, name }) => {
      const found = survey.kubernetes.nodeClasses.find((one) => type === 'node-class' && one.name === name)
      const isPinned = found?.aliases.some((alias) => alias.split('@')[0] === family) ?? false
      const desired = isPinned ? { spec: { amiSelectorTerms: [{ alias: image.value }] } } : undefined
      return { type, name, about: 'of the file it was installed with', ...(desired ? { desired } : {}) }
    })
}

/** A run that was interrupted before it made the pools of its file cannot make them without that file. */
export function checkPools(survey: Survey, options: Options, refuse: Refuse): void {
  if (options.pools !== undefined || survey.kubernetes.journal?.phase !== 'installing' || !isOfFile(survey)) return
  const absent = madePools(survey).filter((ref) => !isThere(survey, ref))
  if (absent.length > 0)
    refuse(
      'CAPT_KARPENTER_JOURNAL',
      '--provisioner',
      `the installation was begun with a file of pools, and ${[...new Set(absent.map(({ name }) => name))].join(', ')} is not made yet`,
      'give the same file again with --provisioner, or undo the installation with --rollback',
    )
}

export function usesSpot({ pools = [] }: Options): boolean {
  return pools.some(({ spec }) => JSON.stringify(spec).includes('"spot"'))
}

export function aliasOf({ spec }: { readonly spec: Readonly<Record<string, unknown>> }): string | undefined {
  return (spec['amiSelectorTerms'] as readonly { alias?: string }[] | undefined)?.find(({ alias }) => alias)?.alias
}

function describePool({ spec }: NodePoolObject): string {
  const { template, limits } = spec as {
    template?: { spec?: { requirements?: readonly { key: string; operator: string; values?: readonly string[] }[] } }
    limits?: { cpu?: string }
  }
  const named = (key: string) => template?.spec?.requirements?.find((one) => one.key === key)?.values?.join('/')
  const facts = [
    named('karpenter.k8s.aws/instance-category'),
    named('karpenter.sh/capacity-type'),
    named('topology.kubernetes.io/zone'),
    limits?.cpu === undefined ? undefined : `at most ${limits.cpu} CPU`,
  ]
  return facts.filter(Boolean).join(', ')
}
