// Requests about objects: which verb is meant, what it needs, and in which form the result goes back.

import type { Served } from '../kinds/registry.ts'
import { apiVersionIn } from '../kinds/resource.ts'
import { applyObject } from '../merge/apply.ts'
import { patchObject } from '../merge/patch.ts'
import type { ApiObject } from '../object.ts'
import { type IncludeObject, toPartialMetadata, toTable } from '../present/table.ts'
import { encodeToken, listPage, readPageRequest } from '../read/list.ts'
import { select } from '../read/selection.ts'
import { badRequest, methodNotAllowed, notFound, type Status, StatusError } from '../status.ts'
import type { WriteRequest } from '../write/context.ts'
import { create } from '../write/create.ts'
import { type DeleteOptions, readDeleteOptions, remove } from '../write/delete.ts'
import { readScale, writeScale } from '../write/scale.ts'
import { readServed, replace } from '../write/update.ts'
import { type Answer, ok } from './answer.ts'
import { type Body, mediaTypeOf, parseBody, readBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import type { Target } from './target.ts'
import { streamWatch } from './watch-stream.ts'

/** Undefined when the answer is a stream that has taken over the response. */
export async function handleResource(exchange: Exchange, target: Target, served: Served): Promise<Answer | undefined> {
  const { method, query } = exchange
  if (served.version.deprecation) exchange.warnings.push(served.version.deprecation)
  if (served.type.namespaced && target.namespace === undefined && (target.name !== undefined || method === 'POST')) {
    throw method === 'POST' ? methodNotAllowed() : notServed()
  }
  if (!served.type.namespaced && target.namespace !== undefined) throw notServed()
  if (target.subresource !== undefined) return handleSubresource(exchange, target, served)
  if (target.name === undefined) {
    if (method === 'GET') {
      return isTrue(query.get('watch')) ? streamWatch(exchange, target, served) : listObjects(exchange, target, served)
    }
    if (method === 'POST') return createObject(exchange, target, served)
    if (method === 'DELETE') return removeMany(exchange, target, served)
    throw methodNotAllowed()
  }
  if (method === 'GET') {
    if (isTrue(query.get('watch'))) return streamWatch(exchange, target, served)
    return getObject(exchange, target, served)
  }
  if (method === 'PUT') return replaceObject(exchange, target, served)
  if (method === 'PATCH') return patch(exchange, target, served)
  if (method === 'DELETE') return removeObject(exchange, target, served)
  throw methodNotAllowed()
}

const isTrue = (text: string | null) => text === 'true' || text === '1'

async function handleSubresource(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const { method } = exchange
  const { subresource, name } = target
  if (name === undefined) throw notServed()
  if (subresource === 'status' && served.version.status) {
    if (method === 'GET') return getObject(exchange, target, served)
    if (method === 'PUT') return replaceObject(exchange, target, served)
    if (method === 'PATCH') return patch(exchange, target, served)
    throw methodNotAllowed()
  }
  if (subresource === 'scale' && served.version.scale) {
    const request = await writeRequest(exchange, target, served)
    if (method === 'GET') return ok(readScale(request, name))
    const { value } = await bodyOf(exchange)
    if (method === 'PUT') return ok(writeScale(request, name, { replace: value }))
    if (method === 'PATCH')
      return ok(writeScale(request, name, { patch: value, mediaType: mediaTypeOf(exchange.request) }))
    throw methodNotAllowed()
  }
  if (subresource === 'finalize' && served.type.subresources?.includes('finalize') && method === 'PUT') {
    return replaceObject(exchange, target, served)
  }
  throw notServed()
}

async function bodyOf({ request }: Exchange): Promise<Body> {
  const bytes = await readBody(request)
  return parseBody(bytes, mediaTypeOf(request))
}

function writeRequest(
  exchange: Exchange,
  target: Target,
  served: Served,
  duplicates: readonly string[] = [],
): WriteRequest {
  const { realm, query, request, warnings } = exchange
  const dryRun = query.getAll('dryRun')
  if (dryRun.some((value) => value !== 'All')) {
    throw badRequest(`dryRun: Unsupported value: "${dryRun.join(',')}": supported values: "All"`)
  }
  const fieldValidation = query.get('fieldValidation') ?? ''
  if (!['', 'Strict', 'Warn', 'Ignore'].includes(fieldValidation)) {
    throw badRequest(
      `fieldValidation: Unsupported value: "${fieldValidation}": supported values: "Ignore", "Strict", "Warn"`,
    )
  }
  const agent = (request.headers['user-agent'] ?? '').split('/')[0]!.slice(0, 128)
  return {
    ...served,
    world: realm.world,
    namespace: target.namespace ?? '',
    subresource: target.subresource as WriteRequest['subresource'],
    dryRun: dryRun.length > 0,
    fieldManager: query.get('fieldManager') || agent || 'unknown',
    fieldValidation: (fieldValidation || 'Warn') as WriteRequest['fieldValidation'],
    duplicates,
    warn: (text) => warnings.push(text),
  }
}

async function createObject(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const body = await bodyOf(exchange)
  const object = create(writeRequest(exchange, target, served, body.duplicates), body.value)
  return present(exchange, served, object, 201)
}

async function replaceObject(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const body = await bodyOf(exchange)
  const { object, created } = replace(writeRequest(exchange, target, served, body.duplicates), target.name!, body.value)
  return present(exchange, served, object, created ? 201 : 200)
}

async function patch(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const mediaType = mediaTypeOf(exchange.request)
  const body = await bodyOf(exchange)
  const request = writeRequest(exchange, target, served, body.duplicates)
  if (mediaType === 'application/apply-patch+yaml') {
    const manager = exchange.query.get('fieldManager')
    if (!manager) {
      throw new StatusError(
        422,
        'Invalid',
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      )
    }
    const { object, created } = applyObject(request, target.name!, body.value, isTrue(exchange.query.get('force')))
    return present(exchange, served, object, created ? 201 : 200)
  }
  const object = patchObject(request, target.name!, body.value, mediaType)
  return present(exchange, served, object, 200)
}

async function getObject(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const object = readServed(writeRequest(exchange, target, served), target.name!)
  if (!object) throw notFound(served.type, target.name!)
  return present(exchange, served, object, 200)
}

async function removeObject(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const options = await deleteOptions(exchange)
  const request = writeRequest(exchange, target, served)
  const { object, gone } = remove({ ...request, dryRun: request.dryRun || options.dryRun }, target.name!, options)
  return gone ? ok(success(served, object)) : present(exchange, served, object, 200)
}

async function deleteOptions(exchange: Exchange): Promise<DeleteOptions & { dryRun: boolean }> {
  const bytes = await readBody(exchange.request)
  const { value } = bytes.length === 0 ? { value: undefined } : parseBody(bytes, mediaTypeOf(exchange.request))
  const dryRun = (value as { dryRun?: unknown } | undefined)?.dryRun
  return { ...readDeleteOptions(value, exchange.query), dryRun: Array.isArray(dryRun) && dryRun.length > 0 }
}

function success({ type }: Served, object: ApiObject): Status {
  const { name, uid } = object.metadata
  const details = { name, ...(type.group ? { group: type.group } : {}), kind: type.plural, uid: uid! }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
}

async function removeMany(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const { realm, query } = exchange
  const options = await deleteOptions(exchange)
  const selection = select(served, target.namespace, query)
  const page = listPage(realm, selection, readPageRequest(query, realm.store.version()))
  const objects: ApiObject[] = []
  for (const { metadata } of page.objects) {
    const request = writeRequest(exchange, { ...target, namespace: metadata.namespace }, served)
    const dryRun = request.dryRun || options.dryRun
    objects.push(remove({ ...request, dryRun }, metadata.name, options).object)
  }
  return ok(toList(served, objects, { resourceVersion: `${realm.store.version()}` }))
}

async function listObjects(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const { realm, query, form } = exchange
  const selection = select(served, target.namespace, query)
  const page = listPage(realm, selection, readPageRequest(query, realm.store.version()))
  const metadata = {
    resourceVersion: `${page.version}`,
    ...(page.next ? { continue: encodeToken(page.version, page.next) } : {}),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  }
  if (form.is === 'table') {
    return ok(
      toTable(page.objects, served.version, {
        apiVersion: form.version,
        metadata,
        include: include(query),
        now: now(exchange),
      }),
    )
  }
  if (form.is === 'metadata') {
    const items = page.objects.map((object) => toPartialMetadata(object, form.version))
    return ok({ kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${form.version}`, metadata, items })
  }
  return ok(toList(served, page.objects, metadata))
}

function toList({ type, version }: Served, objects: readonly ApiObject[], metadata: object): object {
  // Items of built-in lists carry no type of their own; those of custom resources do.
  const items = type.custom ? objects : objects.map(({ apiVersion: _, kind: __, ...rest }) => rest)
  return { kind: type.listKind, apiVersion: apiVersionIn(type, version.name), metadata, items }
}

function include(query: URLSearchParams): IncludeObject {
  const asked = query.get('includeObject') ?? 'Metadata'
  if (asked !== 'Metadata' && asked !== 'Object' && asked !== 'None')
    throw badRequest(`includeObject: Unsupported value: "${asked}"`)
  return asked
}

const now = ({ realm }: Exchange) => realm.world.clock.now()

function present(exchange: Exchange, served: Served, object: ApiObject, code: number): Answer {
  const { form, query } = exchange
  if (form.is === 'table') {
    const metadata = { resourceVersion: object.metadata.resourceVersion ?? '' }
    return {
      code,
      value: toTable([object], served.version, {
        apiVersion: form.version,
        metadata,
        include: include(query),
        now: now(exchange),
      }),
    }
  }
  return { code, value: form.is === 'metadata' ? toPartialMetadata(object, form.version) : object }
}
