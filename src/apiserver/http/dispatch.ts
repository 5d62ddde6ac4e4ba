// Finds out what a request inside a realm is about and asks for the answer. Everything that goes wrong leaves here as a
// Status.
import { CaptError, messageOf } from '#lib'
import { noConversion } from '../kinds/custom.ts'
import {
  aggregated,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  groupVersions,
} from '../present/discovery.ts'
import { openApiDocument, openApiIndex } from '../present/openapi.ts'
import { REVIEWS } from '../present/reviews.ts'
import { badRequest, internalError, methodNotAllowed, notServed, StatusError } from '../status.ts'
import { type Answer, ok } from './answer.ts'
import { mediaTypeOf, parseBody, readBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import { handleResource } from './resources.ts'
import { parseTarget } from './target.ts'

/** The Kubernetes release whose API we keep to. */
const KUBERNETES_VERSION = { major: '1', minor: '33', gitVersion: 'v1.33.13+capt' } as const

const PAGE_NOT_FOUND: Answer = { code: 404, value: '404 page not found\n' }

/**
 * kubectl asks for OpenAPI v2 when it does not find a kind in v3. The kinds are in v3 alone; an empty document makes it go
 * on and say that the kind is not served.
 */
const EMPTY_OPENAPI_V2: Answer = ok({
  swagger: '2.0',
  info: { title: 'Kubernetes', version: KUBERNETES_VERSION.gitVersion },
  paths: {},
})
export const OPENAPI_V2_PROTOBUF = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'

/** The same document in the only form in which kubectl reads it: `swagger` is field 1. */
export const EMPTY_OPENAPI_V2_PROTOBUF = Buffer.from('\x0a\x032.0', 'latin1')

/** Undefined when a stream has taken over the response. */
export async function dispatch(exchange: Exchange): Promise<Answer | undefined> {
  const target = parseTarget(exchange.parts)
  if (!target) return describe(exchange)
  const { registry } = exchange.realm.world
  const served = registry.find(target.group, target.version, target.resource)
  if (served) return handleResource(exchange, target, served)
  const review = REVIEWS.find(
    ({ group, version, plural }) => group === target.group && version === target.version && plural === target.resource,
  )
  if (!review) {
    const known = registry.byCollection(target.group, target.resource)
    if (known?.unconvertible?.includes(target.version)) throw badRequest(noConversion(known, target.version))
    throw notServed()
  }
  if (exchange.method !== 'POST') throw methodNotAllowed()
  const { value } = parseBody(await readBody(exchange.request), mediaTypeOf(exchange.request))
  return { code: 201, value: review.answer(value, { isToken: (token) => exchange.realm.tokens.accepts(token) }) }
}

/** Requests without side effects about the server itself. */
function describe(exchange: Exchange): Answer {
  const { parts, realm, form, method } = exchange
  const { registry } = realm.world
  if (method !== 'GET' && method !== 'HEAD') return PAGE_NOT_FOUND
  const [root, first, second, third] = parts
  if (parts.length === 0) return ok({ paths: rootPaths(exchange) })
  if (root === 'version' && parts.length === 1) return ok(versionInfo())
  if (root === 'api' && parts.length === 1) {
    if (form.is === 'discovery') return discovery(aggregated(registry, 'core', form.version), form.version)
    return ok(apiVersions(exchange.request.headers.host ?? ''))
  }
  if (root === 'apis' && parts.length === 1) {
    if (form.is === 'discovery') return discovery(aggregated(registry, 'groups', form.version), form.version)
    return ok(apiGroupList(registry))
  }
  if (root === 'apis' && parts.length === 2) {
    const versions = groupVersions(registry).get(first!)
    if (!versions) throw notServed()
    return ok({ kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(first!, versions) })
  }
  if ((root === 'api' && parts.length === 2) || (root === 'apis' && parts.length === 3)) {
    const list = root === 'api' ? apiResourceList(registry, '', first!) : apiResourceList(registry, first!, second!)
    if (!list) throw notServed()
    return ok(list)
  }
  if (root === 'openapi' && first === 'v2' && parts.length === 2) return EMPTY_OPENAPI_V2
  if (root === 'openapi' && first === 'v3') {
    if (parts.length === 2) return ok(openApiIndex(registry, realm.path))
    const document =
      second === 'api' ? openApiDocument(registry, '', third!) : openApiDocument(registry, third!, parts[4]!)
    return document ? ok(document) : PAGE_NOT_FOUND
  }
  return PAGE_NOT_FOUND
}

function discovery(value: object, version: string): Answer {
  return ok(value, `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
}

function rootPaths({ realm }: Exchange): readonly string[] {
  const groups = [...groupVersions(realm.world.registry)].flatMap(([group, versions]) =>
    group === '' ? [] : [`/apis/${group}`, ...versions.map((version) => `/apis/${group}/${version}`)],
  )
  return ['/api', '/api/v1', '/apis', ...groups.sort(), '/healthz', '/livez', '/openapi/v3', '/readyz', '/version']
}

export function versionInfo(): object {
  return {
    ...KUBERNETES_VERSION,
    emulationMajor: '1',
    emulationMinor: '33',
    minCompatibilityMajor: '1',
    minCompatibilityMinor: '32',
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: `node ${process.version}`,
    platform: `${process.platform}/${process.arch}`,
  }
}

/** Any thrown thing as a Status. What was not meant for the client stays in the log. */
export function toStatusError(error: unknown, log: (message: string, error: unknown) => void): StatusError {
  if (error instanceof StatusError) return error
  if (error instanceof CaptError && error.code === 'CAPT_DATA_FULL') {
    return new StatusError(507, 'InternalError', `${error.message} (${error.code}): ${error.hint}`, undefined, error)
  }
  log('A request failed in a way nobody planned', error)
  return internalError(error instanceof CaptError ? `${error.message} (${error.code})` : messageOf(error), error)
}
