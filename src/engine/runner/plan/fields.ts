// Reads JSON that Terraform wrote: a field of another type than expected counts as absent.
import { isPlainObject, type Json } from '#lib'

export type Fields = Readonly<Record<string, Json>>
export const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? (value as Fields) : {})
export const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : [])
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
