// Kinds that other API servers act on and this one only stores. A write of one returns a warning, because a policy that
// is believed to hold and does not is worse than none.
import { ownValue } from '#lib'
import { type ApiObject, listAt, textAt } from '../object.ts'

type Warning = (object: ApiObject) => string | undefined

const WEBHOOKS = 'the embedded API calls no admission webhooks'
const NOT_ENFORCED = 'the embedded API does not enforce it'

const NO_EFFECT: Readonly<Record<string, Warning>> = {
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': () => WEBHOOKS,
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': () => WEBHOOKS,
  '/ResourceQuota': () => NOT_ENFORCED,
  '/LimitRange': () => NOT_ENFORCED,
  'apiregistration.k8s.io/APIService': (object) =>
    textAt(object, 'spec', 'service', 'name') === ''
      ? undefined
      : 'the embedded API forwards no requests to other API servers',
  'apiextensions.k8s.io/CustomResourceDefinition': conversionWarning,
}

function conversionWarning(crd: ApiObject): string | undefined {
  if (textAt(crd, 'spec', 'conversion', 'strategy') !== 'Webhook') return undefined
  const versions = listAt(crd, 'spec', 'versions').filter((version) => textAt(version, 'served') === 'true')
  const others = versions
    .filter((version) => textAt(version, 'storage') !== 'true')
    .map((version) => textAt(version, 'name'))
  if (others.length === 0) return undefined
  return `the embedded API calls no conversion webhooks; requests in ${others.join(', ')} are refused unless capt converts the kind itself`
}

/** The warning for the client that wrote this object, or undefined. */
export function effectWarning(group: string, object: ApiObject): string | undefined {
  const why = ownValue(NO_EFFECT, `${group}/${object.kind}`)?.(object)
  return why === undefined ? undefined : `${object.kind} ${object.metadata.name} is stored without effect: ${why}`
}
