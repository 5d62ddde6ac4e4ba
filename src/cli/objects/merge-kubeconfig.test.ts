import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Kubeconfig, mergeKubeconfig } from './merge-kubeconfig.ts'

const of = (name: string, server: string): Kubeconfig => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': name,
  clusters: [{ name, cluster: { server } }],
  users: [{ name, user: { token: `token-${name}` } }],
  contexts: [{ name, context: { cluster: name, user: name, namespace: 'shop' } }],
})

describe('mergeKubeconfig', () => {
  it('adds a context under its new name and keeps the current one', () => {
    const merged = mergeKubeconfig(of('mine', 'https://mine'), of('eks', 'https://eks'), 'demo')
    assert.equal(merged['current-context'], 'mine')
    assert.deepEqual(
      merged.clusters?.map(({ name }) => name),
      ['mine', 'demo'],
    )
    assert.deepEqual(merged.contexts?.[1], {
      name: 'demo',
      context: { cluster: 'demo', user: 'demo', namespace: 'shop' },
    })
    assert.deepEqual(merged.users?.[1], { name: 'demo', user: { token: 'token-eks' } })
  })

  it('makes it the current one of an empty file', () => {
    assert.equal(mergeKubeconfig({}, of('eks', 'https://eks'), 'demo')['current-context'], 'demo')
  })

  it('replaces an entry of the same cluster, and refuses one of another', () => {
    const once = mergeKubeconfig({}, of('eks', 'https://eks'), 'demo')
    const twice = mergeKubeconfig(once, of('new', 'https://eks'), 'demo')
    assert.deepEqual(twice.users, [{ name: 'demo', user: { token: 'token-new' } }])
    assert.throws(() => mergeKubeconfig(once, of('x', 'https://other'), 'demo'), { code: 'CAPT_KUBECONFIG_NAME_TAKEN' })
  })
})
