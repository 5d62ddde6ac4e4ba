// What begins and ends over time: generated names, owners and their dependents, namespaces, definitions.
import type { RawAnswer } from '#testing'
import { MERGE } from '#testing'
import { widgetCrd } from '../../../src/apiserver/started.ts'
import { CONFIGS, config, DEFINITIONS } from './names.ts'
import { drop, get, type Memory, patch, post, put, type Step, settle } from './step.ts'

const isGone = ({ code }: RawAnswer) => code === 404
const uidOf = (name: string) => (answer: RawAnswer) => ({ [name]: `${answer.body['metadata']?.['uid']}` })
const dependent =
  (name: string, owner: string, over: object = {}) =>
  (memory: Memory) => {
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid: memory[owner], ...over }
    return { metadata: { name, ownerReferences: [reference] } }
  }
const owner = (name: string): Step => ({ ...post(`an owner, ${name}`, CONFIGS, config(name)), remember: uidOf(name) })

export const DEPENDENTS: readonly Step[] = [
  {
    ...post('a generated name', CONFIGS, { metadata: { generateName: 'made-' } }),
    remember: ({ body }) => ({ made: `${body['metadata']?.['name']}` }),
  },
  drop('what was generated', `${CONFIGS}/{made}`),
  post('a stem that is too long', CONFIGS, { metadata: { generateName: 'Made_' } }),
  owner('back'),
  post('a dependent', CONFIGS, dependent('back-1', 'back')),
  drop('an owner', `${CONFIGS}/back`),
  settle('the dependent follows', `${CONFIGS}/back-1`, isGone),
  owner('keep'),
  post('a dependent to keep', CONFIGS, dependent('keep-1', 'keep')),
  drop('an owner alone', `${CONFIGS}/keep?propagationPolicy=Orphan`),
  settle('the owner goes', `${CONFIGS}/keep`, isGone),
  get('the dependent is free', `${CONFIGS}/keep-1`),
  drop('the dependent', `${CONFIGS}/keep-1`),
  owner('fore'),
  post('a dependent that blocks', CONFIGS, dependent('fore-1', 'fore', { blockOwnerDeletion: true, controller: true })),
  patch('and is held', `${CONFIGS}/fore-1`, { metadata: { finalizers: ['example.com/hold'] } }, MERGE),
  drop('an owner after its dependents', `${CONFIGS}/fore?propagationPolicy=Foreground`),
  settle('the dependent is being deleted', `${CONFIGS}/fore-1`, ({ body }) =>
    Boolean(body['metadata']?.['deletionTimestamp']),
  ),
  get('the owner waits', `${CONFIGS}/fore`),
  patch('the dependent is let go', `${CONFIGS}/fore-1`, { metadata: { finalizers: null } }, MERGE),
  settle('the owner goes too', `${CONFIGS}/fore`, isGone),
  post(
    'an owner that never was',
    CONFIGS,
    dependent('lost', 'nobody', { uid: '00000000-0000-4000-8000-eeeeeeeeeeee' }),
  ),
  settle('is taken for gone', `${CONFIGS}/lost`, isGone),
  post('an owner without a name', CONFIGS, { metadata: { name: 'x', ownerReferences: [{ kind: 'ConfigMap' }] } }),
  post('two controllers', CONFIGS, (memory: Memory) => {
    const one = { apiVersion: 'v1', kind: 'ConfigMap', controller: true, uid: memory['keep'] }
    return {
      metadata: {
        name: 'x',
        ownerReferences: [
          { ...one, name: 'a' },
          { ...one, name: 'b' },
        ],
      },
    }
  }),
  post('a deletion in the body', `${CONFIGS}?dryRun=All`, {
    metadata: { name: 'x', deletionTimestamp: '2024-01-01T00:00:00Z', uid: 'mine', selfLink: 'x' },
  }),
  post('a finalizer without a domain', CONFIGS, { metadata: { name: 'x', finalizers: ['hold'] } }),
  post('a finalizer that is no name', CONFIGS, { metadata: { name: 'x', finalizers: ['a b'] } }),
  post('two orders at once', CONFIGS, { metadata: { name: 'x', finalizers: ['orphan', 'foregroundDeletion'] } }),
  drop('with both ways to say it', `${CONFIGS}/x`, { orphanDependents: true, propagationPolicy: 'Foreground' }),
  drop('with a negative grace period', `${CONFIGS}/x?gracePeriodSeconds=-1`),
]

