// What people see when the thing at the other end is not the API server they meant.
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { after, describe, it } from 'node:test'
import { type AnyObject, ConfigMapKind, PodKind, SecretKind } from '#api'
import { createAuthority, issueCertificate } from '#lib'
import { type FaultyServerOptions, faultyServer } from '#testing'
import { connect } from '../connect.ts'
import type { KubeError } from '../port.ts'
import { fixedCredentials, type ServerAccess } from './access.ts'
import { toNetworkFault } from './network-faults.ts'

const key = { namespace: 'default', name: 'settings' }
const TOKEN = 'a-very-secret-token'
const cleanups: (() => unknown)[] = []
after(async () => {
  for (const clean of cleanups) await clean()
})

async function listening(onRequest: RequestListener): Promise<string> {
  const server = createServer(onRequest)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const answering = (status: number, contentType: string, body: string, headers = {}) =>
  listening((_request, response) => {
    response.writeHead(status, { 'content-type': contentType, ...headers })
    response.end(body)
  })

async function failure(over: Partial<ServerAccess>, ask: 'get' | 'list' | 'create-secret' = 'get'): Promise<KubeError> {
  const access: ServerAccess = {
    server: 'https://127.0.0.1:1',
    namespace: 'default',
    origin: 'kubeconfig test, context test',
    credentials: fixedCredentials({ token: TOKEN }),
    ...over,
  }
  const connection = connect(access, { requestTimeoutMs: 3_000, maxTries: 1 })
  try {
    const { objects } = connection
    if (ask === 'get') await objects.get(ConfigMapKind, key)
    if (ask === 'list') for await (const _ of objects.list(ConfigMapKind));
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: key, data: {} } as AnyObject
    if (ask === 'create-secret') await objects.create(SecretKind, secret)
  } catch (error) {
    const { message, hint, stack } = error as KubeError
    for (const text of [message, hint, stack, String((error as KubeError).cause)]) {
      assert.ok(!text?.includes(TOKEN), 'a secret reached a message')
    }
    return error as KubeError
  } finally {
    await connection.close()
  }
  return assert.fail('nothing was refused')
}

function assertSays(error: KubeError, reason: KubeError['reason'], message: RegExp, hint: RegExp): void {
  assert.equal(error.reason, reason, error.message)
  assert.match(error.message, message)
  assert.match(error.hint ?? '', hint)
  assert.match(error.code, /^CAPT_KUBE_[A-Z_]+$/)
}

