import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type CaptError, createAuthority, isCaptError, issueCertificate, toKubeconfig } from '#lib'
import { manualClock } from '#testing'
import { findAccess, inClusterAccess, loadKubeconfig, readKubeconfigText } from './kubeconfig.ts'

const authority = createAuthority()
const leaf = issueCertificate(authority, { names: ['somebody'], days: 1 })
const base64 = (text: string) => Buffer.from(text).toString('base64')
let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'capt-kubeconfig-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

interface Parts {
  cluster?: object
  user?: object | null
  context?: object
  root?: object
}

function config({ cluster = {}, user = { token: 'secret-token' }, context = {}, root = {} }: Parts = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'demo',
    clusters: [{ name: 'demo', cluster: { server: 'https://example.test:6443', ...cluster } }],
    users: user === null ? [] : [{ name: 'me', user }],
    contexts: [{ name: 'demo', context: { cluster: 'demo', user: 'me', ...context } }],
    ...root,
  })
}

let serial = 0
function file(text: string, name = `config-${serial++}`): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

async function fault(work: Promise<unknown>): Promise<CaptError> {
  try {
    await work
  } catch (error) {
    assert.ok(isCaptError(error), String(error))
    assert.ok(!JSON.stringify([error.message, error.hint, error.at]).includes('secret-token'))
    assert.ok(error.hint, 'every error says what to do')
    return error
  }
  return assert.fail('nothing was refused')
}

