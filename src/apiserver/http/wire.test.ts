import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseBody } from './body.ts'
import { duplicateFields } from './duplicates.ts'
import { negotiate } from './negotiate.ts'
import { decodeProtobuf } from './protobuf.ts'
import { parseTarget } from './target.ts'

describe('a path', () => {
  const parse = (path: string) => parseTarget(path.split('/').filter((part) => part !== ''))
  it('names a resource in a namespace, in all namespaces and without one', () => {
    assert.partialDeepStrictEqual(parse('/api/v1/namespaces/a/secrets/b'), {
      group: '',
      version: 'v1',
      namespace: 'a',
      resource: 'secrets',
      name: 'b',
    })
    assert.partialDeepStrictEqual(parse('/apis/apps/v1/deployments'), { group: 'apps', resource: 'deployments' })
    assert.equal(parse('/apis/apps/v1/deployments')?.namespace, undefined)
    assert.partialDeepStrictEqual(parse('/apis/apps/v1/namespaces/a/deployments/b/status'), {
      name: 'b',
      subresource: 'status',
    })
  })
  it('distinguishes a namespace and its subresources from what lives in it', () => {
    assert.partialDeepStrictEqual(parse('/api/v1/namespaces/a'), { resource: 'namespaces', name: 'a' })
    assert.partialDeepStrictEqual(parse('/api/v1/namespaces/a/finalize'), {
      resource: 'namespaces',
      subresource: 'finalize',
    })
    assert.partialDeepStrictEqual(parse('/api/v1/namespaces/a/pods'), { resource: 'pods', namespace: 'a' })
  })
  it('means nothing when it is discovery', () => {
    for (const path of ['/', '/api', '/api/v1', '/apis/apps/v1', '/openapi/v3']) assert.equal(parse(path), undefined)
  })
})

describe('an accept header', () => {
  for (const [accept, form] of [
    [undefined, { is: 'json' }],
    ['*/*', { is: 'json' }],
    ['application/vnd.kubernetes.protobuf, application/json', { is: 'json' }],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', { is: 'table', version: 'v1' }],
    ['application/json;q=0.1,application/json;as=Table;v=v1;g=meta.k8s.io', { is: 'table', version: 'v1' }],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io', { is: 'metadata', list: true, version: 'v1' }],
    ['application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList', { is: 'discovery', version: 'v2' }],
    ['application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json', { is: 'json' }],
    ['text/html', undefined],
  ] as const) {
    it(`${accept} gives ${JSON.stringify(form)}`, () => assert.deepEqual(negotiate(accept), form))
  }
})

describe('a body', () => {
  it('is read as JSON or YAML, and a damaged one is refused', () => {
    assert.deepEqual(parseBody(Buffer.from('{"a":1}'), 'application/json').value, { a: 1 })
    assert.deepEqual(parseBody(Buffer.from('a: 1\nb: [x]'), 'application/apply-patch+yaml').value, { a: 1, b: ['x'] })
    assert.throws(() => parseBody(Buffer.from('{"a":'), 'application/json'), /as JSON/)
    assert.throws(() => parseBody(Buffer.from('a: [1'), 'application/yaml'), /as YAML/)
  })
  it('reports which fields stood twice, wherever they are', () => {
    assert.deepEqual(duplicateFields('{"a":1,"b":{"c":[{"d":1,"d":2}],"c":3},"a":"x,\\"a\\":"}'), [
      'b.c[0].d',
      'b.c',
      'a',
    ])
  })
  it('never calls a field doubled that stands once', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) =>
        assert.deepEqual(duplicateFields(JSON.stringify(value)), []),
      ),
      { numRuns: 200 },
    )
  })
})

describe('a protobuf body', () => {
  const field = (number: number, payload: string | Buffer) => {
    const bytes = Buffer.from(payload)
    return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(bytes.length), bytes])
  }
  const number = (index: number, value: number) => Buffer.concat([Buffer.from([index << 3]), varint(value)])
  const varint = (value: number) => {
    const out: number[] = []
    for (let rest = value; ; rest = Math.floor(rest / 128)) {
      if (rest < 128) return Buffer.from([...out, rest])
      out.push((rest % 128) | 0x80)
    }
  }
  const envelope = (apiVersion: string, kind: string, raw: Buffer) =>
    Buffer.concat([
      Buffer.from('k8s\0'),
      field(1, Buffer.concat([field(1, apiVersion), field(2, kind)])),
      field(2, raw),
    ])
  const entry = (key: string, value: string | Buffer) => Buffer.concat([field(1, key), field(2, value)])

  it('of a Secret keeps names, labels and bytes', () => {
    const metadata = Buffer.concat([field(1, 's'), field(2, ''), field(3, 'default'), field(11, entry('a', 'b'))])
    const secret = Buffer.concat([
      field(1, metadata),
      field(2, entry('key', Buffer.from([0, 255]))),
      field(3, 'Opaque'),
    ])
    assert.deepEqual(decodeProtobuf(envelope('v1', 'Secret', secret)), {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'default', labels: { a: 'b' } },
      data: { key: 'AP8=' },
      type: 'Opaque',
    })
  })
  it('puts what is nested on the wire and flat in JSON where it belongs', () => {
    const secretSource = field(1, 'creds')
    const volume = Buffer.concat([field(1, 'v'), field(2, field(6, secretSource))])
    const port = Buffer.concat([number(3, 8080), field(4, 'TCP')])
    const container = Buffer.concat([field(1, 'c'), field(2, 'img'), field(6, port)])
    const pod = field(2, Buffer.concat([field(1, volume), field(2, container)]))
    assert.deepEqual(decodeProtobuf(envelope('v1', 'Pod', pod)), {
      apiVersion: 'v1',
      kind: 'Pod',
      spec: {
        volumes: [{ name: 'v', secret: { secretName: 'creds' } }],
        containers: [{ name: 'c', image: 'img', ports: [{ containerPort: 8080, protocol: 'TCP' }] }],
      },
    })
  })
  it('of a Lease keeps microseconds, and of a quantity its text', () => {
    const micro = Buffer.concat([number(1, 1_700_000_000), number(2, 123_456_000)])
    const lease = field(2, Buffer.concat([field(1, 'me'), number(2, 15), field(4, micro)]))
    assert.partialDeepStrictEqual(decodeProtobuf(envelope('coordination.k8s.io/v1', 'Lease', lease)), {
      spec: { holderIdentity: 'me', leaseDurationSeconds: 15, renewTime: '2023-11-14T22:13:20.123456Z' },
    })
  })
  it('that is damaged or of an unknown kind is refused, whatever its bytes', () => {
    assert.throws(() => decodeProtobuf(envelope('example.com/v1', 'Widget', Buffer.alloc(0))), /send JSON/)
    assert.throws(() => decodeProtobuf(Buffer.from('nope')), /protobuf format/)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          decodeProtobuf(envelope('v1', 'Pod', Buffer.from(bytes)))
        } catch (error) {
          assert.equal((error as Error).name, 'StatusError')
        }
      }),
      { numRuns: 300 },
    )
  })
})