describe('an answer that is not Kubernetes', () => {
  it('an HTML page is named as one, with the address and the field to correct', async () => {
    for (const status of [200, 404]) {
      const server = await answering(status, 'text/html', '<!doctype html><title>Welcome</title>')
      const error = await failure({ server })
      assertSays(error, 'BadAnswer', /127\.0\.0\.1:\d+ answered .*HTML/, /clusters\[\]\.cluster\.server/)
      assert.equal(error.at, server)
    }
  })

  it('JSON that ends early is called truncated, and nothing of it is quoted', async () => {
    const server = await answering(200, 'application/json', `{"kind":"Secret","data":{"password":"${TOKEN}`)
    assertSays(await failure({ server }), 'BadAnswer', /truncated or malformed JSON/, /server/)
    assertSays(await failure({ server }, 'list'), 'BadAnswer', /truncated or malformed JSON/, /server/)
  })

  it('JSON of something else is not an object', async () => {
    const server = await answering(200, 'application/json', '{"hello":"world"}')
    assertSays(await failure({ server }), 'BadAnswer', /not a Kubernetes object/, /server/)
  })

  it('a redirect is not followed: the token stays here', async () => {
    let asked = 0
    const elsewhere = await listening((_request, response) => {
      asked++
      response.end()
    })
    const server = await answering(302, 'text/plain', '', { location: elsewhere })
    assertSays(await failure({ server }), 'BadAnswer', /redirect/, /server/)
    assert.equal(asked, 0)
  })

  it('an error page of a proxy is a server error', async () => {
    const server = await answering(502, 'text/html', '<html>Bad Gateway</html>')
    assertSays(await failure({ server }), 'ServerError', /answered 502/, /repeat/)
  })

  it('what a server says about a Secret is not repeated', async () => {
    const causes = [{ reason: 'FieldValueInvalid', message: `Invalid value: "${TOKEN}"`, field: 'data[password]' }]
    const body = {
      kind: 'Status',
      status: 'Failure',
      reason: 'Invalid',
      message: TOKEN,
      details: { causes },
      code: 422,
    }
    const server = await answering(422, 'application/json', JSON.stringify(body))
    assertSays(await failure({ server }, 'create-secret'), 'Invalid', /data\[password\]: FieldValueInvalid/, /fields/)
  })

  it('a refusal names every field', async () => {
    const causes = [
      { reason: 'FieldValueRequired', message: 'Required value', field: 'spec.a' },
      { reason: 'FieldValueInvalid', message: 'Invalid value: "x"', field: 'spec.b[0]' },
    ]
    const body = { kind: 'Status', status: 'Failure', reason: 'Invalid', message: 'no', details: { causes }, code: 422 }
    const server = await answering(422, 'application/json', JSON.stringify(body))
    const message = /get ConfigMap default\/settings: spec\.a: Required value; spec\.b\[0\]: Invalid value: "x"/
    assertSays(await failure({ server }), 'Invalid', message, /fields/)
  })

  it('an eviction that a disruption budget refuses is reported at once', async () => {
    const causes = [{ reason: 'DisruptionBudget', message: 'needs 1' }]
    const body = { kind: 'Status', status: 'Failure', message: 'held', details: { causes }, code: 429 }
    let asked = 0
    const server = await listening((_request, response) => {
      asked++
      response.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    const access = { server, namespace: 'default', origin: 'test', credentials: fixedCredentials({ token: TOKEN }) }
    const connection = connect(access)
    cleanups.push(() => connection.close())
    const eviction: AnyObject = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: key }
    await assert.rejects(connection.objects.create(PodKind, eviction, { subresource: 'eviction' }), {
      reason: 'DisruptionBudget',
      code: 'CAPT_KUBE_DISRUPTION_BUDGET',
    })
    assert.equal(asked, 1)
  })

  it('a namespace that is going away is distinguished from a missing permission', async () => {
    const refusal = (causes: object[]) =>
      JSON.stringify({ kind: 'Status', reason: 'Forbidden', message: 'forbidden', details: { causes }, code: 403 })
    const causes = [{ reason: 'NamespaceTerminating', message: 'namespace x is being terminated' }]
    const dying = await answering(403, 'application/json', refusal(causes))
    assertSays(await failure({ server: dying }), 'NamespaceTerminating', /forbidden/, /being deleted/)
    const denied = await answering(403, 'application/json', refusal([]))
    assertSays(await failure({ server: denied }), 'Forbidden', /forbidden/, /Role/)
  })
})

describe('a connection that cannot be trusted or made', () => {
  async function overTls(options: Partial<FaultyServerOptions>, over: Partial<ServerAccess> = {}) {
    const server = await faultyServer({ kinds: [ConfigMapKind], ...options })
    cleanups.push(() => server.close())
    return failure(server.access(over))
  }

  it('a certificate of another host', async () => {
    const error = await overTls({ certificateFor: ['api.elsewhere.example'] })
    assertSays(error, 'Unreachable', /certificate of another host/, /tls-server-name/)
  })

  it('a name in tls-server-name makes that certificate right', async () => {
    const server = await faultyServer({ kinds: [ConfigMapKind], certificateFor: ['api.elsewhere.example'] })
    cleanups.push(() => server.close())
    const connection = connect(server.access({ serverName: 'api.elsewhere.example' }))
    cleanups.push(() => connection.close())
    assert.equal(await connection.objects.get(ConfigMapKind, key), undefined)
  })

  it('a certificate of an unknown authority', async () => {
    const { certificate: ca } = createAuthority({ name: 'somebody else' })
    assertSays(await overTls({}, { ca }), 'Unreachable', /unknown authority/, /certificate-authority-data/)
    assertSays(await overTls({}, { ca: undefined }), 'Unreachable', /unknown authority/, /certificate-authority-data/)
  })

  it('an unknown authority is accepted by those who said that they do not care', async () => {
    const server = await faultyServer({ kinds: [ConfigMapKind] })
    cleanups.push(() => server.close())
    const connection = connect(server.access({ ca: undefined, insecure: true }))
    cleanups.push(() => connection.close())
    assert.equal(await connection.objects.get(ConfigMapKind, key), undefined)
  })

  it('an expired certificate', async () => {
    const error = await overTls({ certificateNow: Date.now() - 30 * 86_400_000 })
    assertSays(error, 'Unreachable', /not valid now/, /clock/)
  })

  it('a client certificate and a key that do not belong together', async () => {
    const authority = createAuthority()
    const [a, b] = [1, 2].map(() => issueCertificate(authority, { names: ['somebody'], days: 1 }))
    const credentials = fixedCredentials({ certificate: a!.certificate, key: b!.key })
    assertSays(await overTls({}, { credentials }), 'Unreachable', /client certificate/, /client-key-data/)
  })

  it('a port that speaks HTTP without TLS', async () => {
    const server = (await answering(200, 'text/plain', 'hello')).replace('http:', 'https:')
    assertSays(await failure({ server }), 'Unreachable', /does not speak TLS/, /scheme and port/)
  })

  it('a port that speaks something else', async () => {
    const tcp = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.end('220 mail.example ESMTP\r\n')
    })
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
    cleanups.push(() => tcp.close())
    const server = `http://127.0.0.1:${(tcp.address() as AddressInfo).port}`
    assertSays(await failure({ server }), 'BadAnswer', /does not speak HTTP/, /scheme and port/)
  })

  it('nobody listens', async () => {
    const server = await faultyServer({ kinds: [] })
    await server.close()
    assertSays(await failure(server.access()), 'Unreachable', /refused the connection/, /start the API server/)
  })

  for (const [code, message, hint] of [
    ['ENOTFOUND', /cannot be resolved/, /clusters\[\]\.cluster\.server/],
    ['EAI_AGAIN', /cannot be resolved now/, /name server/],
    ['EHOSTUNREACH', /cannot be reached/, /network/],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /refused our client certificate/, /client-certificate-data/],
    ['ESOMETHINGNEW', /closed the connection \(ESOMETHINGNEW\)/, /alive/],
  ] as const) {
    it(`${code} becomes a sentence`, () => {
      const asked = { what: 'get x', address: 'https://example.test', origin: 'a test' }
      assertSays(toNetworkFault(Object.assign(new Error('x'), { code }), asked), 'Unreachable', message, hint)
    })
  }
})

describe('names that would walk elsewhere', () => {
  for (const name of ['..', '', 'a/b', 'a%2fb']) {
    it(`"${name}" never reaches the wire`, async () => {
      const connection = connect((await faultyServerOnce()).access())
      cleanups.push(() => connection.close())
      await assert.rejects(connection.objects.get(ConfigMapKind, { namespace: 'default', name }), { reason: 'Invalid' })
      await assert.rejects(connection.objects.delete(ConfigMapKind, { namespace: name, name: 'x' }), {
        reason: 'Invalid',
      })
      assert.equal((await faultyServerOnce()).requests.length, 0)
    })
  }

  let once: ReturnType<typeof faultyServer> | undefined
  function faultyServerOnce() {
    once ??= faultyServer({ kinds: [ConfigMapKind], tls: false }).then((server) => {
      cleanups.push(() => server.close())
      return server
    })
    return once
  }
})