describe('a kubeconfig', () => {
  it('is read from JSON and from YAML alike', async () => {
    const yaml = [
      'apiVersion: v1',
      'kind: Config',
      'current-context: demo',
      'clusters: [{name: demo, cluster: {server: "https://example.test:6443/prefix/"}}]',
      'users: [{name: me, user: {token: secret-token}}]',
      'contexts: [{name: demo, context: {cluster: demo, user: me, namespace: team}}]',
    ].join('\n')
    const access = await loadKubeconfig({ path: file(yaml) })
    assert.equal(access.server, 'https://example.test:6443/prefix')
    assert.equal(access.namespace, 'team')
    assert.deepEqual(await access.credentials.current(), { token: 'secret-token' })
    assert.equal((await loadKubeconfig({ path: file(config()) })).namespace, 'default')
  })

  it('is put together from several files: the first to name a thing wins, missing files are skipped', async () => {
    const first = file(
      JSON.stringify({ 'current-context': 'demo', users: [{ name: 'me', user: { token: 'from-first' } }] }),
    )
    const second = file(config({ root: { 'current-context': 'other' } }))
    const env = { KUBECONFIG: [first, join(folder, 'missing'), second].join(':') }
    const access = await loadKubeconfig({ env })
    assert.equal(access.server, 'https://example.test:6443')
    assert.deepEqual(await access.credentials.current(), { token: 'from-first' })
    assert.match(access.origin, /context demo$/)
  })

  it('is found in the home folder when nobody says otherwise', async () => {
    mkdirSync(join(folder, '.kube'))
    writeFileSync(join(folder, '.kube', 'config'), config())
    assert.equal((await loadKubeconfig({ env: { HOME: folder } })).server, 'https://example.test:6443')
  })

  it('finds certificate files beside itself', async () => {
    mkdirSync(join(folder, 'pki'))
    for (const [name, text] of [
      ['ca', authority.certificate],
      ['me.crt', leaf.certificate],
      ['me.key', leaf.key],
    ] as const)
      writeFileSync(join(folder, 'pki', name), text)
    const cluster = { 'certificate-authority': 'pki/ca', 'tls-server-name': 'api.test' }
    const user = { 'client-certificate': 'pki/me.crt', 'client-key': 'pki/me.key', as: 'root', 'as-groups': ['a', 'b'] }
    const access = await loadKubeconfig({ path: file(config({ cluster, user })) })
    assert.equal(access.ca, authority.certificate)
    assert.equal(access.serverName, 'api.test')
    assert.deepEqual(await access.credentials.current(), {
      certificate: leaf.certificate,
      key: leaf.key,
      headers: { 'impersonate-user': 'root', 'impersonate-group': ['a', 'b'] },
    })
  })

  it('reads a token file again after a minute, and at once when the token was refused', async () => {
    const clock = manualClock()
    const tokenFile = file('one\n', 'token')
    const { credentials } = await loadKubeconfig({ path: file(config({ user: { tokenFile } })), clock })
    assert.deepEqual(await credentials.current(), { token: 'one' })
    writeFileSync(tokenFile, 'two\n')
    assert.deepEqual(await credentials.current(), { token: 'one' })
    await clock.advance(61_000)
    assert.deepEqual(await credentials.current(), { token: 'two' })
    writeFileSync(tokenFile, 'three')
    assert.equal(await credentials.renew({ token: 'two' }), true)
    assert.deepEqual(await credentials.current(), { token: 'three' })
    assert.equal(await credentials.renew({ token: 'two' }), true, 'for everybody who was refused with the old one')
    assert.equal(await credentials.renew({ token: 'three' }), false)
    rmSync(tokenFile)
    await clock.advance(61_000)
    assert.deepEqual(await credentials.current(), { token: 'three' }, 'a file being replaced is not the end')
  })

  it('is read again when its token was refused, and keeps what it had when it cannot be read', async () => {
    const path = file(config({ user: { token: 'one' } }))
    const { credentials } = await loadKubeconfig({ path })
    assert.equal(await credentials.renew({ token: 'one' }), false, 'nothing has changed')
    writeFileSync(path, config({ user: { token: 'two' } }))
    assert.deepEqual(await credentials.current(), { token: 'one' })
    assert.equal(await credentials.renew({ token: 'one' }), true)
    assert.deepEqual(await credentials.current(), { token: 'two' })
    writeFileSync(path, '{')
    assert.equal(await credentials.renew({ token: 'two' }), false)
    assert.deepEqual(await credentials.current(), { token: 'two' })
  })

  const pem = { 'client-certificate-data': base64(leaf.certificate) }
  for (const [what, text, code, message] of [
    ['that is not there', undefined, 'NOT_FOUND', /There is no kubeconfig at/],
    ['that is neither YAML nor JSON', 'a: [secret-token', 'UNREADABLE', /neither YAML nor JSON/],
    ['that is a list', '[]', 'INVALID', /not a map/],
    ['that is another manifest', 'kind: Secret', 'INVALID', /kind: is not Config/],
    ['without current context', config({ root: { 'current-context': '' } }), 'INVALID', /^current-context: is missing/],
    ['with an unknown context', config({ root: { 'current-context': 'x' } }), 'INVALID', /there is no context x/],
    ['whose clusters are a map', config({ root: { clusters: {} } }), 'INVALID', /^clusters: is not a list/],
    ['with a nameless user', config({ root: { users: [{}] } }), 'INVALID', /^users\[0\]\.name: is missing/],
    ['with an unknown cluster', config({ context: { cluster: 'x' } }), 'INVALID', /contexts\[demo\]\.context\.cluster/],
    ['without a cluster', config({ context: { cluster: undefined } }), 'INVALID', /cluster: is missing/],
    ['with an unknown user', config({ user: null }), 'INVALID', /contexts\[demo\]\.context\.user: there is no user me/],
    [
      'without server',
      config({ cluster: { server: undefined } }),
      'INVALID',
      /clusters\[demo\]\.cluster\.server: is missing/,
    ],
    ['with a bare host', config({ cluster: { server: 'example.test' } }), 'INVALID', /not an https or http address/],
    [
      'with a password in the address',
      config({ cluster: { server: 'https://a:secret-token@b' } }),
      'INVALID',
      /password/,
    ],
    ['with a proxy', config({ cluster: { 'proxy-url': 'http://p' } }), 'UNSUPPORTED', /proxy-url: is not supported/],
    [
      'with an authority that is not base64 of PEM',
      config({ cluster: { 'certificate-authority-data': 'AAAA' } }),
      'INVALID',
      /clusters\[demo\]\.cluster\.certificate-authority-data: is not PEM/,
    ],
    [
      'with an authority that is no certificate',
      config({ cluster: { 'certificate-authority-data': base64('-----BEGIN CERTIFICATE-----\nAAAA\n') } }),
      'INVALID',
      /is not a certificate/,
    ],
    [
      'with an authority file that is not there',
      config({ cluster: { 'certificate-authority': 'nowhere' } }),
      'UNREADABLE',
      /certificate-authority: .*cannot be read \(ENOENT\)/,
    ],
    [
      'that trusts an authority and everybody',
      config({
        cluster: { 'certificate-authority-data': base64(authority.certificate), 'insecure-skip-tls-verify': true },
      }),
      'INVALID',
      /both set/,
    ],
    [
      'whose flag is a text',
      config({ cluster: { 'insecure-skip-tls-verify': 'yes' } }),
      'INVALID',
      /neither true nor false/,
    ],
    [
      'with a certificate without key',
      config({ user: pem }),
      'INVALID',
      /users\[me\]\.user\.client-key-data: is missing/,
    ],
    [
      'with a key of another certificate',
      config({ user: { ...pem, 'client-key-data': base64(authority.key) } }),
      'INVALID',
      /does not fit/,
    ],
    ['with a numeric token', config({ user: { token: 7 } }), 'INVALID', /users\[me\]\.user\.token: is not a text/],
    ['with a password', config({ user: { username: 'a', password: 'secret-token' } }), 'UNSUPPORTED', /username/],
    ['with an auth provider', config({ user: { 'auth-provider': { name: 'gcp' } } }), 'UNSUPPORTED', /auth-provider/],
    [
      'with both a token and a plugin',
      config({ user: { token: 'secret-token', exec: { command: 'x' } } }),
      'INVALID',
      /exec and token are both set/,
    ],
    [
      'with a plugin of an old version',
      config({ user: { exec: { command: 'x', apiVersion: 'client.authentication.k8s.io/v1alpha1' } } }),
      'INVALID',
      /users\[me\]\.user\.exec\.apiVersion/,
    ],
    [
      'with groups to impersonate and no user',
      config({ user: { 'as-groups': ['a'] } }),
      'INVALID',
      /users\[me\]\.user\.as: is missing/,
    ],
  ] as const) {
    it(`${what} is refused by name of file and field`, async () => {
      const path = text === undefined ? join(folder, 'absent') : file(text)
      const error = await fault(loadKubeconfig({ path }))
      assert.equal(error.code, `CAPT_KUBECONFIG_${code}`)
      assert.match(error.message, message)
      if (code !== 'NOT_FOUND') assert.ok(error.at?.startsWith(path), error.at)
    })
  }
})

