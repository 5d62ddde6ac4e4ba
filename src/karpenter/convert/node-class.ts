// One EC2NodeClass from an AWSNodeTemplate or from a Provisioner's inline provider: both have the same fields.
import { DISCOVERY_TAG, type NodePoolObject, roleNameOf } from '#catalog'
import { type Fields, listAt, mapAt, pick, stringsAt } from './fields.ts'
import type { Note } from './finding.ts'
import { readImages } from './images.ts'
import type { Term } from './selectors.ts'
import { selectorTerms } from './selectors.ts'
import { PLACEHOLDER } from './variables.ts'

export interface ClassOptions {
  /** Name or ARN of the node role. */
  readonly role?: string | undefined
  readonly instanceProfile?: string | undefined
  readonly amiAlias?: string | undefined
  /** Tags that used to be global settings. */
  readonly tags?: Readonly<Record<string, string>> | undefined
}

const HANDLED = [
  'amiFamily',
  'amiSelector',
  'subnetSelector',
  'securityGroupSelector',
  'instanceProfile',
  'tags',
  'blockDeviceMappings',
  'metadataOptions',
  'launchTemplate',
  'apiVersion',
  'kind',
]
const COPIED = ['userData', 'detailedMonitoring', 'context']

export function toNodeClass(
  name: string,
  spec: Fields,
  kubelet: Fields | undefined,
  options: ClassOptions,
  note: Note,
): NodePoolObject {
  if (spec['launchTemplate'] !== undefined)
    note(
      'refused',
      'CAPT_CONVERT_UNSUPPORTED',
      'spec.launchTemplate',
      'v1 has no launch templates of your own',
      'move its image, user data, disks and groups into the node class',
    )
  const images = readImages(spec, options.amiAlias, note)
  const mappings = blockDevices(spec, note) ?? (images.rootDevice ? [defaultDisk(images.rootDevice)] : undefined)
  const metadataOptions = metadata(spec, note)
  const tags = classTags({ ...options.tags, ...stringsAt(spec, 'tags', note, 'spec.tags') }, note)
  const rest = pick(spec, COPIED, HANDLED, note, 'spec')
  return {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name },
    spec: {
      ...(images.amiFamily ? { amiFamily: images.amiFamily } : {}),
      amiSelectorTerms: images.amiSelectorTerms,
      ...identity(spec, options, note),
      subnetSelectorTerms: terms(spec, 'subnetSelector', note),
      securityGroupSelectorTerms: terms(spec, 'securityGroupSelector', note),
      ...(tags ? { tags } : {}),
      ...(mappings ? { blockDeviceMappings: mappings } : {}),
      ...(metadataOptions ? { metadataOptions } : {}),
      ...(kubelet ? { kubelet } : {}),
      ...rest,
    },
  }
}

function terms(spec: Fields, key: string, note: Note): Term[] {
  const selector = stringsAt(spec, key, note, `spec.${key}`)
  if (selector) return selectorTerms(selector, note, `spec.${key}`)
  note('refused', 'CAPT_CONVERT_SELECTOR', `spec.${key}`, 'is required', `for example ${DISCOVERY_TAG}: CLUSTER`)
  return []
}

/** Exactly one of role and instanceProfile. A role is preferred: Karpenter then makes the profile. */
export function identity(
  spec: Fields,
  options: ClassOptions,
  note: Note,
): { role: string } | { instanceProfile: string } {
  if (options.role) return { role: roleNameOf(options.role) }
  const profile = options.instanceProfile ?? spec['instanceProfile']
  if (typeof profile === 'string' && profile !== '') return { instanceProfile: profile }
  note(
    'person',
    'CAPT_CONVERT_PLACEHOLDER',
    'spec.role',
    'the old object names no instance profile and relied on a global setting that is gone',
    `run again with --role NAME, or replace ${PLACEHOLDER}-node-role`,
  )
  return { role: `${PLACEHOLDER}-node-role` }
}

const RESTRICTED = [
  'karpenter.sh/nodepool',
  'karpenter.sh/nodeclaim',
  'karpenter.sh/provisioner-name',
  'karpenter.sh/managed-by',
  'karpenter.k8s.aws/ec2nodeclass',
  'eks:eks-cluster-name',
]

export function classTags(tags: Readonly<Record<string, string>>, note: Note): Record<string, string> | undefined {
  const kept = Object.entries(tags).filter(([key]) => {
    const restricted = RESTRICTED.includes(key) || key.startsWith('kubernetes.io/cluster')
    if (restricted)
      note('changed', 'CAPT_CONVERT_TAGS', `spec.tags.${key}`, 'was left out: Karpenter writes this tag itself')
    return !restricted
  })
  if (kept.some(([key]) => key === 'Name'))
    note(
      'note',
      'CAPT_CONVERT_TAGS',
      'spec.tags.Name',
      'keeps every instance under one name; without it each is named after its node',
    )
  return kept.length > 0 ? Object.fromEntries(kept) : undefined
}

const EBS = [
  'volumeSize',
  'volumeType',
  'iops',
  'throughput',
  'encrypted',
  'kmsKeyID',
  'deleteOnTermination',
  'snapshotID',
]

function blockDevices(spec: Fields, note: Note): Record<string, unknown>[] | undefined {
  const path = 'spec.blockDeviceMappings'
  return listAt(spec, 'blockDeviceMappings', note, path)?.map((mapping, i) => {
    const at = `${path}[${i}]`
    const ebs = mapAt(mapping, 'ebs', note, `${at}.ebs`)
    const kept = ebs ? pick(ebs, EBS, [], note, `${at}.ebs`) : {}
    if (kept['volumeSize'] === undefined && kept['snapshotID'] === undefined)
      note('refused', 'CAPT_CONVERT_INVALID', `${at}.ebs`, 'needs volumeSize or snapshotID')
    if (kept['encrypted'] === undefined)
      note(
        'note',
        'CAPT_CONVERT_STORAGE',
        `${at}.ebs.encrypted`,
        "is not set: mappings of one's own replace Karpenter's encrypted default",
        'add encrypted: true',
      )
    return { ...pick(mapping, ['deviceName'], ['ebs'], note, at), ebs: kept }
  })
}

const defaultDisk = (deviceName: string) => ({
  deviceName,
  ebs: { volumeSize: '20Gi', volumeType: 'gp3', encrypted: true, deleteOnTermination: true },
})

const METADATA = ['httpEndpoint', 'httpProtocolIPv6', 'httpPutResponseHopLimit', 'httpTokens']

export function metadata(spec: Fields, note: Note): Record<string, unknown> | undefined {
  const path = 'spec.metadataOptions'
  const given = mapAt(spec, 'metadataOptions', note, path)
  const hops = 'pods that read instance metadata need httpPutResponseHopLimit: 2'
  if (!given) {
    note('changed', 'CAPT_CONVERT_METADATA', path, 'the default hop limit went from 2 to 1', hops)
    return undefined
  }
  const missing = METADATA.filter((key) => given[key] === undefined)
  if (missing.length > 0)
    note(
      'changed',
      'CAPT_CONVERT_METADATA',
      path,
      `${missing.join(', ')} were EC2's defaults and are Karpenter's now (tokens required, hop limit 1)`,
      hops,
    )
  return pick(given, METADATA, [], note, path)
}
