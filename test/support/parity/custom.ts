// Objects of a kind that a CustomResourceDefinition brought: schema, defaults, rules, status and scale.
import { MERGE, TABLE } from '#testing'
import { widget } from '../../../src/apiserver/started.ts'
import { NAMESPACE, THINGS } from './names.ts'
import { get, patch, post, put, type Step } from './step.ts'

const SCALE_OF = `${THINGS}/a/scale`
const PARTIAL = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'

export const CUSTOM: readonly Step[] = [
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
  patch('null where there is a default', `${THINGS}/a`, { spec: { colour: null } }, MERGE),
  { ...get('rows', THINGS), accept: TABLE },
  { ...get('metadata alone', THINGS), accept: PARTIAL },
  get('a list', THINGS),
  get('a list over namespaces', '/apis/example.com/v1/widgets?limit=1'),
]
