// One request never keeps the others waiting: what is too large, too deep or too expensive is refused, and what takes long
// is divided.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { APPLY, items, JSON_PATCH, type Loose, MERGE, type RawAnswer, type RawApi, rawApi, STRATEGIC } from '#testing'
import { type Started, specCrd, startInTempFolder } from './started.ts'

const CONFIGS = '/api/v1/namespaces/default/configmaps'
const LOOSE = '/apis/example.com/v1/namespaces/default/looses'
const MANY = 1000

const looseCrd = specCrd('Loose', {
  'x-kubernetes-preserve-unknown-fields': true,
  'x-kubernetes-validations': [
    {
      rule: '!has(self.numbers) || self.numbers.all(a, self.numbers.all(b, self.numbers.all(c, a + b + c >= 0)))',
    },
  ],
  properties: {
    numbers: { type: 'array', items: { type: 'integer' } },
    keyed: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['n'],
      items: {
        type: 'object',
        required: ['n'],
        properties: { n: { type: 'integer' }, v: { type: 'integer' } },
      },
    },
  },
})
const loose = (name: string, spec: object) => ({
  apiVersion: 'example.com/v1',
  kind: 'Loose',
  metadata: { name },
  spec,
})
const nested = (depth: number, open = '{"a":', close = '}') => `${open.repeat(depth)}1${close.repeat(depth)}`

