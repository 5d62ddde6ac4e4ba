// How fields of CAPTCluster and CAPTControlPlane become variables of their templates.
import { TERRAFORM_FIELDS } from '#api'
import { type Json, type JsonObject, ownValueAt } from '#lib'
import type { ApplySpec, Identity } from './apply.ts'

type Sent = 'text' | 'value'

/** The variables of the fields that are set, by the table; those that are sent as `text` or as a `value`. */
export function fieldVariables(kind: keyof typeof TERRAFORM_FIELDS, spec: object, sent: 'text'): Record<string, string>
export function fieldVariables(kind: keyof typeof TERRAFORM_FIELDS, spec: object, sent: 'value'): JsonObject
export function fieldVariables(kind: keyof typeof TERRAFORM_FIELDS, spec: object, sent: Sent): JsonObject {
  const entries = TERRAFORM_FIELDS[kind].flatMap((row) => {
    const value = row.sent === sent ? (ownValueAt(spec, row.field.split('.')) as Json | undefined) : undefined
    const converted = value === undefined || !row.convert ? value : row.convert(value)
    return converted === undefined ? [] : [[row.variable, sent === 'text' ? String(converted) : converted] as const]
  })
  return Object.fromEntries(entries)
}

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