const HOME = '/api/v1/namespaces/short'
const isPhase = (phase: string) => (answer: RawAnswer) => (answer.body['status']?.['phase'] as unknown) === phase
const remains = ({ body }: RawAnswer) => JSON.stringify(body).includes('SomeFinalizersRemain')

export const NAMESPACES: readonly Step[] = [
  post('a namespace for a while', '/api/v1/namespaces', { metadata: { name: 'short', labels: { a: 'b' } } }),
  patch('its label', HOME, { metadata: { labels: { 'kubernetes.io/metadata.name': 'other' } } }, MERGE),
  patch('its finalizers', HOME, { spec: { finalizers: ['example.com/own'] } }, MERGE),
  get('itself', HOME),
  get('by its phase', '/api/v1/namespaces?fieldSelector=status.phase%3DActive,metadata.name%3Dshort'),
  post('something to hold it', `${HOME}/configmaps`, { metadata: { name: 'held', finalizers: ['example.com/hold'] } }),
  drop('it, without doing it', `${HOME}?dryRun=All`),
  drop('it', HOME),
  settle('it cannot go yet', HOME, remains),
  post('new content', `${HOME}/configmaps`, config('late')),
  drop('it again', HOME),
  get('what holds it', `${HOME}/configmaps/held`),
  patch('the last hold', `${HOME}/configmaps/held`, { metadata: { finalizers: null } }, MERGE),
  settle('it is gone', HOME, isGone),
  drop('what is gone', HOME),
  drop('all namespaces at once', '/api/v1/namespaces'),
  drop('the default namespace', '/api/v1/namespaces/default?dryRun=All'),
  drop('a namespace the system needs', '/api/v1/namespaces/kube-system'),
  settle('one the system made', '/api/v1/namespaces/default', isPhase('Active')),
]

const GROUP = 'short.example.com'
const definition = (plural: string, versions: readonly object[], over: object = {}) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural, singular: plural.slice(0, -1), kind: 'Brief', listKind: 'BriefList' },
    versions,
    ...over,
  },
})
const served = (name: string, over: object = {}, properties: object = {}) => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', properties: { a: { type: 'string' }, ...properties } } },
    },
  },
  ...over,
})
const WIDGETS = `${DEFINITIONS}/widgets.example.com`
const SHORT = `${DEFINITIONS}/shorts.${GROUP}`
const isEstablished = ({ body }: RawAnswer) => JSON.stringify(body).includes('"InitialNamesAccepted"')
const SHORTS = `/apis/${GROUP}/v1/namespaces/default/shorts`
const isServed = ({ code }: RawAnswer) => code === 200
const short = (version: string, name: string, spec: object = { a: 'x' }, metadata: object = {}) => ({
  apiVersion: `${GROUP}/${version}`,
  kind: 'Brief',
  metadata: { name, ...metadata },
  spec,
})
const bad = (title: string, crd: object): Step => post(title, DEFINITIONS, crd)

