// What IAM is asked: the age of an access key, and the instance profiles that Karpenter made for one cluster, which are found by
// how it names them and distinguished from others by its tags.
import { type Call, queryCall } from './call.ts'
import type { Ask } from './ec2.ts'
import { AwsError } from './port.ts'
import { nodesAt, parseXml, textAt, type XmlNode } from './xml.ts'

const VERSION = '2010-05-08'

type Base = Pick<Call, 'region' | 'keys'>

/** Names, sorted. Instance profiles are global: those of the region are meant. */
export async function listInstanceProfiles(ask: Ask, base: Base, cluster: string): Promise<readonly string[]> {
  const owned: string[] = []
  for (const name of await namesOf(ask, base, cluster)) {
    const page = await read(ask, base, 'GetInstanceProfile', { InstanceProfileName: name })
    const found = nodesAt(page, 'InstanceProfile', 'Tags', 'member')
    const tags = new Map(found.map((tag) => [textAt(tag, 'Key'), textAt(tag, 'Value')]))
    const isOwned = tags.get(`kubernetes.io/cluster/${cluster}`) === 'owned'
    if (isOwned && tags.get('topology.kubernetes.io/region') === base.region) owned.push(name)
  }
  return owned.sort()
}

/** Karpenter begins the name with that of the cluster, and from 1.7 on has a path for it too. */
async function namesOf(ask: Ask, base: Base, cluster: string): Promise<readonly string[]> {
  const names: string[] = []
  let Marker: string | undefined
  do {
    const page = await read(ask, base, 'ListInstanceProfiles', { MaxItems: '1000', Marker })
    for (const profile of nodesAt(page, 'InstanceProfiles', 'member')) {
      const [name = '', path = ''] = [textAt(profile, 'InstanceProfileName'), textAt(profile, 'Path')]
      if (name.startsWith(`${cluster}_`) || path.startsWith(`/karpenter/${base.region}/${cluster}/`)) names.push(name)
    }
    Marker = textAt(page, 'IsTruncated') === 'true' ? textAt(page, 'Marker') || undefined : undefined
  } while (Marker !== undefined)
  return names
}

/** When the access key of these credentials was made; undefined when its user does not list it. */
export async function readKeyCreation(ask: Ask, base: Base): Promise<number | undefined> {
  const page = await read(ask, base, 'ListAccessKeys', {})
  const own = nodesAt(page, 'AccessKeyMetadata', 'member').find(
    (one) => textAt(one, 'AccessKeyId') === base.keys.accessKeyId,
  )
  const madeAt = Date.parse((own && textAt(own, 'CreateDate')) ?? '')
  return Number.isNaN(madeAt) ? undefined : madeAt
}

async function read(
  ask: Ask,
  base: Base,
  action: string,
  parameters: Readonly<Record<string, string | undefined>>,
): Promise<XmlNode> {
  const text = await ask(queryCall({ service: 'iam', ...base }, action, VERSION, parameters))
  const [result] = nodesAt(parseXml(text), `${action}Result`)
  if (result) return result
  throw new AwsError('Refused', `iam:${action} gave an answer that cannot be read`, {
    hint: 'something between capt and AWS may have changed it; it is asked again',
  })
}
