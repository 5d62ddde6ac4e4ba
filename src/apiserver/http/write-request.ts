// Reads what a request says about how it wants to be carried out: dry run, validation, field manager, delete options.
import type { Served } from '../kinds/registry.ts'
import { invalidOptions, unsupportedFault, unsupportedMediaType } from '../status.ts'
import type { WriteRequest } from '../write/context.ts'
import { type DeleteOptions, readDeleteOptions } from '../write/delete.ts'
import { type Body, mediaTypeOf, parseBody, readBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import type { Target } from './target.ts'

const OPTIONS_KIND: Readonly<Record<string, string>> = {
  POST: 'CreateOptions',
  PUT: 'UpdateOptions',
  PATCH: 'PatchOptions',
  DELETE: 'DeleteOptions',
}
const VALIDATIONS = ['', 'Ignore', 'Strict', 'Warn']
const MAX_MANAGER = 128

const JSON_AND_YAML = ['application/json', 'application/yaml']
const WITH_PROTOBUF = [...JSON_AND_YAML, 'application/vnd.kubernetes.protobuf']

/** The body of a whole object; a patch has forms of its own, which are checked where it is applied. */
export async function bodyOf({ request, method }: Exchange, { type }: Served): Promise<Body> {
  const bytes = await readBody(request)
  const mediaType = mediaTypeOf(request)
  const accepted = type.custom ? JSON_AND_YAML : WITH_PROTOBUF
  if (method !== 'PATCH' && !accepted.includes(mediaType)) throw unsupportedMediaType(accepted)
  return parseBody(bytes, mediaType)
}

export function writeRequest(
  exchange: Exchange,
  target: Target,
  served: Served,
  duplicates: readonly string[] = [],
): WriteRequest {
  const { realm, query, request, warnings, method } = exchange
  const kind = OPTIONS_KIND[method] ?? 'GetOptions'
  const dryRun = query.getAll('dryRun')
  if (dryRun.some((value) => value !== 'All')) throw invalidOptions(kind, unsupportedFault('dryRun', dryRun, ['All']))
  const validation = query.get('fieldValidation') ?? ''
  if (!VALIDATIONS.includes(validation)) {
    throw invalidOptions(kind, unsupportedFault('fieldValidation', validation, VALIDATIONS))
  }
  const agent = (request.headers['user-agent'] ?? '').split('/')[0]!.slice(0, MAX_MANAGER)
  return {
    ...served,
    world: realm.world,
    namespace: target.namespace ?? '',
    subresource: target.subresource as WriteRequest['subresource'],
    dryRun: dryRun.length > 0,
    fieldManager: query.get('fieldManager') || agent || 'unknown',
    fieldValidation: (validation || 'Warn') as WriteRequest['fieldValidation'],
    duplicates,
    warn: (text) => warnings.push(text),
  }
}

export async function deleteOptions(exchange: Exchange): Promise<DeleteOptions & { readonly dryRun: boolean }> {
  const bytes = await readBody(exchange.request)
  const { value } = bytes.length === 0 ? { value: undefined } : parseBody(bytes, mediaTypeOf(exchange.request))
  const dryRun = (value as { dryRun?: unknown } | undefined)?.dryRun
  return { ...readDeleteOptions(value, exchange.query), dryRun: Array.isArray(dryRun) && dryRun.length > 0 }
}