describe('a kubeconfig from a Secret', () => {
  const origin = 'Secret default/demo-kubeconfig'

  it('works with what it carries', async () => {
    const access = await readKubeconfigText(config(), { origin })
    assert.deepEqual(await access.credentials.current(), { token: 'secret-token' })
    assert.equal(access.origin, `${origin}, context demo`)
  })

  for (const [field, parts] of [
    ['users[me].user.exec', { user: { exec: { command: 'touch', apiVersion: 'client.authentication.k8s.io/v1' } } }],
    ['users[me].user.tokenFile', { user: { tokenFile: '/etc/passwd' } }],
    ['users[me].user.client-certificate', { user: { 'client-certificate': '/a', 'client-key': '/b' } }],
    ['clusters[demo].cluster.certificate-authority', { cluster: { 'certificate-authority': '/etc/passwd' } }],
  ] as const) {
    it(`may not use ${field}: it would reach into this machine`, async () => {
      const error = await fault(readKubeconfigText(config(parts), { origin }))
      assert.equal(error.code, 'CAPT_KUBECONFIG_UNTRUSTED')
      assert.ok(error.message.startsWith(`${field}:`), error.message)
    })
  }
})

describe('a credential plugin', () => {
  const apiVersion = 'client.authentication.k8s.io/v1'
  const plugin = (body: string, over: object = {}) => {
    const command = file(`#!/bin/sh\n${body}\n`, `plugin-${serial++}`)
    chmodSync(command, 0o755)
    return { exec: { apiVersion, command, interactiveMode: 'Never', ...over } }
  }
  const credential = (status: object, version = apiVersion) =>
    `echo '${JSON.stringify({ apiVersion: version, kind: 'ExecCredential', status })}'`
  const load = (user: object, clock = manualClock()) => loadKubeconfig({ path: file(config({ user })), clock })

  it('is run once and asked again when its token expires or is refused', async () => {
    const runs = join(folder, `runs-${serial++}`)
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const count = `echo x >> ${runs}; n=$(wc -l < ${runs} | tr -d ' ')`
    const status = '{\\"token\\":\\"token-$n\\",\\"expirationTimestamp\\":\\"2026-01-01T00:10:00Z\\"}'
    const print = `echo "{\\"apiVersion\\":\\"${apiVersion}\\",\\"kind\\":\\"ExecCredential\\",\\"status\\":${status}}"`
    const { credentials } = await load(plugin(`${count}\n${print}`), clock)
    const both = await Promise.all([credentials.current(), credentials.current()])
    assert.deepEqual(both, [{ token: 'token-1' }, { token: 'token-1' }])
    await clock.advance(9 * 60_000)
    assert.deepEqual(await credentials.current(), { token: 'token-1' })
    assert.equal(await credentials.renew({ token: 'token-1' }), true)
    assert.deepEqual(await credentials.current(), { token: 'token-2' })
    assert.equal(await credentials.renew({ token: 'token-1' }), true)
    assert.deepEqual(await credentials.current(), { token: 'token-2' }, 'an old refusal does not cost the new token')
    await clock.advance(55_000)
    assert.deepEqual(await credentials.current(), { token: 'token-3' })
  })

  it('gets its arguments, its environment and the cluster when it asks for it', async () => {
    const seen = join(folder, `seen-${serial++}`)
    const body = `echo "$1 $GREETING $KUBERNETES_EXEC_INFO" > ${seen}\n${credential({ token: 't' })}`
    const over = { args: ['--fast'], env: [{ name: 'GREETING', value: 'hello' }], provideClusterInfo: true }
    await (await load(plugin(body, over))).credentials.current()
    const { readFileSync } = await import('node:fs')
    const [arg, greeting, ...info] = readFileSync(seen, 'utf8').split(' ')
    assert.deepEqual([arg, greeting], ['--fast', 'hello'])
    assert.deepEqual(JSON.parse(info.join(' ')).spec, {
      interactive: false,
      cluster: { server: 'https://example.test:6443' },
    })
  })

  it('may give a certificate', async () => {
    const status = { clientCertificateData: 'CERT', clientKeyData: 'KEY' }
    const { credentials } = await load(plugin(credential(status)))
    assert.deepEqual(await credentials.current(), { certificate: 'CERT', key: 'KEY' })
  })

  for (const [what, user, message] of [
    ['that fails', () => plugin('echo secret-token; exit 3'), /ended with exit code 3/],
    ['that prints something else', () => plugin('echo secret-token'), /did not print JSON/],
    [
      'that answers in another version',
      () => plugin(credential({ token: 't' }, 'client.authentication.k8s.io/v1beta1')),
      /did not answer in/,
    ],
    ['that prints nothing of use', () => plugin(credential({})), /neither a token nor a certificate/],
    [
      'that prints a certificate alone',
      () => plugin(credential({ clientCertificateData: 'secret-token' })),
      /without its key/,
    ],
    ['that needs a terminal', () => plugin('true', { interactiveMode: 'Always' }), /needs a terminal/],
    ['that is not installed', () => ({ exec: { apiVersion, command: 'capt-no-such-plugin' } }), /is not installed/],
  ] as const) {
    it(`${what} is named, and what it printed is not`, async () => {
      const error = await fault((await load(user())).credentials.current())
      assert.equal(error.code, 'CAPT_KUBECONFIG_EXEC')
      assert.match(error.message, message)
    })
  }

  it('that is not installed passes on the hint of its maker', async () => {
    const exec = { apiVersion, command: 'capt-no-such-plugin', installHint: 'install it from the moon' }
    const error = await fault((await load({ exec })).credentials.current())
    assert.equal(error.hint, 'install it from the moon')
  })
})

