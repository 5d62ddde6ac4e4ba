// By what names the cloud knows the resources in a state: ids and ARNs, their regions, and the providers
// that made them. Nothing else of their attributes leaves this file: the others may be secret.
import { isPlainObject } from '#lib'

export interface StateIdentities {
  /** Values of `id` and `arn` of managed resources. */
  readonly ids: ReadonlySet<string>
  readonly regions: readonly string[]
  /** Source addresses: `registry.terraform.io/hashicorp/aws`. */
  readonly providers: readonly string[]
}

const ARN_REGION = /^arn:[^:]*:[^:]*:([a-z]{2}[a-z0-9-]*-\d+):/
const PROVIDER = /^(?:module\..*\.)?provider\["([^"]+)"\]/

/** Of a whole state of format version 4; nothing of any other text. */
export function readIdentities(text: string): StateIdentities {
  const parsed: unknown = JSON.parse(text)
  const resources = isPlainObject(parsed) && Array.isArray(parsed['resources']) ? parsed['resources'] : []
  const managed = resources.filter((one) => isPlainObject(one) && one['mode'] === 'managed')
  const ids = new Set(managed.flatMap(idsOf))
  const regions = [...ids].flatMap((id) => ARN_REGION.exec(id)?.[1] ?? [])
  const providers = managed.flatMap(({ provider }) => PROVIDER.exec(String(provider))?.[1] ?? [])
  return { ids, regions: [...new Set(regions)].sort(), providers: [...new Set(providers)].sort() }
}

function idsOf({ instances }: Record<string, unknown>): readonly string[] {
  return (Array.isArray(instances) ? instances : []).flatMap((instance: unknown) => {
    const attributes = isPlainObject(instance) && isPlainObject(instance['attributes']) ? instance['attributes'] : {}
    return [attributes['id'], attributes['arn']].filter((one): one is string => typeof one === 'string' && one !== '')
  })
}
