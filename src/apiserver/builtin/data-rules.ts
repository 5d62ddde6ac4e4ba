// Secrets and ConfigMaps: what may be in them, how much, and what it means that one is immutable.
import type { Fault } from '#api'
import { jsonEqual } from '#lib'
import { type ApiObject, recordAt, textAt } from '../object.ts'
import { fault, forbiddenFault, invalidFault, requiredFault } from '../status.ts'

const MAX_DATA = 1024 * 1024
const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/
const CONFIG_KEY_TEXT =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

export function prepareSecret(secret: ApiObject, old: ApiObject | undefined): void {
  const plain = recordAt(secret, 'stringData') as Record<string, string>
  const encoded = Object.entries(plain).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')])
  if (encoded.length > 0) secret['data'] = { ...recordAt(secret, 'data'), ...Object.fromEntries(encoded) }
  delete secret['stringData']
  secret['type'] ||= old?.['type'] ?? 'Opaque'
}

export function validateSecret(secret: ApiObject, old: ApiObject | undefined): readonly Fault[] {
  const data = recordAt(secret, 'data') as Record<string, string>
  const size = Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text, 'base64'), 0)
  const faults = [...keyFaults(data, 'data')]
  if (size > MAX_DATA) faults.push(fault('data', 'TooLong', `Too long: may not be more than ${MAX_DATA} bytes`))
  if (textAt(secret, 'type') === 'kubernetes.io/service-account-token') {
    const account = secret.metadata.annotations?.['kubernetes.io/service-account.name']
    if (!account) faults.push(requiredFault('metadata.annotations[kubernetes.io/service-account.name]'))
  }
  if (!old) return faults
  if (secret['type'] !== old['type']) faults.push(invalidFault('type', secret['type'], 'field is immutable'))
  return [...faults, ...frozenFaults(secret, old, ['data'])]
}

export function validateConfigMap(map: ApiObject, old: ApiObject | undefined): readonly Fault[] {
  const data = recordAt(map, 'data') as Record<string, string>
  const binary = recordAt(map, 'binaryData') as Record<string, string>
  const size =
    Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text), 0) +
    Object.values(binary).reduce((sum, text) => sum + Buffer.byteLength(text, 'base64'), 0)
  const faults = [...keyFaults(data, 'data'), ...keyFaults(binary, 'binaryData')]
  for (const key of Object.keys(data)) {
    if (Object.hasOwn(binary, key))
      faults.push(invalidFault(`data[${key}]`, key, 'duplicate of key present in binaryData'))
  }
  if (size > MAX_DATA) faults.push(fault('[]', 'TooLong', `Too long: may not be more than ${MAX_DATA} bytes`))
  return old ? [...faults, ...frozenFaults(map, old, ['data', 'binaryData'])] : faults
}

function keyFaults(data: Readonly<Record<string, string>>, path: string): readonly Fault[] {
  return Object.keys(data).flatMap((key) => {
    if (key.length > 253) return [invalidFault(`${path}[${key}]`, key, 'must be no more than 253 bytes')]
    if (!CONFIG_KEY.test(key)) return [invalidFault(`${path}[${key}]`, key, CONFIG_KEY_TEXT)]
    return key === '.' || key.startsWith('..')
      ? [invalidFault(`${path}[${key}]`, key, "must not be '.' or start with '..'")]
      : []
  })
}

function frozenFaults(next: ApiObject, old: ApiObject, fields: readonly string[]): readonly Fault[] {
  if (old['immutable'] !== true) return []
  const faults: Fault[] = []
  if (next['immutable'] !== true) faults.push(forbiddenFault('immutable', 'field is immutable when `immutable` is set'))
  for (const field of fields) {
    if (!jsonEqual(next[field] ?? {}, old[field] ?? {})) {
      faults.push(forbiddenFault(field, 'field is immutable when `immutable` is set'))
    }
  }
  return faults
}
