// NodePool and EC2NodeClass from v1beta1 to v1: renamed policies, expiry moved, kubelet moved, images said.
import type { NodePoolObject } from '#catalog'
import { poolLabels, refuseContradictions } from './alpha-pool.ts'
import { type Fields, listAt, mapAt, pick, stringsAt } from './fields.ts'
import type { Note } from './finding.ts'
import { readImages } from './images.ts'
import { type ClassOptions, classTags, identity, metadata } from './node-class.ts'
import { readRequirements } from './requirements.ts'
import { splitList, type Term } from './selectors.ts'

export function betaPool(
  name: string,
  spec: Fields,
  className: string,
  objectMeta: Fields,
  note: Note,
): NodePoolObject {
  const template = mapAt(spec, 'template', note, 'spec.template') ?? {}
  const inner = mapAt(template, 'spec', note, 'spec.template.spec') ?? {}
  const meta = mapAt(template, 'metadata', note, 'spec.template.metadata') ?? {}
  const labels = poolLabels(
    stringsAt(meta, 'labels', note, 'spec.template.metadata.labels') ?? {},
    note,
    'spec.template.metadata.labels',
  )
  const annotations = stringsAt(meta, 'annotations', note, 'spec.template.metadata.annotations')
  const requirements = readRequirements(
    listAt(inner, 'requirements', note, 'spec.template.spec.requirements') ?? [],
    note,
    'spec.template.spec.requirements',
  )
  refuseContradictions(requirements, note)
  const disruption = mapAt(spec, 'disruption', note, 'spec.disruption') ?? {}
  const outer = pick(spec, ['weight', 'limits'], ['template', 'disruption'], note, 'spec')
  const templateMeta = { ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) }
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name, ...objectMeta },
    spec: {
      ...(outer['weight'] ? { weight: outer['weight'] } : {}),
      template: {
        ...(Object.keys(templateMeta).length > 0 ? { metadata: templateMeta } : {}),
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: className },
          requirements,
          ...pick(
            inner,
            ['taints', 'startupTaints', 'terminationGracePeriod'],
            ['requirements', 'nodeClassRef', 'kubelet', 'resources'],
            note,
            'spec.template.spec',
          ),
          expireAfter: betaExpiry(disruption, note),
        },
      },
      disruption: betaDisruption(disruption, note),
      ...(outer['limits'] ? { limits: outer['limits'] } : {}),
    },
  }
}

function betaExpiry(disruption: Fields, note: Note): unknown {
  const expireAfter = disruption['expireAfter'] ?? '720h'
  if (expireAfter !== 'Never')
    note(
      'changed',
      'CAPT_CONVERT_EXPIRY',
      'spec.disruption.expireAfter',
      'expiry is forceful in v1: the node is drained when its time is up, without a replacement first',
      'set terminationGracePeriod if pods need a bound',
    )
  return expireAfter
}

function betaDisruption(disruption: Fields, note: Note): Record<string, unknown> {
  const { consolidationPolicy = 'WhenUnderutilized', consolidateAfter } = disruption
  const empty = consolidationPolicy === 'WhenEmpty'
  if (!empty && consolidationPolicy !== 'WhenUnderutilized')
    note(
      'refused',
      'CAPT_CONVERT_INVALID',
      'spec.disruption.consolidationPolicy',
      `${String(consolidationPolicy)} is not a v1beta1 policy`,
      'WhenEmpty or WhenUnderutilized',
    )
  if (empty && consolidateAfter === undefined)
    note('refused', 'CAPT_CONVERT_INVALID', 'spec.disruption.consolidateAfter', 'WhenEmpty needs it')
  if (!empty)
    note(
      'changed',
      'CAPT_CONVERT_CONSOLIDATION',
      'spec.disruption.consolidationPolicy',
      'WhenUnderutilized is WhenEmptyOrUnderutilized with consolidateAfter 0s',
      '1m or more avoids churn',
    )
  return {
    consolidationPolicy: empty ? 'WhenEmpty' : 'WhenEmptyOrUnderutilized',
    consolidateAfter: consolidateAfter ?? '0s',
    ...pick(
      disruption,
      ['budgets'],
      ['consolidationPolicy', 'consolidateAfter', 'expireAfter'],
      note,
      'spec.disruption',
    ),
  }
}

const CLASS_COPIED = [
  'associatePublicIPAddress',
  'blockDeviceMappings',
  'instanceStorePolicy',
  'userData',
  'detailedMonitoring',
  'context',
]
const CLASS_HANDLED = [
  'amiFamily',
  'amiSelectorTerms',
  'subnetSelectorTerms',
  'securityGroupSelectorTerms',
  'role',
  'instanceProfile',
  'tags',
  'metadataOptions',
]

export function betaClass(
  name: string,
  spec: Fields,
  kubelet: Fields | undefined,
  options: ClassOptions,
  objectMeta: Fields,
  note: Note,
): NodePoolObject {
  const given = listAt(spec, 'amiSelectorTerms', note, 'spec.amiSelectorTerms') ?? []
  const images = readImages(spec, options.amiAlias, note, splitIds(given, note, 'spec.amiSelectorTerms'))
  const tags = classTags({ ...options.tags, ...stringsAt(spec, 'tags', note, 'spec.tags') }, note)
  const metadataOptions = metadata(spec, note)
  const role = options.role ?? (typeof spec['role'] === 'string' ? spec['role'] : undefined)
  return {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name, ...objectMeta },
    spec: {
      ...(images.amiFamily ? { amiFamily: images.amiFamily } : {}),
      amiSelectorTerms: images.amiSelectorTerms,
      ...identity(spec, { ...options, role }, note),
      subnetSelectorTerms: splitIds(
        listAt(spec, 'subnetSelectorTerms', note, 'spec.subnetSelectorTerms') ?? [],
        note,
        'spec.subnetSelectorTerms',
      ),
      securityGroupSelectorTerms: splitIds(
        listAt(spec, 'securityGroupSelectorTerms', note, 'spec.securityGroupSelectorTerms') ?? [],
        note,
        'spec.securityGroupSelectorTerms',
      ),
      ...(tags ? { tags } : {}),
      ...(metadataOptions ? { metadataOptions } : {}),
      ...(kubelet ? { kubelet } : {}),
      ...pick(spec, CLASS_COPIED, CLASS_HANDLED, note, 'spec'),
    },
  }
}

/** The CRD takes `id: "subnet-a,subnet-b"` and matches nothing: one term per id. */
function splitIds(terms: readonly Fields[], note: Note, path: string): Term[] {
  return terms.flatMap((term, i) => {
    const id = term['id']
    if (typeof id !== 'string' || !id.includes(',')) return [term]
    note(
      'changed',
      'CAPT_CONVERT_SELECTOR',
      `${path}[${i}].id`,
      'a comma list of ids matches nothing: written as one term per id',
    )
    return splitList(id).map((one) => ({ ...term, id: one }))
  })
}
