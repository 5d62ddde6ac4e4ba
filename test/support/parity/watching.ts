// Lists and watches: selectors, pages, versions, bookmarks, the forms of an event.
import { parse } from 'yaml'
import { items, type Loose, MERGE, TABLE } from '#testing'
import { CONFIGS, CORE, config, NAMESPACE, SECRETS, THINGS } from './names.ts'
import { type Ask, drop, get, patch, post, put, type Step, watch } from './step.ts'

const labelled = (name: string, labels: Record<string, string>) => ({ metadata: { name, labels }, data: { k: name } })
const PARTIAL_ONE = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json'
const PARTIAL = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'
const INITIAL = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1'
/** What the real server puts into every namespace is not part of the script. */
const OURS = 'labelSelector=set%3Dlisted'
const make = (name: string, labels: Record<string, string> = {}): Ask => post('', CONFIGS, labelled(name, labels))
const relabel = (name: string, labels: object): Ask => patch('', `${CONFIGS}/${name}`, { metadata: { labels } }, MERGE)
const remove = (name: string): Ask => drop('', `${CONFIGS}/${name}`)
const select = (title: string, selector: string, field = 'labelSelector'): Step =>
  get(title, `${CONFIGS}?${field}=${encodeURIComponent(selector)}`)

export const LISTED: readonly Step[] = [
  ...['a', 'b', 'c', 'd', 'e'].map((name, i) =>
    post(`a ConfigMap to list, ${name}`, CONFIGS, labelled(`list-${name}`, { set: 'listed', tier: `${i % 2}` })),
  ),
  select('by equality', 'set=listed,tier=0'),
  select('by double equality', 'set==listed'),
  select('by inequality', 'set=listed,tier!=0'),
  select('by membership', 'set in (listed),tier in (0,2)'),
  select('by absence from a list', 'set=listed,tier notin (0)'),
  select('by presence', 'set,tier'),
  select('by absence', 'set,!nope'),
  select('by a key that is no key', 'a/b/c=d'),
  select('by a value that is no value', 'set=a b'),
  select('by an open parenthesis', 'set in (a'),
  select('by name', 'metadata.name=list-b', 'fieldSelector'),
  select(
    'by another name',
    `metadata.name!=list-b,metadata.namespace=${NAMESPACE},metadata.name=list-c`,
    'fieldSelector',
  ),
  select('by another namespace', 'metadata.namespace=other', 'fieldSelector'),
  select('by a field without a value', 'metadata.name', 'fieldSelector'),
  get('Secrets by type', `${SECRETS}?fieldSelector=type%3DOpaque`),
  {
    ...get('a first page', `${CONFIGS}?${OURS}&limit=2`),
    remember: ({ body }) => ({ next: `${body['metadata']?.['continue']}` }),
  },
  {
    ...get('a second page', `${CONFIGS}?${OURS}&limit=2&continue={next}`),
    remember: ({ body }) => ({ next: `${body['metadata']?.['continue']}` }),
  },
  get('a last page', `${CONFIGS}?${OURS}&limit=2&continue={next}`),
  get('a page with a token and a version', `${CONFIGS}?limit=2&continue={next}&resourceVersion=5`),
  get('a page with a token and a match', `${CONFIGS}?limit=2&continue={next}&resourceVersionMatch=Exact`),
  {
    ...get('all of them', `${CONFIGS}?${OURS}`),
    remember: ({ body }) => ({ version: `${body['metadata']?.['resourceVersion']}` }),
  },
  get('exactly this version', `${CONFIGS}?${OURS}&resourceVersion={version}&resourceVersionMatch=Exact`),
  get('not older than this version', `${CONFIGS}?${OURS}&resourceVersion={version}&resourceVersionMatch=NotOlderThan`),
  get('any version', `${CONFIGS}?${OURS}&resourceVersion=0`),
  get('an unknown match', `${CONFIGS}?resourceVersion=1&resourceVersionMatch=Foo`),
  get('a negative limit', `${CONFIGS}?${OURS}&limit=-1`),
  get('an object of any version', `${CONFIGS}/list-a?resourceVersion=0`),
  get('initial events of a list', `${CONFIGS}?sendInitialEvents=true`),
  { ...get('rows', `${CONFIGS}?${OURS}`), accept: TABLE },
  { ...get('rows with objects', `${CONFIGS}?${OURS}&includeObject=Object`), accept: TABLE },
  { ...get('rows alone', `${CONFIGS}?${OURS}&includeObject=None`), accept: TABLE },
  { ...get('rows with nonsense', `${CONFIGS}?${OURS}&includeObject=Foo`), accept: TABLE },
  { ...get('one row', `${CONFIGS}/list-a`), accept: TABLE },
  { ...get('metadata of several', `${CONFIGS}?${OURS}`), accept: PARTIAL },
  { ...get('metadata of one', `${CONFIGS}/list-a`), accept: PARTIAL_ONE },
  { ...get('a list in the form of one', `${CONFIGS}?${OURS}`), accept: PARTIAL_ONE },
  { ...get('in YAML', `${CONFIGS}/list-a`), accept: 'application/yaml', narrow: (a, b) => [read(a), read(b)] },
]

