import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { APPLY, items, JSON_PATCH, type Loose, MERGE, type RawApi, rawApi, STRATEGIC, TABLE } from '#testing'
import { type Started, startInTempFolder, WIDGETS, widget, widgetCrd } from './started.ts'

const CONFIGS = '/api/v1/namespaces/default/configmaps'
const config = (name: string, over: object = {}) => ({ metadata: { name }, data: { a: '1' }, ...over })

describe('objects over HTTP', () => {
  let started: Started
  let api: RawApi
  before(async () => {
    started = await startInTempFolder({ crds: [widgetCrd()] })
    api = rawApi(started.server)
  })
  after(async () => {
    api.close()
    await started.end()
  })
  const refused = (answer: { code: number; body: Loose }, code: number, reason: string, message: RegExp) => {
    assert.deepEqual([answer.code, answer.body['reason']], [code, reason])
    assert.match(`${answer.body['message']}`, message)
    assert.equal(answer.body['kind'], 'Status')
  }

  it('never go all at once across namespaces, and the namespaces everything counts on never go', async () => {
    refused(await api.call('DELETE', '/api/v1/namespaces'), 405, 'MethodNotAllowed', /does not allow this method/)
    refused(await api.call('DELETE', '/api/v1/configmaps'), 405, 'MethodNotAllowed', /does not allow this method/)
    for (const name of ['default', 'kube-system', 'kube-public'])
      refused(await api.call('DELETE', `/api/v1/namespaces/${name}`), 403, 'Forbidden', /may not be deleted$/)
    assert.equal(
      (await api.call('GET', '/api/v1/namespaces/default')).body['metadata']?.['deletionTimestamp'],
      undefined,
    )
  })

  it('are not read from a body of unknown form', async () => {
    const answer = await api.call('POST', CONFIGS, 'hello', { type: 'text/plain' })
    refused(answer, 415, 'UnsupportedMediaType', /application\/json/)
    const doubled = 'metadata: {name: twice}\ndata:\n  a: b\n  a: c\n'
    const strict = await api.call('POST', `${CONFIGS}?fieldValidation=Strict`, doubled, { type: 'application/yaml' })
    refused(strict, 400, 'BadRequest', /duplicate field "data.a"/)
  })

  it('are created with an identity, and a taken name is refused in the words kubectl shows', async () => {
    const made = await api.call('POST', CONFIGS, config('first', { kind: 'ConfigMap', apiVersion: 'v1' }))
    assert.equal(made.code, 201)
    const metadata = made.body['metadata']
    assert.ok(metadata?.['uid'] && metadata['resourceVersion'] && metadata['creationTimestamp'])
    refused(
      await api.call('POST', CONFIGS, config('first')),
      409,
      'AlreadyExists',
      /^configmaps "first" already exists$/,
    )
    assert.deepEqual((await api.call('GET', `${CONFIGS}/first`)).body, made.body)
    const lost = await api.call('GET', '/apis/example.com/v1/namespaces/default/widgets/none')
    refused(lost, 404, 'NotFound', /^widgets.example.com "none" not found$/)
  })

  it('are refused when the body and the address disagree', async () => {
    refused(
      await api.call('POST', CONFIGS, config('x', { metadata: { name: 'x', namespace: 'other' } })),
      400,
      'BadRequest',
      /namespace of the provided object does not match/,
    )
    const renamed = await api.call('PUT', `${CONFIGS}/first`, config('second'))
    refused(renamed, 400, 'BadRequest', /name of the object \(second\) does not match the name on the URL \(first\)/)
    refused(await api.call('POST', CONFIGS, { ...config('x'), kind: 'Secret' }), 400, 'BadRequest', /Secret/)
    const homeless = await api.call('POST', '/api/v1/namespaces/nowhere/configmaps', config('x'))
    refused(homeless, 404, 'NotFound', /^namespaces "nowhere" not found$/)
    assert.equal((await api.call('POST', '/api/v1/configmaps', config('x'))).code, 405)
  })

  for (const [what, body, message] of [
    ['no name', { metadata: {} }, /metadata.name: Required value: name or generateName is required/],
    [
      'a bad name',
      { metadata: { name: 'Bad_Name' } },
      /metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123/,
    ],
    ['a bad label', { metadata: { name: 'x', labels: { k: 'a b' } } }, /metadata.labels: Invalid value: "a b"/],
    ['a bad key', { metadata: { name: 'x' }, data: { 'a b': 'c' } }, /data\[a b\]: Invalid value/],
    [
      'two controllers',
      {
        metadata: {
          name: 'x',
          ownerReferences: ['a', 'b'].map((name) => ({
            apiVersion: 'v1',
            kind: 'X',
            name,
            uid: name,
            controller: true,
          })),
        },
      },
      /Only one reference can have Controller set to true/,
    ],
  ] as const) {
    it(`are refused with ${what}`, async () => refused(await api.call('POST', CONFIGS, body), 422, 'Invalid', message))
  }

  it('lose unknown fields with a warning, or are refused for them, as the client asks', async () => {
    const odd = { metadata: { name: 'odd' }, dat: { a: 'b' } }
    const warned = await api.call('POST', `${CONFIGS}?dryRun=All`, odd)
    assert.equal(warned.code, 201)
    assert.equal(warned.headers['warning'], '299 - "unknown field \\"dat\\""')
    assert.equal(
      (await api.call('POST', `${CONFIGS}?dryRun=All&fieldValidation=Ignore`, odd)).headers['warning'],
      undefined,
    )
    const strict = await api.call('POST', `${CONFIGS}?fieldValidation=Strict`, odd)
    refused(strict, 400, 'BadRequest', /strict decoding error: unknown field "dat"$/)
    const doubled = await api.call(
      'POST',
      `${CONFIGS}?fieldValidation=Strict`,
      '{"metadata":{"name":"o"},"data":{"a":"1","a":"2"}}',
    )
    refused(doubled, 400, 'BadRequest', /duplicate field "data.a"/)
    assert.equal((await api.call('GET', `${CONFIGS}/odd`)).code, 404)
  })

  it('are not changed by a stale, unconditional-where-forbidden or foreign write', async () => {
    await api.call('POST', WIDGETS, widget('held'))
    refused(
      await api.call('PUT', `${WIDGETS}/held`, widget('held', { size: 2 })),
      422,
      'Invalid',
      /must be specified for an update/,
    )
    const stale = widget('held', { size: 2 }, { resourceVersion: '1' })
    refused(
      await api.call('PUT', `${WIDGETS}/held`, stale),
      409,
      'Conflict',
      /the object has been modified; please apply your changes/,
    )
    const foreign = { metadata: { uid: '00000000-0000-4000-8000-ffffffffffff' } }
    refused(
      await api.call('PATCH', `${WIDGETS}/held`, foreign, { type: MERGE }),
      409,
      'Conflict',
      /UID in precondition/,
    )
    refused(await api.call('PATCH', `${WIDGETS}/none`, {}, { type: MERGE }), 404, 'NotFound', /not found/)
  })

  it('keep version and generation when a write changes nothing', async () => {
    const made = await api.call('POST', WIDGETS, widget('still', { size: 1, colour: 'red' }))
    for (const [method, body, type] of [
      ['PUT', { ...widget('still'), metadata: made.body['metadata'] }, undefined],
      ['PATCH', { spec: { size: 1 } }, MERGE],
      ['PATCH', [{ op: 'replace', path: '/spec/size', value: 1 }], JSON_PATCH],
    ] as const) {
      const same = await api.call(method, `${WIDGETS}/still`, body, type ? { type } : {})
      assert.equal(same.code, 200)
      assert.equal(same.body['metadata']?.['resourceVersion'], made.body['metadata']?.['resourceVersion'])
    }
  })

  it('refuse a broken rule with its message, and nothing is stored', async () => {
    refused(
      await api.call('POST', WIDGETS, widget('big', { size: 11 })),
      422,
      'Invalid',
      /size must not be more than ten/,
    )
    refused(
      await api.call('POST', WIDGETS, widget('big', { size: 1, colour: 'pink' })),
      422,
      'Invalid',
      /Unsupported value: "pink": supported values: "red", "green"/,
    )
    assert.equal((await api.call('GET', `${WIDGETS}/big`)).code, 404)
  })

  it('have a scale that reads and writes one number', async () => {
    await api.call('POST', WIDGETS, widget('scaled', { size: 1, replicas: 2 }))
    const scale = await api.call('GET', `${WIDGETS}/scaled/scale`)
    assert.partialDeepStrictEqual(scale.body, { kind: 'Scale', spec: { replicas: 2 }, status: { replicas: 0 } })
    await api.call('PATCH', `${WIDGETS}/scaled/scale`, { spec: { replicas: 5 } }, { type: MERGE })
    const { body } = await api.call('GET', `${WIDGETS}/scaled`)
    assert.deepEqual([body['spec']?.['replicas'], body['metadata']?.['generation']], [5, 2])
    refused(
      await api.call('PATCH', `${WIDGETS}/scaled/scale`, { spec: { replicas: -1 } }, { type: MERGE }),
      422,
      'Invalid',
      /non-negative/,
    )
  })

  it('merge strategically when built in, and say so when they cannot', async () => {
    const path = '/apis/apps/v1/namespaces/default/deployments'
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'one', image: 'x:1' }] } }
    await api.call('POST', path, {
      metadata: { name: 'web' },
      spec: { selector: { matchLabels: { a: 'b' } }, template },
    })
    const patch = { spec: { template: { spec: { containers: [{ name: 'one', env: [{ name: 'A', value: '1' }] }] } } } }
    const { body } = await api.call('PATCH', `${path}/web`, patch, { type: STRATEGIC })
    assert.partialDeepStrictEqual(body['spec']?.['template'], {
      spec: { containers: [{ name: 'one', image: 'x:1', env: [{ name: 'A', value: '1' }] }] },
    })
    assert.equal((await api.call('PATCH', `${WIDGETS}/held`, {}, { type: STRATEGIC })).code, 415)
  })

  it('fold stringData into a Secret, keep its type and can be frozen', async () => {
    const path = '/api/v1/namespaces/default/secrets'
    const made = await api.call('POST', path, { metadata: { name: 's' }, stringData: { a: 'b' } })
    assert.deepEqual(
      [made.body['data'], made.body['stringData'], made.body['type']],
      [{ a: 'Yg==' }, undefined, 'Opaque'],
    )
    refused(
      await api.call('PATCH', `${path}/s`, { type: 'x' }, { type: MERGE }),
      422,
      'Invalid',
      /type: Invalid value: "x": field is immutable/,
    )
    refused(
      await api.call('POST', path, { metadata: { name: 't' }, data: { a: '!' } }),
      400,
      'BadRequest',
      /illegal base64 data at input byte 0/,
    )
    await api.call('PATCH', `${path}/s`, { immutable: true }, { type: MERGE })
    refused(
      await api.call('PATCH', `${path}/s`, { data: { a: 'Yw==' } }, { type: MERGE }),
      422,
      'Invalid',
      /immutable when `immutable` is set/,
    )
  })

  it('show an event under both addresses it has', async () => {
    const regarding = { kind: 'Widget', name: 'held', namespace: 'default' }
    const written = await api.call('POST', '/apis/events.k8s.io/v1/namespaces/default/events', {
      metadata: { name: 'e' },
      regarding,
      reason: 'Grew',
      note: 'it grew',
      type: 'Normal',
      action: 'Grow',
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'example.com/x',
      reportingInstance: 'x-0',
    })
    assert.equal(written.code, 201)
    const selector = encodeURIComponent('involvedObject.name=held,involvedObject.kind=Widget,reason=Grew')
    const { body } = await api.call('GET', `/api/v1/namespaces/default/events?fieldSelector=${selector}`)
    assert.equal(items(body).length, 1)
    assert.partialDeepStrictEqual(items(body)[0], {
      involvedObject: regarding,
      message: 'it grew',
      reportingComponent: 'example.com/x',
    })
  })

  it('are bound to a node once, and evicted', async () => {
    const path = '/api/v1/namespaces/default/pods'
    await api.call('POST', path, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'x' }] } })
    const bind = () => api.call('POST', `${path}/p/binding`, { target: { kind: 'Node', name: 'n1' } })
    assert.equal((await bind()).code, 201)
    const { body } = await api.call('GET', `${path}/p`)
    assert.equal(body['spec']?.['nodeName'], 'n1')
    assert.partialDeepStrictEqual(items(body['status']?.['conditions'])[0], { type: 'PodScheduled', status: 'True' })
    refused(await bind(), 409, 'Conflict', /already assigned to node "n1"/)
    assert.equal((await api.call('POST', `${path}/p/eviction`, { metadata: { name: 'p' } })).code, 201)
    assert.equal((await api.call('GET', `${path}/p`)).code, 404)
    refused(await api.call('POST', `${path}/p/eviction`, {}), 404, 'NotFound', /pods "p" not found/)
  })

  it('are evicted as far as their disruption budget allows', async () => {
    const [pods, budgets] = [
      '/api/v1/namespaces/default/pods',
      '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    ]
    const labels = { app: 'guarded' }
    for (const name of ['g1', 'g2']) {
      await api.call('POST', pods, { metadata: { name, labels }, spec: { containers: [{ name: 'c', image: 'x' }] } })
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
      await api.call('PATCH', `${pods}/${name}/status`, { status }, { type: MERGE })
    }
    const spec = { minAvailable: 1, selector: { matchLabels: labels } }
    await api.call('POST', budgets, { metadata: { name: 'guard' }, spec })
    const status = {
      observedGeneration: 1,
      expectedPods: 2,
      currentHealthy: 2,
      desiredHealthy: 1,
      disruptionsAllowed: 1,
    }
    await api.call('PATCH', `${budgets}/guard/status`, { status }, { type: MERGE })
    const evict = (name: string, deleteOptions = {}) =>
      api.call('POST', `${pods}/${name}/eviction`, { metadata: { name }, deleteOptions })
    const allowed = async () => (await api.call('GET', `${budgets}/guard`)).body['status']?.['disruptionsAllowed']
    refused(await evict('g1', { preconditions: { uid: 'another' } }), 409, 'Conflict', /UID in the precondition/)
    assert.equal((await evict('g1', { dryRun: ['All'] })).code, 201)
    assert.equal(await allowed(), 1)
    assert.equal((await evict('g1')).code, 201)
    assert.equal(await allowed(), 0)
    const held = await evict('g2')
    refused(held, 429, 'TooManyRequests', /^Cannot evict pod as it would violate the pod's disruption budget\.$/)
    assert.deepEqual(items(held.body['details']?.['causes']), [
      { reason: 'DisruptionBudget', message: 'The disruption budget guard needs 1 healthy pods and has 2 currently' },
    ])
    assert.equal((await api.call('GET', `${pods}/g2`)).code, 200)
    for (const path of [`${budgets}/guard`, `${pods}/g2`]) await api.call('DELETE', path)
  })

  it('are applied by several owners, who keep what they named and lose what they dropped', async () => {
    const apply = (manager: string, spec: object, force = false) =>
      api.call('PATCH', `${WIDGETS}/shared?fieldManager=${manager}&force=${force}`, widget('shared', spec), {
        type: APPLY,
      })
    const first = await apply('one', { size: 3, parts: [{ name: 'a', weight: 1 }] })
    assert.equal(first.code, 201)
    const again = await apply('one', { size: 3, parts: [{ name: 'a', weight: 1 }] })
    assert.equal(again.body['metadata']?.['resourceVersion'], first.body['metadata']?.['resourceVersion'])
    const both = await apply('two', { size: 3, replicas: 2, parts: [{ name: 'b', weight: 2 }] })
    assert.deepEqual(both.body['spec']?.['parts'], [
      { name: 'a', weight: 1 },
      { name: 'b', weight: 2 },
    ])
    const clash = await apply('two', { size: 4, replicas: 2, parts: [{ name: 'b', weight: 2 }] })
    refused(clash, 409, 'Conflict', /^Apply failed with 1 conflict: conflict with "one": .spec.size$/)
    assert.partialDeepStrictEqual(items(clash.body['details']?.['causes'])[0], {
      reason: 'FieldManagerConflict',
      field: '.spec.size',
    })
    const forced = await apply('two', { size: 4, parts: [{ name: 'b', weight: 2 }] }, true)
    assert.deepEqual(forced.body['spec'], {
      size: 4,
      colour: 'red',
      parts: [
        { name: 'a', weight: 1 },
        { name: 'b', weight: 2 },
      ],
    })
    const left = await apply('one', { size: 4 })
    assert.deepEqual(left.body['spec']?.['parts'], [{ name: 'b', weight: 2 }])
    await api.call('PATCH', `${WIDGETS}/shared?fieldManager=editor`, { spec: { size: 5 } }, { type: MERGE })
    refused(
      await apply('one', { size: 6 }),
      409,
      'Conflict',
      /conflict with "editor" using example.com\/v1: .spec.size/,
    )
  })

  it('refuse an apply that names what does not exist', async () => {
    const odd = widget('odd', { size: 1, foo: 2 })
    const answer = await api.call('PATCH', `${WIDGETS}/odd?fieldManager=x`, odd, { type: APPLY })
    assert.match(`${answer.body['message']}`, /.spec.foo: field not declared in schema/)
    const nobody = await api.call('PATCH', `${WIDGETS}/odd`, widget('odd'), { type: APPLY })
    refused(nobody, 422, 'Invalid', /fieldManager: Required value/)
  })

  it('are shown as a table with ages, wide columns and what a path finds', async () => {
    await api.call('POST', '/api/v1/namespaces', { metadata: { name: 'tables' } })
    const path = WIDGETS.replace('/default/', '/tables/')
    await api.call('POST', path, widget('t', { size: 7 }))
    await api.call(
      'PATCH',
      `${path}/t/status`,
      { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      { type: MERGE },
    )
    const { body } = await api.call('GET', path, undefined, { accept: TABLE })
    const columns = items(body['columnDefinitions'] as Loose)
    assert.deepEqual(
      columns.map((column) => column['name']),
      ['Name', 'Size', 'Ready', 'Colour', 'Age'],
    )
    assert.deepEqual(
      columns.map((column) => column['priority']),
      [0, 0, 0, 1, 0],
    )
    const cells = items(items(body['rows'] as Loose)[0]?.['cells'] as Loose) as unknown[]
    assert.deepEqual(cells.slice(0, 4), ['t', 7, 'True', 'red'])
    assert.match(`${cells[4]}`, /^\d+s$/)
  })

  it('answer what may be done, and by whom, for the holder of the token', async () => {
    const review = await api.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { spec: {} })
    assert.equal(review.body['status']?.['allowed'], true)
    const token = (value: string) =>
      api.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: value } })
    assert.equal((await token(started.server.token)).body['status']?.['authenticated'], true)
    const wrong = await token('wrong')
    assert.equal(wrong.body['status']?.['authenticated'], undefined)
  })

  it('are bounded: a body over three mebibytes is refused, and the connection stays usable', async () => {
    const huge = config('huge', { data: { a: 'x'.repeat(3 * 1024 * 1024) } })
    refused(await api.call('POST', CONFIGS, huge), 413, 'RequestEntityTooLarge', /limit is 3145728/)
    assert.equal((await api.call('GET', `${CONFIGS}/first`)).code, 200)
  })
})
