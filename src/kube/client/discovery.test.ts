import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clusterKind } from '#api'
import { fixedCredentials } from './access.ts'
import { kindFinder, requireServed, servedClusterApi, servedKind, servedVersions, serverOf } from './discovery.ts'

const answers: Readonly<Record<string, [number, unknown]>> = {
  '/api': [200, { kind: 'APIVersions', versions: ['v1'] }],
  '/api/v1': [200, { resources: [{ name: 'secrets', kind: 'Secret', namespaced: true }] }],
  '/apis/cluster.x-k8s.io': [
    200,
    { versions: [{ version: 'v1beta1' }, { version: 'v1beta2' }], preferredVersion: { version: 'v1beta2' } },
  ],
  '/apis/cluster.x-k8s.io/v1beta2': [200, { resources: [{ name: 'clusters/status', kind: 'Cluster' }] }],
  '/apis/cluster.x-k8s.io/v1beta1': [200, { resources: [{ name: 'clusters', kind: 'Cluster', namespaced: true }] }],
  '/apis/old.example.com': [200, { versions: [{ version: 'v1alpha3' }] }],
  '/apis/secret.example.com': [403, {}],
  '/apis/odd.example.com': [200, '<html>'],
}

const server = serverOf({
  access: { server: 'https://example.test', namespace: 'default', origin: 'a test', credentials: fixedCredentials({}) },
  async raw(path) {
    const [status, body] = answers[path] ?? [404, '404 page not found']
    return { status, headers: {}, text: typeof body === 'string' ? body : JSON.stringify(body) }
  },
})

describe('discovery', () => {
  it('names the versions of a group, the preferred one first', async () => {
    assert.deepEqual(await servedVersions(server, 'cluster.x-k8s.io'), ['v1beta2', 'v1beta1'])
    assert.deepEqual(await servedVersions(server, ''), ['v1'])
    assert.deepEqual(await servedVersions(server, 'nobody.example.com'), [])
  })

  it('chooses the newest Cluster API version that is served, or none', async () => {
    assert.equal(await servedClusterApi(server, 'cluster.x-k8s.io'), 'v1beta2')
    assert.equal(await servedClusterApi(server, 'old.example.com'), undefined)
    assert.deepEqual(await servedKind(server, clusterKind), clusterKind('v1beta2'))
  })

  it('says whether Cluster API is absent or too old', async () => {
    const kindIn = (group: string) => () => ({ ...clusterKind('v1beta2'), group })
    await assert.rejects(servedKind(server, kindIn('nobody.example.com')), {
      code: 'CAPT_CLUSTER_API_MISSING',
      message: /is not installed there/,
    })
    await assert.rejects(servedKind(server, kindIn('old.example.com')), {
      code: 'CAPT_CLUSTER_API_MISSING',
      message: /serves no version of old\.example\.com/,
    })
  })

  it('knows a kind by its name and version, and no subresource as a kind', async () => {
    const find = kindFinder(server)
    assert.deepEqual(await find('v1', 'Secret'), {
      group: '',
      version: 'v1',
      kind: 'Secret',
      plural: 'secrets',
      namespaced: true,
    })
    assert.equal((await find('cluster.x-k8s.io/v1beta1', 'Cluster')).plural, 'clusters')
    await assert.rejects(find('cluster.x-k8s.io/v1beta2', 'Cluster'), { reason: 'KindNotServed' })
  })

  it('accepts a kind that a CRD among the objects defines', async () => {
    const object = (apiVersion: string, kind: string, spec?: object) => ({
      apiVersion,
      kind,
      metadata: { name: 'x' },
      spec,
    })
    const crd = object('v1', 'CustomResourceDefinition', { group: 'new.example.com', names: { kind: 'Thing' } })
    const served = { ...crd, apiVersion: 'new.example.com/v1', kind: 'Thing', spec: {} }
    const find = kindFinder(server)
    await assert.rejects(requireServed([served], server, find), { reason: 'KindNotServed' })
    await assert.rejects(requireServed([served, crd], server, find), {
      message: /does not serve CustomResourceDefinition in v1$/,
    })
  })

  it('reports a refusal and an answer that is not JSON as errors, not as absence', async () => {
    await assert.rejects(servedVersions(server, 'secret.example.com'), { reason: 'Forbidden' })
    await assert.rejects(servedVersions(server, 'odd.example.com'), { reason: 'BadAnswer' })
  })
})
