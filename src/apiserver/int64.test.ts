// Integers of 64 bits keep their digits on every way into the embedded API and out of it.
import assert from 'node:assert/strict'
import { request } from 'node:https'
import { after, before, describe, it } from 'node:test'
import { type AnyObject, ConfigMapKind } from '#api'
import { connect, readKubeconfigText } from '#kube'
import { APPLY, JSON_PATCH, MERGE, type RawApi, rawApi } from '#testing'
import { decodeProtobuf } from './http/protobuf.ts'
import { type Started, specCrd, startInTempFolder, widgetCrd } from './started.ts'

const MAX = '9223372036854775807'
const MIN = '-9223372036854775808'
const ODD = '9007199254740993'
const NUMBERS = '/apis/example.com/v1/namespaces/default/numbers'

const numberCrd = specCrd('Number', {
  'x-kubernetes-validations': [
    { rule: '!has(self.odd) || self.odd % 2 == 1', message: 'must be odd' },
    { rule: `!has(self.odd) || self.odd != ${ODD.slice(0, -1)}5`, message: 'must not end in 5' },
  ],
  properties: {
    value: { type: 'integer', format: 'int64' },
    odd: { type: 'integer', format: 'int64' },
    small: { type: 'integer', format: 'int64', maximum: 9007199254740991, multipleOf: 3 },
    set: { type: 'array', items: { type: 'integer', format: 'int64' }, 'x-kubernetes-list-type': 'set' },
  },
})