describe('a request that asks too much', () => {
  let started: Started
  let api: RawApi
  before(async () => {
    started = await startInTempFolder({ crds: [looseCrd] })
    api = rawApi(started.server)
    await api.call('POST', LOOSE, loose('one', { seed: 'x'.repeat(100) }))
    await api.call('POST', CONFIGS, { metadata: { name: 'one' }, data: { a: 'b' } })
  })
  after(async () => {
    api.close()
    await started.end()
  })
  /** Refused, within a time that a blocked server would not keep, and the server answers the next request. */
  const refused = async (answer: Promise<RawAnswer>, code: number, message: RegExp) => {
    const began = performance.now()
    const { code: got, body } = await answer
    assert.deepEqual([got, body['kind']], [code, 'Status'], JSON.stringify(body).slice(0, 300))
    assert.match(`${body['message']} ${JSON.stringify(body['details'] ?? {})}`, message)
    assert.ok(performance.now() - began < 15_000, `${performance.now() - began} ms`)
    assert.equal((await api.call('GET', `${CONFIGS}/one`)).code, 200)
  }

  it('is refused when a JSON patch copies a value into itself again and again', async () => {
    const copies = Array.from({ length: 20 }, (_, i) => ({ op: 'copy', from: '/spec', path: `/spec/k${i}` }))
    await refused(
      api.call('PATCH', `${LOOSE}/one`, copies, { type: JSON_PATCH }),
      422,
      /accumulated size increase of copy is \d+, exceeding the limit 3145728/,
    )
    const roots = Array.from({ length: 30 }, (_, i) => ({ op: 'copy', from: '', path: `/spec/k${i}` }))
    await refused(
      api.call('PATCH', `${LOOSE}/one`, roots, { type: JSON_PATCH }),
      422,
      /accumulated size increase of copy/,
    )
    const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'Loose' }))
    await refused(
      api.call('PATCH', `${LOOSE}/one`, many, { type: JSON_PATCH }),
      413,
      /maximum operations in a JSON patch is 10000/,
    )
  })

  it('is refused when its rules cost too much', async () => {
    const numbers = Array.from({ length: 2000 }, (_, i) => i)
    await refused(api.call('POST', LOOSE, loose('loop', { numbers })), 422, /call cost exceeds limit for rule/)
  })

  it('is answered with 413 when its body is too large, however large', async () => {
    for (const size of [4, 60])
      await refused(
        api.call('POST', CONFIGS, `{"data":{"a":"${'x'.repeat(size * 1024 * 1024)}"}}`),
        413,
        /Request entity too large: limit is 3145728/,
      )
    const yaml = `a: ${'x'.repeat(1024 * 1024)}`
    await refused(api.call('POST', CONFIGS, yaml, { type: 'application/yaml' }), 413, /limit is 1048576/)
  })

  it('is refused when it is nested too deeply, in every form and also step by step', async () => {
    const deep = (depth: number) =>
      `{"apiVersion":"example.com/v1","kind":"Loose","metadata":{"name":"deep"},"spec":${nested(depth)}}`
    for (const depth of [201, 5000, 200_000])
      await refused(api.call('POST', LOOSE, deep(depth)), 400, /nested deeper than 200 levels/)
    await refused(
      api.call('POST', LOOSE, `{"spec":{"x":9223372036854775807,"a":${nested(5000)}}}`),
      400,
      /nested deeper|call stack/,
    )
    for (const type of [MERGE, APPLY])
      await refused(api.call('PATCH', `${LOOSE}/one?fieldManager=m`, deep(5000), { type }), 400, /nested deeper/)
    await refused(api.call('PATCH', `${CONFIGS}/one`, deep(5000), { type: STRATEGIC }), 400, /nested deeper/)
    const list = nested(5000, '[', ']')
    await refused(
      api.call('PATCH', `${LOOSE}/one`, `[{"op":"add","path":"/spec/x","value":${list}}]`, { type: JSON_PATCH }),
      400,
      /nested deeper/,
    )
    await refused(
      api.call('POST', LOOSE, `kind: Loose\nspec: ${nested(5000, '{a: ')}`, { type: 'application/yaml' }),
      400,
      /nested deeper|call stack/,
    )
    assert.equal((await api.call('POST', LOOSE, loose('steps', JSON.parse(nested(150)) as object))).code, 201)
    const below = `/spec${'/a'.repeat(149)}`
    const step = `[{"op":"replace","path":"${below}","value":${nested(150)}}]`
    await refused(api.call('PATCH', `${LOOSE}/steps`, step, { type: JSON_PATCH }), 422, /nested deeper/)
  })

  it('is answered with 400 when a number is out of range', async () => {
    await refused(
      api.call(
        'POST',
        LOOSE,
        '{"apiVersion":"example.com/v1","kind":"Loose","metadata":{"name":"n"},"spec":{"n":1e400}}',
      ),
      400,
      /number is out of range/,
    )
  })

  it('merges long lists by key in a time that grows with their length alone', async () => {
    const keyed = (from: number) => Array.from({ length: 6000 }, (_, i) => ({ n: i + from, v: 1 }))
    const put = (from: number) =>
      api.call('PATCH', `${LOOSE}/long?fieldManager=m&force=true`, loose('long', { keyed: keyed(from) }), {
        type: APPLY,
      })
    const began = performance.now()
    assert.deepEqual([(await put(0)).code, (await put(3000)).code], [201, 200])
    assert.ok(performance.now() - began < 60_000, `${performance.now() - began} ms`)
  })

  it('compares long lists of finalizers and owners in a time that grows with their length alone', async () => {
    const finalizers = Array.from({ length: 40_000 }, (_, i) => `example.com/${i}`)
    const ownerReferences = Array.from({ length: 8000 }, (_, i) => ({
      apiVersion: 'example.com/v1',
      kind: 'Loose',
      name: `n-${i}`,
      uid: `uid-${i}`,
    }))
    const began = performance.now()
    const body = { ...loose('held', {}), metadata: { name: 'held', finalizers, ownerReferences } }
    assert.equal((await api.call('POST', LOOSE, body)).code, 201)
    const patched = await api.call('PATCH', `${LOOSE}/held`, { metadata: { labels: { a: 'b' } } }, { type: MERGE })
    assert.equal(patched.code, 200)
    assert.ok(performance.now() - began < 30_000, `${performance.now() - began} ms`)
  })

  const fill = async (namespace: string, finalizers: string[] = []) => {
    await api.call('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    for (let i = 0; i < MANY; i += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, k) =>
          api.call('POST', `/api/v1/namespaces/${namespace}/configmaps`, {
            metadata: { name: `c-${i + k}`, finalizers },
          }),
        ),
      )
  }
  /** CPU time per small request answered while the work goes on, which neither a fast nor a busy machine changes. */
  const cpuMsPerAnswerUntil = async (isDone: () => boolean | Promise<boolean>): Promise<number> => {
    const began = process.cpuUsage()
    let answered = 0
    while (!(await isDone())) {
      assert.equal((await api.call('GET', `${CONFIGS}/one`)).code, 200)
      answered += 1
      assert.ok(answered < 100_000)
    }
    const { user, system } = process.cpuUsage(began)
    return (user + system) / 1000 / answered
  }
  /** Measured: 31 ms; 250 ms when the deletion is not divided. */
  const isDivided = (cpuMs: number) => assert.ok(cpuMs <= 100, `${Math.round(cpuMs)} ms of CPU time per answer`)

  it('deletes a collection while others are answered', async () => {
    await fill('many')
    let done = false
    const removing = api.call('DELETE', '/api/v1/namespaces/many/configmaps').finally(() => {
      done = true
    })
    isDivided(await cpuMsPerAnswerUntil(() => done))
    assert.equal(items((await removing).body).length, MANY)
    assert.equal(items((await api.call('GET', '/api/v1/namespaces/many/configmaps')).body).length, 0)
  })

  it('deletes a namespace while others are answered, and reports what is held', async () => {
    await fill('full')
    await api.call('POST', '/api/v1/namespaces/full/configmaps', { metadata: { name: 'held', finalizers: ['a.b/c'] } })
    await api.call('DELETE', '/api/v1/namespaces/full')
    const read = async () => (await api.call('GET', '/api/v1/namespaces/full')).body
    const conditions = (body: Loose) => JSON.stringify(body['status']?.['conditions'] ?? [])
    isDivided(await cpuMsPerAnswerUntil(async () => conditions(await read()).includes('has 1 resource instances')))
    assert.match(conditions(await read()), /a\.b\/c in 1 resource instances/)
    await api.call(
      'PATCH',
      '/api/v1/namespaces/full/configmaps/held',
      { metadata: { finalizers: null } },
      { type: MERGE },
    )
    await cpuMsPerAnswerUntil(async () => (await api.call('GET', '/api/v1/namespaces/full')).code === 404)
  })
})
