// How fields that CAPTCluster and CAPTControlPlane share become variables of their templates: tags and identity.
import type { Json } from '#lib'
import type { ApplySpec, Identity } from './apply.ts'

/** Leaves an empty value out, so that the default of the template applies. */
export function unlessEmpty(name: string, value: Json | undefined): { [name: string]: Json } {
  const isEmpty =
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
  return isEmpty ? {} : { [name]: value }
}

const VARIABLE_NAME = /^[A-Za-z0-9_-]+$/

/** One variable per tag, for templates of the older project; only keys that are valid variable names. */
export function tagVariables(tags: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tags)
      .filter(([key]) => VARIABLE_NAME.test(key))
      .map(([key, value]) => [`tags_${key}`, value]),
  )
}

export function roleValues(identity: Identity | undefined): { [name: string]: Json } {
  const { roleArn, externalId } = identity ?? {}
  return {
    ...(roleArn === undefined ? {} : { assume_role_arn: roleArn }),
    ...(externalId === undefined ? {} : { assume_role_external_id: externalId }),
  }
}

export function credentials(identity: Identity | undefined): Pick<ApplySpec, 'credentialsRef'> {
  return identity?.secretRef ? { credentialsRef: identity.secretRef } : {}
}
