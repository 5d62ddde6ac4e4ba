// Requests about objects: which verb is meant, what it needs, and what the answer is.
import { toTimestamp } from '#lib'
import { effectWarning } from '../builtin/no-effect.ts'
import type { Served } from '../kinds/registry.ts'
import { canBeEmptied } from '../kinds/resource.ts'
import { createPause } from '../limits.ts'
import { applyObject } from '../merge/apply.ts'
import { patchObject } from '../merge/patch.ts'
import { type ApiObject, recordAt } from '../object.ts'
import { toPartialMetadata } from '../present/table.ts'
import { encodeToken, listPage, readPageRequest } from '../read/list.ts'
import { select } from '../read/selection.ts'
import {
  forbiddenFault,
  invalidOptions,
  methodNotAllowed,
  notAcceptable,
  notFound,
  notServed,
  requiredFault,
  type Status,
  StatusError,
} from '../status.ts'
import { bindPod } from '../write/binding.ts'
import type { WriteRequest } from '../write/context.ts'
import { create } from '../write/create.ts'
import { type Deleted, type DeleteOptions, remove } from '../write/delete.ts'
import { evictPod } from '../write/eviction.ts'
import { readScale, writeScale } from '../write/scale.ts'
import { readServed, replace } from '../write/update.ts'
import { type Answer, ok } from './answer.ts'
import { mediaTypeOf } from './body.ts'
import type { Exchange } from './exchange.ts'
import { present, tableOf, toList } from './present.ts'
import type { Target } from './target.ts'
import { streamWatch } from './watch-stream.ts'
import { bodyOf, deleteOptions, writeRequest } from './write-request.ts'

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
    if (method === 'DELETE' && mayEmpty(target, served)) return removeMany(exchange, target, served)
    throw methodNotAllowed()
  }
  if (method === 'GET') return getObject(exchange, target, served)
  if (method === 'PUT') return replaceObject(exchange, target, served)
  if (method === 'PATCH') return patch(exchange, target, served)
  if (method === 'DELETE') return removeObject(exchange, target, served)
  throw methodNotAllowed()
}

/** There is one identity here, so every account has its token. */
function toToken({ realm }: Exchange, request: WriteRequest, name: string, asked: unknown): object {
  if (!readServed(request, name)) throw notFound(request.type, name)
  const spec = recordAt(asked, 'spec')
  const seconds = Number(spec['expirationSeconds'] ?? 3600)
  const expirationTimestamp = toTimestamp(Math.min(realm.world.clock.now() + seconds * 1000, realm.tokens.endsAt()))
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace: request.namespace },
    spec: { ...spec, expirationSeconds: seconds },
    status: { token: realm.tokens.current(), expirationTimestamp },
  }
}

/** Many objects go at once only within one namespace, and namespaces never do. */
function mayEmpty({ namespace }: Target, { type }: Served): boolean {
  return type.namespaced ? namespace !== undefined : canBeEmptied(type)
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
    const request = writeRequest(exchange, target, served)
    if (method === 'GET') return ok(readScale(request, name))
    const { value } = await bodyOf(exchange, served)
    if (method === 'PUT') return ok(writeScale(request, name, { replace: value }))
    if (method === 'PATCH')
      return ok(writeScale(request, name, { patch: value, mediaType: mediaTypeOf(exchange.request) }))
    throw methodNotAllowed()
  }
  if (method === 'POST' && served.type.subresources?.includes(`${subresource}`)) {
    const request = writeRequest(exchange, { ...target, subresource: undefined }, served)
    const { value } = await bodyOf(exchange, served)
    if (subresource === 'token') return { code: 201, value: toToken(exchange, request, name, value) }
    if (subresource === 'eviction') evictPod(request, name, value)
    if (subresource === 'binding') bindPod(request, name, value)
    return { code: 201, value: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } }
  }
  if (subresource === 'finalize' && served.type.subresources?.includes('finalize') && method === 'PUT') {
    return replaceObject(exchange, target, served)
  }
  throw notServed()
}

async function createObject(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const body = await bodyOf(exchange, served)
  const object = create(writeRequest(exchange, target, served, body.duplicates), body.value)
  warnOfNoEffect(exchange, target, served, object)
  return present(exchange, served, object, 201)
}

function warnOfNoEffect({ warnings }: Exchange, target: Target, { type }: Served, object: ApiObject): void {
  const warning = target.subresource === undefined ? effectWarning(type.group, object) : undefined
  if (warning !== undefined) warnings.push(warning)
}

async function replaceObject(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const body = await bodyOf(exchange, served)
  const { object, created } = replace(writeRequest(exchange, target, served, body.duplicates), target.name!, body.value)
  warnOfNoEffect(exchange, target, served, object)
  return present(exchange, served, object, created ? 201 : 200)
}

async function patch(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const mediaType = mediaTypeOf(exchange.request)
  const body = await bodyOf(exchange, served)
  const request = writeRequest(exchange, target, served, body.duplicates)
  if (mediaType === 'application/apply-patch+yaml') {
    const manager = exchange.query.get('fieldManager')
    if (!manager) {
      throw invalidOptions('PatchOptions', requiredFault('fieldManager', 'is required for apply patch'))
    }
    const { object, created } = applyObject(request, target.name!, body.value, isTrue(exchange.query.get('force')))
    warnOfNoEffect(exchange, target, served, object)
    return present(exchange, served, object, created ? 201 : 200)
  }
  const object = patchObject(request, target.name!, body.value, mediaType)
  warnOfNoEffect(exchange, target, served, object)
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
  const pause = createPause()
  for (const { metadata } of page.objects) {
    await pause()
    const request = writeRequest(exchange, { ...target, namespace: metadata.namespace }, served)
    const removed = removeIfThere({ ...request, dryRun: request.dryRun || options.dryRun }, metadata.name, options)
    if (removed) objects.push(removed.object)
  }
  return ok(toList(served, objects, { resourceVersion: `${realm.store.version()}` }))
}

/** Undefined when another client has removed the object meanwhile. */
function removeIfThere(request: WriteRequest, name: string, options: DeleteOptions): Deleted | undefined {
  try {
    return remove(request, name, options)
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 404) return undefined
    throw error
  }
}

async function listObjects(exchange: Exchange, target: Target, served: Served): Promise<Answer> {
  const { realm, query, form } = exchange
  if (query.has('sendInitialEvents')) {
    const why = 'sendInitialEvents is forbidden for list'
    throw invalidOptions('ListOptions', forbiddenFault('sendInitialEvents', why))
  }
  const selection = select(served, target.namespace, query)
  const page = listPage(realm, selection, readPageRequest(query, realm.store.version()))
  const metadata = {
    resourceVersion: `${page.version}`,
    ...(page.next ? { continue: encodeToken(page.version, page.next) } : {}),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  }
  const table = tableOf(exchange, served, page.objects, metadata)
  if (table) return ok(table)
  if (form.is === 'metadata') {
    if (!form.list) throw notAcceptable('you requested PartialObjectMetadata, but the requested object is a list')
    const items = page.objects.map((object) => toPartialMetadata(object, form.version))
    return ok({ kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${form.version}`, metadata, items })
  }
  return ok(toList(served, page.objects, metadata))
}