describe('in a pod', () => {
  it('the service account gives address, authority, token and namespace', async () => {
    const account = mkdtempSync(join(folder, 'account-'))
    writeFileSync(join(account, 'token'), 'pod-token\n')
    writeFileSync(join(account, 'ca.crt'), authority.certificate)
    writeFileSync(join(account, 'namespace'), 'capt-system')
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
    const access = await inClusterAccess({ env, folder: account })
    assert.equal(access.server, 'https://[fd00::1]:443')
    assert.equal(access.ca, authority.certificate)
    assert.equal(access.namespace, 'capt-system')
    assert.deepEqual(await access.credentials.current(), { token: 'pod-token' })
  })

  it('a pod without a service account says which file is missing', async () => {
    const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
    const error = await fault(inClusterAccess({ env, folder: join(folder, 'no-account') }))
    assert.match(error.message, /no-account\/token cannot be read/)
  })

  it('a kubeconfig that was asked for goes before the pod', async () => {
    const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443', KUBECONFIG: file(config()) }
    assert.equal((await findAccess({ env })).server, 'https://example.test:6443')
  })

  it('nothing at all is said in one sentence', async () => {
    const error = await fault(findAccess({ env: { HOME: join(folder, 'empty') } }))
    assert.equal(error.code, 'CAPT_KUBECONFIG_NOT_FOUND')
  })
})

