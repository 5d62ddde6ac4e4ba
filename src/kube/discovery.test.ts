import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clusterKind, SecretKind } from '#api'
import { fixedCredentials } from './access.ts'
import { discover } from './discovery.ts'

const answers: Readonly<Record<string, [number, unknown]>> = {
  '/api': [200, { kind: 'APIVersions', versions: ['v1'] }],
  '/api/v1': [200, { resources: [{ name: 'secrets', kind: 'Secret' }] }],
  '/apis/cluster.x-k8s.io': [
    200,
    { versions: [{ version: 'v1beta1' }, { version: 'v1beta2' }], preferredVersion: { version: 'v1beta2' } },
  ],
  '/apis/cluster.x-k8s.io/v1beta2': [200, { resources: [{ name: 'clusters/status', kind: 'Cluster' }] }],
  '/apis/cluster.x-k8s.io/v1beta1': [200, { resources: [{ name: 'clusters', kind: 'Cluster' }] }],
  '/apis/secret.example.com': [403, {}],
  '/apis/odd.example.com': [200, '<html>'],
}

const discovery = discover({
  access: { server: 'https://example.test', namespace: 'default', origin: 'a test', credentials: fixedCredentials({}) },
  async raw(path) {
    const [status, body] = answers[path] ?? [404, '404 page not found']
    return { status, headers: {}, text: typeof body === 'string' ? body : JSON.stringify(body) }
  },
})

describe('discovery', () => {
  it('names the versions of a group, the favourite first', async () => {
    assert.deepEqual(await discovery.servedVersions('cluster.x-k8s.io'), ['v1beta2', 'v1beta1'])
    assert.deepEqual(await discovery.servedVersions(''), ['v1'])
    assert.deepEqual(await discovery.servedVersions('nobody.example.com'), [])
  })

  it('chooses the best version that is served, or none', async () => {
    assert.equal(await discovery.servedVersion('cluster.x-k8s.io', ['v1', 'v1beta1']), 'v1beta1')
    assert.equal(await discovery.servedVersion('cluster.x-k8s.io', ['v2']), undefined)
  })

  it('knows a kind by plural and version', async () => {
    assert.equal(await discovery.servesKind(SecretKind), true)
    assert.equal(await discovery.servesKind(clusterKind('v1beta1')), true)
    assert.equal(await discovery.servesKind(clusterKind('v1beta2')), false)
  })

  it('tells a refusal and nonsense apart from absence', async () => {
    await assert.rejects(discovery.servedVersions('secret.example.com'), { reason: 'Forbidden' })
    await assert.rejects(discovery.servedVersions('odd.example.com'), { reason: 'BadAnswer' })
  })
})
