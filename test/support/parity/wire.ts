// The wire itself: who may ask, which forms are spoken, what is too much, and what is not there at all.
import { type Loose, MERGE } from '#testing'
import { CONFIGS, config, NAMESPACE } from './names.ts'
import { protobufConfigMap } from './protobuf.ts'
import { drop, get, patch, post, type Step } from './step.ts'

const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const big = (bytes: number) => config('big', { data: { k: 'x'.repeat(bytes) } })
const review = (group: string, kind: string, spec: object) => ({ apiVersion: `${group}/v1`, kind, spec })
const ACCESS = '/apis/authorization.k8s.io/v1'
const IDENTITY = '/apis/authentication.k8s.io/v1'
const LIST_PODS = { verb: 'list', resource: 'pods', namespace: NAMESPACE }

export const WIRE: readonly Step[] = [
  { ...get('with a wrong token', CONFIGS), token: 'wrong' },
  { ...get('discovery with a wrong token', '/apis'), token: 'wrong' },
  { ...post('a write with a wrong token', CONFIGS, config('x')), token: 'wrong' },
  { ...get('without a token', CONFIGS), token: '' },
  { ...get('health without a token', '/healthz'), token: '' },
  { ...get('the version without a token', '/version'), token: '', narrow: (a, b) => [release(a), release(b)] },
  { ...get('HEAD of an object', `${CONFIGS}/nope`), method: 'HEAD' },
  { ...get('HEAD of a list', CONFIGS), method: 'HEAD' },
  { ...get('HEAD of discovery', '/api/v1'), method: 'HEAD' },
  { ...get('OPTIONS of a list', CONFIGS), method: 'OPTIONS' },
  { ...get('OPTIONS of discovery', '/apis'), method: 'OPTIONS' },
  post('discovery', '/apis', {}),
  patch('a collection', CONFIGS, {}, MERGE),
  drop('discovery', '/api/v1'),
  get('an unknown root', '/foo'),
  get('an unknown core version', '/api/v2'),
  get('an unknown version of a group', '/apis/apps/v9'),
  get('a resource in an unknown version', `/apis/apps/v9/namespaces/${NAMESPACE}/deployments`),
  get('an unknown group', '/apis/nope.example.com'),
  get('a subresource nobody has', `${CONFIGS}/a/foo`),
  get('a path that goes on', `${CONFIGS}/a/b/c/d`),
  get('a trailing slash', `${CONFIGS}/?labelSelector=none%3Dnone`),
  get('doubled slashes', `//api/v1//namespaces/${NAMESPACE}`),
  get('a part that is not percent-encoded', `${CONFIGS}/%zz`),
  get('a cluster-wide kind in a namespace', `/api/v1/namespaces/${NAMESPACE}/nodes`),
  get('a namespaced object without its namespace', '/api/v1/configmaps/a'),
  get('alive', '/livez'),
  get('ready', '/readyz'),
  get('healthy', '/healthz'),
  get('healthy, in part', '/healthz/ping'),
  get('healthy, in a part nobody has', '/healthz/nope'),
  { ...get('the version', '/version'), narrow: (a, b) => [release(a), release(b)] },
  { ...get('everything', '/'), narrow: narrowPaths },
  { ...get('the old description', '/openapi/v2'), narrow: (a, b) => [describesKinds(a), describesKinds(b)] },
  { ...get('metrics', '/metrics'), narrow: (a, b) => [a['code'], b['code']] },
  { ...post('a text', CONFIGS, 'hello'), type: 'text/plain' },
  { ...post('a form', CONFIGS, 'a=b'), type: 'application/x-www-form-urlencoded' },
  {
    ...post('YAML', CONFIGS, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: b}\n'),
    type: 'application/yaml',
  },
  {
    ...post(
      'YAML with a doubled field',
      `${CONFIGS}?fieldValidation=Strict`,
      'metadata: {name: y2}\ndata:\n  a: b\n  a: c\n',
    ),
    type: 'application/yaml',
  },
  { ...post('broken YAML', CONFIGS, 'a: [b'), type: 'application/yaml' },
  { ...post('protobuf', CONFIGS, protobufConfigMap('wire', { a: 'b' })), type: PROTOBUF },
  { ...post('broken protobuf', CONFIGS, Buffer.from('nope')), type: PROTOBUF },
  { ...get('protobuf alone', `${CONFIGS}/wire`), accept: PROTOBUF },
  {
    ...get('protobuf or JSON', `${CONFIGS}/wire`),
    accept: `${PROTOBUF},application/json`,
    narrow: (a, b) => [a['code'], b['code']],
  },
  { ...get('anything', `${CONFIGS}/wire`), accept: '*/*' },
  { ...get('the less wanted', `${CONFIGS}/wire`), accept: 'text/html,application/json;q=0.1' },
  { ...get('a form of the future', `${CONFIGS}/wire`), accept: 'application/json;as=Table;v=v9;g=meta.k8s.io' },
  { ...get('a group nobody has', `${CONFIGS}/wire`), accept: 'application/json;as=Table;v=v1;g=foo' },
  patch('a merge that is no object', `${CONFIGS}/wire`, '[1]', MERGE),
  patch('a merge that is broken', `${CONFIGS}/wire`, '{"a":', MERGE),
  post('an empty body', CONFIGS, ''),
  post('a list for a body', CONFIGS, '[]'),
  post('a text for a body', CONFIGS, '"x"'),
  post('null for a body', CONFIGS, 'null'),
  post('more than may be stored', CONFIGS, big(1_100_000)),
  post('more than may be sent', CONFIGS, big(3_300_000)),
  drop('the one in YAML', `${CONFIGS}/yaml`),
  drop('the one in protobuf', `${CONFIGS}/wire`),
  post('who am I', `${IDENTITY}/selfsubjectreviews`, review('authentication.k8s.io', 'SelfSubjectReview', {})),
  post(
    'whose token is wrong',
    `${IDENTITY}/tokenreviews`,
    review('authentication.k8s.io', 'TokenReview', { token: 'wrong' }),
  ),
  post(
    'may I',
    `${ACCESS}/selfsubjectaccessreviews`,
    review('authorization.k8s.io', 'SelfSubjectAccessReview', { resourceAttributes: LIST_PODS }),
  ),
  post(
    'may somebody',
    `${ACCESS}/subjectaccessreviews`,
    review('authorization.k8s.io', 'SubjectAccessReview', { user: 'nobody', resourceAttributes: LIST_PODS }),
  ),
  post('may somebody here', `${ACCESS}/namespaces/${NAMESPACE}/localsubjectaccessreviews`, {
    ...review('authorization.k8s.io', 'LocalSubjectAccessReview', { user: 'nobody', resourceAttributes: LIST_PODS }),
    metadata: { namespace: NAMESPACE },
  }),
  post(
    'what may I',
    `${ACCESS}/selfsubjectrulesreviews`,
    review('authorization.k8s.io', 'SelfSubjectRulesReview', { namespace: NAMESPACE }),
  ),
  get('a list of reviews', `${ACCESS}/selfsubjectaccessreviews`),
]

/** The release, without what each build says about itself. */
const release = ({ code, type, body }: Loose): unknown => ({
  code,
  type,
  major: body?.['major'],
  minor: body?.['minor'],
  fields: Object.keys(body ?? {}).sort(),
})

/** The real server lists more than we serve; what we list must be there too. */
const describesKinds = ({ code, body }: Loose): unknown => ({
  code,
  body: Object.keys((body?.['definitions'] ?? {}) as object).length > 0,
})

function narrowPaths(ours: Loose, real: Loose): [unknown, unknown] {
  const [mine, theirs] = [ours, real].map(({ body }) => body?.['paths'] as unknown as string[])
  return [mine, theirs!.filter((path) => mine!.includes(path))]
}