describe('a kubeconfig we write', () => {
  const textFor = (user: Record<string, unknown>): string =>
    JSON.stringify(
      toKubeconfig({
        name: 'demo: "x"',
        server: 'https://example.test',
        caData: base64(authority.certificate),
        user,
        namespace: 'team',
      }),
    )

  it('with a token is read back as it was meant', async () => {
    const text = textFor({ token: 'k8s-aws-v1.abc' })
    const access = await readKubeconfigText(text, { origin: 'test' })
    assert.equal(access.server, 'https://example.test')
    assert.equal(access.ca, authority.certificate)
    assert.equal(access.namespace, 'team')
    assert.deepEqual(await access.credentials.current(), { token: 'k8s-aws-v1.abc' })
  })

  it('with a certificate is read back as it was meant', async () => {
    const text = textFor({
      'client-certificate-data': base64(leaf.certificate),
      'client-key-data': base64(leaf.key),
    })
    const { credentials } = await readKubeconfigText(text, { origin: 'test' })
    assert.deepEqual(await credentials.current(), leaf)
  })

  it('with a plugin runs that plugin', async () => {
    const script = `printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s-%s"}}' "$1" "$WHO"`
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: ['-c', script, 'sh', 'from: #plugin'],
      env: [{ name: 'WHO', value: 'me' }],
      interactiveMode: 'IfAvailable',
    }
    const access = await loadKubeconfig({ path: file(textFor({ exec })) })
    assert.deepEqual(await access.credentials.current(), { token: 'from: #plugin-me' })
  })
})
