import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Branch, FleetRow } from '../messages.ts'
import { countGroups, selectRows } from './filter.ts'
import { plannedResources, resourcesOf } from './resources.ts'
import { pathOf, type Route, routeOf, topicOf } from './route.ts'
import { createEventParser } from './sse.ts'
import { ageOf, durationOf, piecesOf } from './text.ts'
import { flatten } from './tree.ts'
import { windowOf } from './window.ts'

describe('Events of the stream', () => {
  const text = ':\n\nevent: rows\ndata: {"set":[]}\n\nevent: hello\ndata: {}\n\n'
  const expected = [
    { name: 'rows', data: '{"set":[]}' },
    { name: 'hello', data: '{}' },
  ]
  for (const size of [1, 2, 7, 1_000])
    it(`are the same when they arrive in pieces of ${size} characters`, () => {
      const parse = createEventParser()
      const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g'))!
      assert.deepEqual(pieces.flatMap(parse), expected)
    })
})

describe('The address of a view', () => {
  const routes: readonly (readonly [string, Route])[] = [
    ['/', { view: 'fleet' }],
    ['/clusters/team-a/demo', { view: 'cluster', namespace: 'team-a', name: 'demo' }],
    ['/clusters/team-a/demo/runs/demo-vpc', { view: 'run', namespace: 'team-a', name: 'demo', run: 'demo-vpc' }],
  ]
  for (const [path, route] of routes)
    it(`${path} opens the view that it is made for`, () => {
      assert.deepEqual(routeOf(path), route)
      assert.equal(pathOf(route), path)
    })

  for (const path of ['/nothing', '/clusters', '/clusters/only'])
    it(`${path} opens the fleet`, () => assert.deepEqual(routeOf(path), { view: 'fleet' }))

  it('streams what the view shows', () => {
    assert.equal(topicOf(routes[0]![1]), '/api/stream')
    assert.equal(topicOf(routes[2]![1]), '/api/stream?cluster=team-a%2Fdemo&run=demo-vpc')
  })
})

const row = (name: string, more: Partial<FleetRow> = {}): FleetRow => ({
  id: `default/${name}`,
  namespace: 'default',
  name,
  state: 'ready',
  word: 'ready',
  fact: '',
  version: 'v1.35.0',
  region: 'eu-west-1',
  plans: 0,
  stops: 0,
  ...more,
})

describe('The list of clusters', () => {
  const rows = [
    row('a', { since: '2026-01-01T00:00:00Z' }),
    row('b', { state: 'working', since: '2026-01-03T00:00:00Z' }),
    row('c', { state: 'stalled', fact: 'no route to host', stops: 1 }),
    row('d', { plans: 1, region: 'us-east-1' }),
    row('e', { state: 'paused', stops: 1 }),
    row('f', { state: 'waiting', stops: 1 }),
  ]
  const names = (filter: Parameters<typeof selectRows>[1]) =>
    selectRows(rows, filter)
      .map(({ name }) => name)
      .join('')

  it('begins with what needs a person: what stopped, and plans to approve', () =>
    assert.equal(names({ text: '', order: 'attention' }), 'cdfbea'))
  it('is ordered by name or by the last change', () => {
    assert.equal(names({ text: '', order: 'name' }), 'abcdef')
    assert.equal(names({ text: '', order: 'recent' }).slice(0, 2), 'ba')
  })
  it('finds every word anywhere in a row', () => {
    assert.equal(names({ text: 'US-EAST d', order: 'name' }), 'd')
    assert.equal(names({ text: 'route', order: 'name' }), 'c')
    assert.equal(names({ text: 'route us-east', order: 'name' }), '')
  })
  it('counts the groups that it can be limited to', () => {
    assert.deepEqual(countGroups(rows), { attention: 3, progress: 1, ready: 1, other: 1 })
    assert.equal(names({ text: '', order: 'name', group: 'other' }), 'e')
  })
})

describe('The rows in the document', () => {
  for (const [count, top, height, first, last] of [
    [1_000, 0, 560, 0, 16],
    [1_000, 5_600, 560, 94, 116],
    [3, 0, 560, 0, 3],
    [3, 56_000, 560, 3, 3],
    [0, 0, 560, 0, 0],
  ] as const)
    it(`are ${first} to ${last} of ${count} at ${top}`, () =>
      assert.deepEqual(windowOf(count, 56, top, height), { first, last }))
})

