// One cluster, user or context of a kubeconfig, with the path that messages name and typed reads of its fields.
import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { CaptError, isPlainObject } from '#lib'
import { type Entry, type Fields, invalid } from './file.ts'

export interface Part extends Entry {
  /** `users[demo].user` */
  readonly path: string
  /** False: the text came from a Secret. It may name neither files nor programs of this machine. */
  readonly isTrusted: boolean
}

export function textOf(part: Part, field: string): string | undefined {
  const value = part.fields[field]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value
  throw invalid(`${part.path}.${field}: is not a text`, part.file, 'put it in quotes')
}

export function flagOf(part: Part, field: string): boolean {
  const value = part.fields[field]
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw invalid(`${part.path}.${field}: is neither true nor false`, part.file, 'write true or false without quotes')
}

export function listOf(part: Part, field: string): readonly unknown[] {
  const value = part.fields[field]
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw invalid(`${part.path}.${field}: is not a list`, part.file, 'write it as a list')
}

export function mapOf(part: Part, field: string): Fields | undefined {
  const value = part.fields[field]
  if (value === undefined || value === null) return undefined
  if (isPlainObject(value)) return value
  throw invalid(`${part.path}.${field}: is not a map`, part.file, 'write it as a map')
}

/** The text inside a base64 field that must hold PEM. */
export function pemOf(part: Part, field: string): string | undefined {
  const encoded = textOf(part, field)
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  if (text.includes('-----BEGIN ')) return text
  throw invalid(`${part.path}.${field}: is not PEM in base64`, part.file, 'encode the whole PEM file with base64')
}

/** The path in a field, seen from the folder of its file. */
export function fileOf(part: Part, field: string): string | undefined {
  const path = textOf(part, field)
  if (path === undefined) return undefined
  if (!part.isTrusted) throw untrusted(part, field)
  return isAbsolute(path) ? path : join(part.folder ?? '.', path)
}

export async function readPem(part: Part, field: string): Promise<string | undefined> {
  const path = fileOf(part, field)
  if (path === undefined) return undefined
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw new CaptError('CAPT_KUBECONFIG_UNREADABLE', `${part.path}.${field}: ${path} cannot be read (${cause.code})`, {
      hint: 'check the path and that you may read the file',
      at: part.file,
      cause,
    })
  })
  if (text.includes('-----BEGIN ')) return text
  throw invalid(`${part.path}.${field}: ${path} holds no PEM`, part.file, 'name a PEM file')
}

export function untrusted(part: Part, field: string): CaptError {
  return new CaptError(
    'CAPT_KUBECONFIG_UNTRUSTED',
    `${part.path}.${field}: is not allowed in a kubeconfig from a Secret`,
    {
      hint: 'put the credentials themselves into the Secret: a token, or client-certificate-data and client-key-data',
      at: part.file,
    },
  )
}

export function unsupported(part: Part, field: string, hint: string): CaptError {
  return new CaptError('CAPT_KUBECONFIG_UNSUPPORTED', `${part.path}.${field}: is not supported`, {
    hint,
    at: part.file,
  })
}
