// Creating an object: identity, fields, names, the server's own fields, validation, storage.
import { randomUUID } from 'node:crypto'
import { toTimestamp } from '#lib'
import { metadataFaults } from '../kinds/names.ts'
import { NAMESPACES } from '../kinds/registry.ts'
import { trackUpdate } from '../merge/managed-fields.ts'
import type { ApiObject } from '../object.ts'
import { alreadyExists, badRequest, forbidden, invalid, notFound, StatusError } from '../status.ts'
import { admitFields, checkIdentity } from './admit.ts'
import type { WriteRequest } from './context.ts'

export function create(request: WriteRequest, body: unknown): ApiObject {
  const incoming = checkIdentity(request, body)
  return createAdmitted(request, admitFields(request, incoming))
}

/** The second half, shared with server-side apply, which has merged the object itself. */
export function createAdmitted(request: WriteRequest, object: ApiObject): ApiObject {
  const { type, version, world } = request
  const { store, clock } = world
  const { metadata } = object
  if (metadata.resourceVersion) throw badRequest('resourceVersion should not be set on objects to be created')
  if (!metadata.name && metadata.generateName) metadata.name = generateName(metadata.generateName, world.suffix())
  if (type.terminating) throw definitionEnds(type)
  checkNamespace(request, metadata.name ?? '')

  metadata.uid = randomUUID()
  metadata.creationTimestamp = toTimestamp(clock.now())
  delete metadata.deletionTimestamp
  delete metadata.deletionGracePeriodSeconds
  delete metadata.resourceVersion
  delete metadata.generation
  if (type.rules.generation) metadata.generation = 1
  if (version.status && type.kind !== 'Node') delete object['status']
  type.rules.prepare?.(object, undefined)

  const faults = [...(type.rules.validate?.(object, undefined) ?? []), ...version.check.validate(object)]
  const problems = [...metadataFaults(metadata, type), ...faults]
  if (problems.length > 0) throw invalid(type, metadata.name ?? '', problems)

  if (store.read(type.collection, metadata.namespace ?? '', metadata.name)) {
    throw metadata.generateName ? generatedNameTaken(request, metadata.name) : alreadyExists(type, metadata.name)
  }
  trackUpdate(request, undefined, object)
  if (request.dryRun) return object
  const stored = store.insert(type.collection, type.toStored(ordered(object)))
  metadata.resourceVersion = stored.metadata.resourceVersion!
  return object
}

function definitionEnds({ group, plural }: WriteRequest['type']): StatusError {
  const message = 'create not allowed while custom resource definition is terminating'
  return new StatusError(405, 'MethodNotAllowed', message, { group, kind: plural })
}

/** Objects read better with their type first, whatever order the client wrote. */
function ordered(object: ApiObject): ApiObject {
  const { apiVersion, kind, metadata, ...rest } = object
  return { apiVersion, kind, metadata, ...rest }
}

const MAX_GENERATED = 58

function generateName(stem: string, suffix: string): string {
  return `${stem.slice(0, MAX_GENERATED)}${suffix}`
}

function generatedNameTaken({ type }: WriteRequest, name: string): StatusError {
  const taken = alreadyExists(type, name).status
  return new StatusError(
    409,
    'AlreadyExists',
    `${taken.message}, the server was not able to generate a unique name for the object`,
    { ...taken.details, retryAfterSeconds: 1 },
  )
}

function checkNamespace({ type, world, namespace }: WriteRequest, name: string): void {
  if (!type.namespaced) return
  const home = world.store.read(NAMESPACES, '', namespace)
  if (!home) throw notFound({ group: '', plural: 'namespaces' }, namespace)
  if (!home.metadata.deletionTimestamp) return
  const message = `unable to create new content in namespace ${namespace} because it is being terminated`
  throw forbidden(type, name, message, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ])
}