describe('Resources of a run', () => {
  it('appear as planned, under way, done or failed, by the last line about each', () => {
    const lines = [
      '07:00:00 terraform plan',
      '07:00:00 aws_vpc.main: plan to create',
      '07:00:00 module.a["x y"].aws_subnet.s[0]: plan to replace',
      '07:00:00 aws_eip.e: plan to create',
      '07:00:00 aws_nat.n: plan to create',
      '07:00:01 aws_vpc.main: Creating...',
      '07:00:02 aws_vpc.main: Creation complete after 1s [id=vpc-1]',
      '07:00:02 module.a["x y"].aws_subnet.s[0]: Destroying... [id=1]',
      '07:00:03 module.a["x y"].aws_subnet.s[0]: Destruction complete after 1s',
      '07:00:03 module.a["x y"].aws_subnet.s[0]: Creating...',
      '07:00:03 aws_eip.e: Creation errored after 1s',
      '07:00:03 aws_eip.e: (local-exec): output',
    ]
    assert.deepEqual(
      resourcesOf(lines).map(({ address, action, step }) => [address, action, step]),
      [
        ['aws_vpc.main', 'create', 'done'],
        ['module.a["x y"].aws_subnet.s[0]', 'replace', 'working'],
        ['aws_eip.e', 'create', 'failed'],
        ['aws_nat.n', 'create', 'planned'],
      ],
    )
  })
})

describe('Resources of a run without a log', () => {
  const changes = [
    { address: 'a', action: 'create' },
    { address: 'b', action: 'delete' },
  ]
  const run = { name: 'x', owner: '', state: 'working', word: '', fact: '', address: 'b' } as const
  const plan = { add: 1, change: 0, destroy: 1, replace: 0, changes, more: 0 }
  for (const [phase, steps] of [
    ['Apply', ['planned', 'working']],
    ['Succeeded', ['done', 'done']],
  ] as const)
    it(`are those of its plan while it is ${phase}`, () =>
      assert.deepEqual(
        plannedResources({ ...run, phase, plan }).map(({ step }) => step),
        steps,
      ))
  it('are unknown without a plan', () => assert.deepEqual(plannedResources(run), []))
})

describe('Texts of the page', () => {
  for (const [ms, text] of [
    [-5, '0s'],
    [59_999, '59s'],
    [61_000, '1m1s'],
    [11 * 60_000 + 5_000, '11m'],
    [3_660_000, '1h1m'],
    [50 * 3_600_000, '2d'],
  ] as const)
    it(`show ${ms} ms as ${text}`, () => assert.equal(durationOf(ms), text))

  it('have no age without a time', () => assert.equal(ageOf(undefined, 0), ''))

  it('offer each command of a sentence to be copied', () => {
    const text =
      'remove the cause (capt explain CAPT_TF_FAILED); capt retry demo-vpc starts another attempt at once; capt logs demo-vpc shows the run'
    const pieces = piecesOf(text)
    assert.equal(pieces.map((piece) => piece.text).join(''), text)
    assert.deepEqual(
      pieces.filter(({ isCommand }) => isCommand).map((piece) => piece.text),
      ['capt explain CAPT_TF_FAILED', 'capt retry demo-vpc', 'capt logs demo-vpc'],
    )
  })
})

describe('The lines of a tree', () => {
  const branch = (name: string, ...children: Branch[]): Branch => ({
    name,
    state: 'ready',
    word: '',
    fact: '',
    children,
  })
  const tree = branch('a', branch('b', branch('c')), branch('d'))
  const lines = (closed: readonly string[]) =>
    flatten(tree, new Set(closed)).map(({ branch: { name }, depth, isOpen }) => `${name}${depth}${isOpen ?? ''}`)

  it('have their depth, and leave out what is folded away', () => {
    assert.deepEqual(lines([]), ['a0true', 'b1true', 'c2', 'd1'])
    assert.deepEqual(lines(['>a>b']), ['a0true', 'b1false', 'd1'])
    assert.deepEqual(lines(['>a']), ['a0false'])
  })
})
