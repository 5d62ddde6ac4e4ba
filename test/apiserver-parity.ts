// The same requests to two API servers, their answers compared field by field. What the two choose themselves (uids,
// times, versions) is masked; where we differ on purpose, the step says so.
import { isDeepStrictEqual } from 'node:util'
import { APPLY, JSON_PATCH, type Loose, MERGE, type RawApi, STRATEGIC, TABLE } from '#testing'
import { WIDGETS, widget } from '../src/apiserver/started.ts'

export interface Step {
  readonly title: string
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly type?: string
  readonly accept?: string
  /** Paths of the answer that may differ, and why that is right. */
  readonly except?: RegExp
}

const NAMESPACE = 'parity'
const CONFIGS = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`
const THINGS = WIDGETS.replace('/default/', `/${NAMESPACE}/`)
const SCALE_OF = `${THINGS}/a/scale`
const NOBODY = '00000000-0000-4000-8000-ffffffffffff'
const config = (name: string, over: object = {}) => ({ metadata: { name }, ...over })
const PARTIAL = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'
const applyBy = (manager: string, force = false) => `${THINGS}/s?fieldManager=${manager}&force=${force}`

const post = (title: string, path: string, body: unknown, except?: RegExp): Step => ({
  title,
  method: 'POST',
  path,
  body,
  ...(except ? { except } : {}),
})
const put = (title: string, path: string, body: unknown, except?: RegExp): Step => ({
  ...post(title, path, body, except),
  method: 'PUT',
})
const get = (title: string, path: string, except?: RegExp): Step => ({
  title,
  method: 'GET',
  path,
  ...(except ? { except } : {}),
})
const drop = (title: string, path: string, body?: unknown): Step => ({ title, method: 'DELETE', path, body })
const patch = (title: string, path: string, body: unknown, type = MERGE, except?: RegExp): Step => ({
  ...post(title, path, body, except),
  method: 'PATCH',
  type,
})
/** Our message says more than theirs. */
const WORDING = /^body\.(message|details)/
/** Ours names no owner for what the server itself filled in, and marks no built-in structure as owned whole. */
const OWNERS = /managedFields/

export const STEPS: readonly Step[] = [
  post('a namespace', '/api/v1/namespaces', { metadata: { name: NAMESPACE } }, OWNERS),
  post('a namespace that is there', '/api/v1/namespaces', { metadata: { name: NAMESPACE } }),
  post('a namespace with a bad name', '/api/v1/namespaces', { metadata: { name: 'Bad_Name' } }),
  post('a ConfigMap', CONFIGS, config('a', { kind: 'ConfigMap', apiVersion: 'v1', data: { k: 'v' } })),
  post('a taken name', CONFIGS, config('a')),
  post('another namespace in the body', CONFIGS, { metadata: { name: 'b', namespace: 'other' } }),
  post('no namespace in the path', '/api/v1/configmaps', config('b')),
  post('a namespace that is not there', '/api/v1/namespaces/nope/configmaps', config('b')),
  post('another kind', CONFIGS, config('b', { kind: 'Secret', apiVersion: 'v1' }), WORDING),
  post('no name', CONFIGS, { metadata: {} }),
  post('an unknown field, with a warning', `${CONFIGS}?dryRun=All`, config('u', { dat: { a: 'b' } })),
  post('unknown fields, strictly', `${CONFIGS}?fieldValidation=Strict`, { metadata: { name: 'u', foo: 1 }, dat: {} }),
  post('a doubled field', `${CONFIGS}?fieldValidation=Strict`, '{"metadata":{"name":"u"},"data":{"a":"1","a":"2"}}'),
  post('a value of the wrong type', CONFIGS, config('u', { data: { a: 5 } })),
  post('a body that ends too early', CONFIGS, '{"metadata":', WORDING),
  post('a bad label', CONFIGS, { metadata: { name: 'u', labels: { 'a b': 'c/d' } } }),
  post('a label that is null', `${CONFIGS}?dryRun=All`, { metadata: { name: 'u', labels: { a: null } } }),
  post('a bad key', CONFIGS, config('u', { data: { 'a b': 'c' } })),
  get('a ConfigMap', `${CONFIGS}/a`),
  get('a ConfigMap that is not there', `${CONFIGS}/zz`),
  get('a group that is not served', '/apis/nope.example.com/v1/things'),
  get('a resource that is not served', '/api/v1/things'),
  put('without a version', `${CONFIGS}/a`, config('a', { data: { k: 'v2' } })),
  put('the same again', `${CONFIGS}/a`, config('a', { data: { k: 'v2' } })),
  put('an old version', `${CONFIGS}/a`, { metadata: { name: 'a', resourceVersion: '1' }, data: {} }),
  put('another uid', `${CONFIGS}/a`, { metadata: { name: 'a', uid: NOBODY } }, WORDING),
  put('another name', `${CONFIGS}/a`, config('b')),
  put('what is not there', `${CONFIGS}/mm`, config('mm')),
  patch('a merge', `${CONFIGS}/a`, { data: { k: null, z: '1' } }),
  patch('operations', `${CONFIGS}/a`, [{ op: 'add', path: '/data/y', value: '2' }], JSON_PATCH),
  patch('a test that fails', `${CONFIGS}/a`, [{ op: 'test', path: '/data/y', value: '3' }], JSON_PATCH, WORDING),
  patch('a path that is not there', `${CONFIGS}/a`, [{ op: 'remove', path: '/data/nope' }], JSON_PATCH, WORDING),
  patch('finalizers, strategically', `${CONFIGS}/a`, { metadata: { finalizers: ['a/b', 'c/d'] } }, STRATEGIC),
  patch(
    'one finalizer less',
    `${CONFIGS}/a`,
    { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/b'] } },
    STRATEGIC,
  ),
  patch('an unknown kind of patch', `${CONFIGS}/a`, {}, 'application/foo', WORDING),
  patch('what is not there', `${CONFIGS}/zz`, {}),
  drop('what is held', `${CONFIGS}/a`),
  drop('the same again', `${CONFIGS}/a`),
  patch(
    'a new finalizer while it is deleted',
    `${CONFIGS}/a`,
    { metadata: { finalizers: ['c/d', 'e/f'] } },
    MERGE,
    WORDING,
  ),
  patch('the last finalizer away', `${CONFIGS}/a`, { metadata: { finalizers: null } }),
  get('what is gone', `${CONFIGS}/a`),
  drop('what is gone', `${CONFIGS}/a`),
  post('a Secret', SECRETS, config('s', { stringData: { a: 'b' } })),
  post('bad base64', SECRETS, config('t', { data: { a: '!!' } })),
  patch('the type of a Secret', `${SECRETS}/s`, { type: 'other' }),
  patch('a Secret for ever', `${SECRETS}/s`, { immutable: true }),
  patch('a frozen Secret', `${SECRETS}/s`, { data: { b: 'Yw==' } }),
  drop('a Secret', `${SECRETS}/s`),
  post('another ConfigMap', CONFIGS, config('d')),
  drop('with another uid', `${CONFIGS}/d`, { preconditions: { uid: NOBODY } }),
  { ...drop('with an old version', `${CONFIGS}/d`, { preconditions: { resourceVersion: '1' } }), except: /message/ },
  drop('with an unknown policy', `${CONFIGS}/d?propagationPolicy=Foo`),
  drop('without doing it', `${CONFIGS}/d?dryRun=All`),
  drop('a ConfigMap', `${CONFIGS}/d`),
  post(
    'a Lease',
    LEASES,
    config('l', { spec: { holderIdentity: 'x', leaseDurationSeconds: 15, renewTime: '2024-01-01T00:00:00.000000Z' } }),
  ),
  post(
    'a Lease with a time that is too coarse',
    LEASES,
    config('m', { spec: { renewTime: '2024-01-01T00:00:00Z' } }),
    WORDING,
  ),
  put('a Lease without a version', `${LEASES}/l`, config('l', { spec: {} })),
  patch('a Lease of no duration', `${LEASES}/l`, { spec: { leaseDurationSeconds: 0 } }),
  patch('a Lease of the wrong type', `${LEASES}/l`, { spec: { leaseDurationSeconds: 'x' } }, MERGE, WORDING),
  get('an empty list', `/api/v1/namespaces/${NAMESPACE}/pods`),
  get('a selector that makes no sense', `${CONFIGS}?labelSelector=a%3D%3D%3Db`, WORDING),
  get('a field that cannot be selected by', `${CONFIGS}?fieldSelector=foo%3Db`),
  get('a limit that is no number', `${CONFIGS}?limit=x`),
  get('a version of the future', `${CONFIGS}?resourceVersion=99999999&resourceVersionMatch=NotOlderThan`, /message/),
  get('a match without a version', `${CONFIGS}?resourceVersionMatch=Exact`),
  get('exactly version 0', `${CONFIGS}?resourceVersion=0&resourceVersionMatch=Exact`),
  get('a version that is no number', `${CONFIGS}?resourceVersion=abc`),
  get('a continue token that is none', `${CONFIGS}?continue=abc`, WORDING),
  get('a watch with a match', `${CONFIGS}?watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1`),
  post('a POST on a name', `${CONFIGS}/x`, {}),
  put('a PUT on a collection', CONFIGS, {}),
  get('a scale that is not there', `${CONFIGS}/x/scale`),
  { ...get('a form nobody speaks', CONFIGS), accept: 'text/html', except: WORDING },
  post('an unknown dry run', `${CONFIGS}?dryRun=Some`, config('x'), /message/),
  post('an unknown validation', `${CONFIGS}?fieldValidation=Some`, config('x')),

  post('a widget', THINGS, widget('a', { size: 3 })),
  post('without what is required', THINGS, widget('b', {})),
  post('without a spec', THINGS, { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'b' } }),
  post('that breaks a rule', THINGS, widget('b', { size: 33 })),
  post('of wrong type', THINGS, widget('b', { size: 'x' })),
  post('of wrong choice', THINGS, widget('b', { size: 1, colour: 'pink' })),
  get('pods by a field they do not have', `/api/v1/namespaces/${NAMESPACE}/pods?fieldSelector=foo%3Db`),
  post(
    'with unknown fields, strictly',
    `${THINGS}?fieldValidation=Strict`,
    widget('b', { size: 3, foo: 1, parts: [{ name: 'x', y: 1 }] }),
  ),
  post('with an unknown field, warned', `${THINGS}?dryRun=All`, widget('b', { size: 3, foo: 1 })),
  post('with a doubled key', THINGS, widget('b', { size: 3, parts: [{ name: 'x' }, { name: 'x' }] })),
  post('that is another kind', THINGS, { ...widget('b', { size: 3 }), kind: 'Foo' }),
  put('a widget without a version', `${THINGS}/a`, widget('a', { size: 4 })),
  patch('the status beside the spec', `${THINGS}/a`, { status: { replicas: 3 } }),
  patch('the status itself', `${THINGS}/a/status`, { status: { replicas: 3 }, spec: { size: 9 } }),
  patch('nothing new', `${THINGS}/a`, { spec: { size: 3 } }),
  patch('a rule broken', `${THINGS}/a`, { spec: { size: 11 } }),
  get('a scale without its number', SCALE_OF),
  patch('a scale', SCALE_OF, { spec: { replicas: 5 } }),
  patch('a scale below zero', SCALE_OF, { spec: { replicas: -5 } }),
  patch('null where there is a default', `${THINGS}/a`, { spec: { colour: null } }, MERGE, OWNERS),
  { ...get('rows', THINGS, /description|managedFields/), accept: TABLE },
  { ...get('metadata alone', THINGS, OWNERS), accept: PARTIAL },
  get('a list', THINGS, OWNERS),
  get('a list over namespaces', '/apis/example.com/v1/widgets?limit=1', OWNERS),

  patch('an apply that creates', applyBy('m1'), widget('s', { size: 3, parts: [{ name: 'p1', weight: 1 }] }), APPLY),
  patch('the same apply', applyBy('m1'), widget('s', { size: 3, parts: [{ name: 'p1', weight: 1 }] }), APPLY),
  patch(
    'an apply by another',
    applyBy('m2'),
    widget('s', { size: 3, replicas: 2, parts: [{ name: 'p2', weight: 1 }] }),
    APPLY,
  ),
  patch('a conflict', applyBy('m2'), widget('s', { size: 4, parts: [{ name: 'p1', weight: 7 }] }), APPLY),
  patch('the same by force', applyBy('m2', true), widget('s', { size: 4, parts: [{ name: 'p1', weight: 7 }] }), APPLY),
  patch('the first drops a part', applyBy('m1', true), widget('s', { size: 4 }), APPLY),
  patch('the second drops it too', applyBy('m2', true), widget('s', { size: 4 }), APPLY),
  patch('an editor takes a field', `${THINGS}/s`, { spec: { size: 5 } }),
  patch('a conflict with the editor', applyBy('m1'), widget('s', { size: 6 }), APPLY),
  patch('an apply without a manager', `${THINGS}/s`, widget('s', { size: 3 }), APPLY),
  patch(
    'an apply with managedFields',
    applyBy('m1'),
    widget('s', { size: 3 }, { managedFields: [{ manager: 'x' }] }),
    APPLY,
  ),
  patch('an apply of what does not exist', applyBy('m1', true), widget('s', { size: 3, foo: 1 }), APPLY),
  patch('an apply under another name', applyBy('m1', true), widget('other', { size: 3 }), APPLY),
  patch(
    'an apply of the status',
    `${THINGS}/s/status?fieldManager=st`,
    {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 's' },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    },
    APPLY,
  ),
  patch('an apply that breaks a rule', applyBy('m1', true), widget('s', { size: 30 }), APPLY),
  patch(
    'labels and a finalizer',
    applyBy('m1', true),
    widget('s', { size: 3 }, { labels: { a: '1', b: '2' }, finalizers: ['x/y'] }),
    APPLY,
  ),
  patch('fewer labels', applyBy('m1', true), widget('s', { size: 3 }, { labels: { a: '1' } }), APPLY),
  patch('no labels', applyBy('m1', true), widget('s', { size: 3 }), APPLY),
  drop('a widget', `${THINGS}/s`),
  { ...drop('all widgets', THINGS), except: OWNERS },
]

/** One line per field in which the two answers differ. Empty when they agree. */
export async function compareStep(step: Step, ours: RawApi, real: RawApi): Promise<readonly string[]> {
  const options = { ...(step.type ? { type: step.type } : {}), ...(step.accept ? { accept: step.accept } : {}) }
  const ask = async (api: RawApi) => {
    const { code, headers, body } = await api.call(step.method, step.path, step.body, options)
    return mask({ code, warning: headers['warning'], body } as unknown as Loose, '')
  }
  const [mine, theirs] = [await ask(ours), await ask(real)]
  return differences(mine, theirs, '').filter((line) => !step.except?.test(line))
}

const CHOSEN = new Set([
  'uid',
  'creationTimestamp',
  'time',
  'resourceVersion',
  'deletionTimestamp',
  'lastTransitionTime',
])

function mask(value: unknown, key: string): unknown {
  if (typeof value === 'string') {
    if (CHOSEN.has(key)) return `<${key}>`
    return value.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>').replace(/\b\d+s\b/, '<age>')
  }
  if (Array.isArray(value)) {
    const list = value.map((item) => mask(item, ''))
    // Owners are sorted by their times, which the two servers do not share.
    return key === 'managedFields' ? list.sort((a, b) => (ownerText(a) < ownerText(b) ? -1 : 1)) : list
  }
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mask(inner, name)]))
}

function ownerText(entry: unknown): string {
  const { manager, operation, subresource } = entry as Record<string, string>
  return `${manager} ${operation} ${subresource ?? ''}`
}

function differences(ours: unknown, real: unknown, path: string): string[] {
  if (isDeepStrictEqual(ours, real)) return []
  const both = [ours, real].every((value) => value !== null && typeof value === 'object')
  if (!both || Array.isArray(ours) !== Array.isArray(real)) {
    return [`${path}: ours ${JSON.stringify(ours)}, real ${JSON.stringify(real)}`]
  }
  const [a, b] = [ours as Record<string, unknown>, real as Record<string, unknown>]
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].flatMap((name) => differences(a[name], b[name], path === '' ? name : `${path}.${name}`))
}