export const WATCHED: readonly Step[] = [
  watch('what happens from a version on', `${CONFIGS}?watch=1&resourceVersion={version}`, 3, [
    make('seen'),
    patch('', `${CONFIGS}/seen`, { data: { k: 'other' } }),
    remove('seen'),
  ]),
  watch(
    'what comes into a selection and leaves it',
    `${CONFIGS}?watch=1&resourceVersion={version}&labelSelector=in%3Dyes`,
    4,
    [
      make('sel'),
      relabel('sel', { in: 'yes' }),
      relabel('sel', { in: 'yes', more: '1' }),
      relabel('sel', { in: 'no' }),
      relabel('sel', { in: 'yes' }),
      remove('sel'),
    ],
  ),
  get('what there is, then its end', `${CONFIGS}?watch=1&${OURS}&${INITIAL}`),
  watch('what there is at any version', `${CONFIGS}?watch=1&${OURS}&resourceVersion=0`, 5),
  watch('one by name', `${CONFIGS}?watch=1&fieldSelector=metadata.name%3Dlist-a`, 2, [
    relabel('list-a', { tier: 'x' }),
  ]),
  get('one on its own address', `${CONFIGS}/list-a?watch=1`),
  { ...watch('rows', `${CONFIGS}?watch=1&${OURS}&resourceVersion=0`, 5), accept: TABLE },
  { ...watch('metadata', `${CONFIGS}?watch=1&${OURS}&resourceVersion=0`, 5), accept: PARTIAL_ONE },
  watch('custom objects', `${THINGS}?watch=1&resourceVersion=0`, 1),
  { ...watch('rows of custom objects', `${THINGS}?watch=1&resourceVersion=0`, 1), accept: TABLE },
  { ...get('for a second', `${CONFIGS}?watch=1&timeoutSeconds=1&resourceVersion={version}&labelSelector=none%3Dnone`) },
  get('from a version that is no number', `${CONFIGS}?watch=1&resourceVersion=abc`),
  get('with initial events and without a match', `${CONFIGS}?watch=1&sendInitialEvents=true`),
  get(
    'with initial events and an exact match',
    `${CONFIGS}?watch=1&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1`,
  ),
  get('with a selector that makes no sense', `${CONFIGS}?watch=1&fieldSelector=foo%3Dbar`),
  get('of what is not served', `/api/v1/namespaces/${NAMESPACE}/things?watch=1`),
  get(
    'by the old address',
    `/api/v1/watch/namespaces/${NAMESPACE}/configmaps?timeoutSeconds=1&labelSelector=none%3Dnone`,
  ),
  put('a status of a kind without', `${CONFIGS}/list-a/status`, config('list-a')),
  drop('some by a selector', `${CONFIGS}?labelSelector=${encodeURIComponent('set=listed,tier in (0)')}`),
  drop('the others without doing it', `${CONFIGS}?${OURS}&dryRun=All`),
  { ...get('what is left', `${CONFIGS}?${OURS}`), narrow: (a, b) => [names(a), names(b)] },
  drop('the others', `${CONFIGS}?${OURS}`),
  get('nothing', `${CONFIGS}?${OURS}`),
  drop('all of them in all namespaces', `/api/v1/configmaps?${OURS}`),
  get('in all namespaces', `/api/v1/configmaps?${OURS}`),
  get('in a namespace that is not there', `/api/v1/namespaces/nowhere/configmaps`),
  get('the account every namespace has', `${CORE}/serviceaccounts/nope`),
]

const read = (answer: Loose): unknown => ({ ...answer, body: parse(`${answer['body']}`) as unknown })

const names = ({ body }: { readonly body?: Parameters<typeof items>[0] }) =>
  items(body).map((item) => item['metadata']?.['name'])