export const CRDS: readonly Step[] = [
  bad('a definition under a wrong name', { ...definition('shorts', [served('v1')]), metadata: { name: 'wrong' } }),
  bad('a definition without versions', definition('shorts', [])),
  bad('a definition without a stored version', definition('shorts', [served('v1', { storage: false })])),
  bad('a definition with two stored versions', definition('shorts', [served('v1'), served('v2', { storage: true })])),
  bad('a definition with a version twice', definition('shorts', [served('v1'), served('v1', { storage: false })])),
  bad('a definition without a schema', definition('shorts', [{ name: 'v1', served: true, storage: true }])),
  bad('a definition without a scope', definition('shorts', [served('v1')], { scope: 'Foo' })),
  bad('a definition with a field without a type', definition('shorts', [served('v1', {}, { b: {} })])),
  bad(
    'a definition with a default that does not fit',
    definition('shorts', [served('v1', {}, { b: { type: 'integer', default: 'x' } })]),
  ),
  bad(
    'a definition with a rule that cannot be read',
    definition('shorts', [
      served('v1', {}, { b: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self >' }] } }),
    ]),
  ),
  bad('a definition of a group without a dot', {
    ...definition('shorts', [served('v1')]),
    metadata: { name: 'shorts.x' },
    spec: { ...definition('shorts', [served('v1')]).spec, group: 'x' },
  }),
  bad(
    'a definition with a path that cannot be read',
    definition('shorts', [served('v1', { additionalPrinterColumns: [{ name: 'X', type: 'string', jsonPath: 'x' }] })]),
  ),
  {
    ...post('a definition', DEFINITIONS, definition('shorts', [served('v1'), served('v1beta1')])),
    narrow: (a, b) => [withoutStatus(a), withoutStatus(b)],
  },
  settle('is established', SHORT, isEstablished),
  settle('is served', SHORTS, isServed),
  post('an object', SHORTS, short('v1', 'one')),
  get('the object in another version', `/apis/${GROUP}/v1beta1/namespaces/default/shorts/one`),
  post('an object in another version', `/apis/${GROUP}/v1beta1/namespaces/default/shorts`, short('v1beta1', 'two')),
  get('all of them', SHORTS),
  post('an object of the wrong version', SHORTS, short('v1beta1', 'three')),
  post('an object without a type', SHORTS, { metadata: { name: 'three' } }),
  patch('strategically', `${SHORTS}/one`, { spec: { a: 'y' } }, 'application/strategic-merge-patch+json'),
  put('a definition without a version', SHORT, definition('shorts', [served('v1')])),
  patch('another group', SHORT, { spec: { group: 'other.example.com' } }, MERGE),
  patch('another scope', SHORT, { spec: { scope: 'Cluster' } }, MERGE),
  patch('fewer versions than were stored', SHORT, { spec: { versions: [{ ...served('v2'), storage: true }] } }, MERGE),
  bad('a definition that takes names of another', {
    ...definition('shorters', [served('v1')]),
    spec: { ...definition('shorters', [served('v1')]).spec, names: { plural: 'shorters', kind: 'Brief' } },
  }),
  settle('is not accepted', `${DEFINITIONS}/shorters.${GROUP}`, ({ body }) =>
    JSON.stringify(body).includes('NotAccepted'),
  ),
  drop('the one that was not accepted', `${DEFINITIONS}/shorters.${GROUP}`),
  patch('a hold on an object', `${SHORTS}/one`, { metadata: { finalizers: ['example.com/hold'] } }, MERGE),
  { ...drop('the definition', SHORT), narrow: (a, b) => [withoutStatus(a), withoutStatus(b)] },
  settle('waits for its objects', SHORT, ({ body }) => JSON.stringify(body).includes('InstanceDeletionInProgress')),
  post('an object of a definition that ends', SHORTS, short('v1', 'late')),
  settle('its object is being deleted', `${SHORTS}/one`, ({ body }) =>
    Boolean(body['metadata']?.['deletionTimestamp']),
  ),
  patch('the hold away', `${SHORTS}/one`, { metadata: { finalizers: null } }, MERGE),
  settle('is gone', SHORT, isGone),
  settle('its objects are not served', SHORTS, isGone),
  {
    ...get('the widgets', WIDGETS),
    until: isEstablished,
    remember: ({ body }) => ({ widgets: `${body['metadata']?.['resourceVersion']}` }),
  },
  put('the widgets unchanged', WIDGETS, (memory: Memory) => ({
    ...widgetCrd(),
    metadata: { name: 'widgets.example.com', resourceVersion: memory['widgets'] },
  })),
]

function withoutStatus(answer: { readonly [field: string]: unknown }): unknown {
  const { body, ...rest } = answer as { body: { status?: unknown } }
  const { status: _, ...kept } = body
  return { ...rest, body: kept }
}