describe('an integer of 64 bits', () => {
  let started: Started
  let api: RawApi
  before(async () => {
    started = await startInTempFolder({ crds: [numberCrd, widgetCrd()] })
    api = rawApi(started.server)
  })
  after(async () => {
    api.close()
    await started.end()
  })
  const body = (name: string, spec: string) =>
    `{"apiVersion":"example.com/v1","kind":"Number","metadata":{"name":"${name}"},"spec":${spec}}`
  /** The bytes of the answer, because a parser could round what the server wrote. */
  const text = (path: string, accept = 'application/json') =>
    new Promise<string>((resolve, reject) => {
      const { url, token, caPem } = started.server
      const headers = { authorization: `Bearer ${token}`, accept }
      request(`${url}${path}`, { headers, ca: caPem, agent: false }, (answer) => {
        let all = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          all += chunk
        })
        answer.on('end', () => resolve(all))
      })
        .on('error', reject)
        .end()
    })
  const has = async (name: string, field: string, digits: string) =>
    assert.match(await text(`${NUMBERS}/${name}`), new RegExp(`"${field}":${digits}[,}]`))

  it('survives JSON, a restart, lists, watches and YAML answers', async () => {
    assert.equal((await api.call('POST', NUMBERS, body('json', `{"value":${MAX},"odd":${ODD}}`))).code, 201)
    assert.equal((await api.call('POST', NUMBERS, body('low', `{"value":${MIN}}`))).code, 201)
    await has('json', 'value', MAX)
    api.close()
    api = rawApi(await started.restart())
    await has('json', 'value', MAX)
    await has('json', 'odd', ODD)
    assert.match(await text(NUMBERS), new RegExp(`"value":${MAX}.*"value":${MIN}`))
    assert.match(await text(`${NUMBERS}?watch=1&timeoutSeconds=1`), new RegExp(`"value":${MAX}`))
    assert.match(await text(`${NUMBERS}/json`, 'application/yaml'), new RegExp(`value: ${MAX}\\n`))
  })

  it('survives YAML', async () => {
    const yaml = `apiVersion: example.com/v1\nkind: Number\nmetadata:\n  name: yaml\nspec:\n  value: ${MAX}\n  odd: 7\n`
    assert.equal((await api.call('POST', NUMBERS, yaml, { type: 'application/yaml' })).code, 201)
    await has('yaml', 'value', MAX)
    await has('yaml', 'odd', '7')
  })

  it('survives merge patch, JSON patch, update and server-side apply', async () => {
    await api.call('POST', NUMBERS, body('patch', '{"value":1}'))
    const at = `${NUMBERS}/patch`
    await api.call('PATCH', at, `{"spec":{"odd":${ODD}}}`, { type: MERGE })
    await has('patch', 'odd', ODD)
    await api.call(
      'PATCH',
      at,
      `[{"op":"test","path":"/spec/odd","value":${ODD}},{"op":"add","path":"/spec/value","value":${MIN}}]`,
      { type: JSON_PATCH },
    )
    await has('patch', 'value', MIN)
    await api.call('PATCH', at, '{"metadata":{"labels":{"a":"b"}}}', { type: MERGE })
    await has('patch', 'value', MIN)
    const apply = (spec: string) =>
      api.call('PATCH', `${at}?fieldManager=m&force=true`, body('patch', spec), { type: APPLY })
    assert.equal((await apply(`{"value":${MAX},"set":[${ODD},${MAX}]}`)).code, 200)
    await has('patch', 'value', MAX)
    await has('patch', 'set', `\\[${ODD},${MAX}\\]`)
    assert.equal((await apply(`{"value":${MAX},"set":[${MAX}]}`)).code, 200)
    await has('patch', 'set', `\\[${MAX}\\]`)
    const before = await text(at)
    assert.equal((await api.call('PUT', at, before)).code, 200)
    assert.equal(await text(at), before)
  })

  it('is compared exactly by ranges, multiples and rules', async () => {
    const refused = async (spec: string, message: RegExp) => {
      const answer = await api.call('POST', NUMBERS, body('no', spec))
      assert.equal(answer.code, 422)
      assert.match(`${answer.body['message']}`, message)
    }
    await refused(
      '{"small":9007199254740993}',
      /Invalid value: 9007199254740993: .*less than or equal to 9007199254740991/,
    )
    await refused('{"odd":9223372036854775806}', /must be odd/)
    await refused(`{"odd":${ODD.slice(0, -1)}5}`, /must not end in 5/)
    await refused(`{"set":[${ODD},${ODD}]}`, /Duplicate value/)
  })

  it('survives protobuf and a built-in kind', async () => {
    const varint = (value: bigint): number[] =>
      value < 128n ? [Number(value)] : [Number(value & 0x7fn) | 0x80, ...varint(value >> 7n)]
    const field = (number: number, bytes: Buffer) =>
      Buffer.concat([Buffer.from([(number << 3) | 2, ...varint(BigInt(bytes.length))]), bytes])
    const grace = (value: bigint) => Buffer.from([(4 << 3) | 0, ...varint(BigInt.asUintN(64, value))])
    const pod = (value: bigint) =>
      Buffer.concat([
        Buffer.from('k8s\0'),
        field(1, Buffer.concat([field(1, Buffer.from('v1')), field(2, Buffer.from('Pod'))])),
        field(2, field(2, grace(value))),
      ])
    for (const digits of [MAX, MIN, ODD])
      assert.equal(
        JSON.stringify((decodeProtobuf(pod(BigInt(digits))) as { spec: object }).spec),
        `{"terminationGracePeriodSeconds":${digits}}`,
      )
    const made = await api.call(
      'POST',
      '/api/v1/namespaces/default/pods',
      `{"metadata":{"name":"p"},"spec":{"terminationGracePeriodSeconds":${ODD},"containers":[{"name":"c","image":"i"}]}}`,
    )
    assert.equal(made.code, 201, JSON.stringify(made.body))
    assert.match(await text('/api/v1/namespaces/default/pods/p'), new RegExp(`"terminationGracePeriodSeconds":${ODD}`))
    const replicas = await api.call(
      'PATCH',
      '/apis/apps/v1/namespaces/default/deployments/d?fieldManager=m',
      `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":${ODD}}}`,
      { type: APPLY },
    )
    assert.match(
      `${replicas.body['message']}`,
      /cannot unmarshal number 9007199254740993 into Go struct field .* of type int32/,
    )
  })

  it('survives our own client', async () => {
    const access = await readKubeconfigText(started.server.kubeconfig(), { origin: 'test' })
    const { objects, close } = connect(access)
    const kind = { ...ConfigMapKind, group: 'example.com', version: 'v1', kind: 'Number', plural: 'numbers' }
    type Numbered = AnyObject & { spec: { value: number | bigint } }
    const read = await objects.get<Numbered>(kind, { namespace: 'default', name: 'json' })
    assert.equal(read?.spec.value, BigInt(MAX))
    await objects.replace(kind, { ...read!, metadata: { ...read!.metadata, labels: { a: 'b' } } } as never)
    await has('json', 'value', MAX)
    await objects.patch(kind, { namespace: 'default', name: 'json' }, {
      type: 'merge',
      body: { spec: { value: BigInt(ODD) } },
    } as never)
    await has('json', 'value', ODD)
    await close()
  })
})
