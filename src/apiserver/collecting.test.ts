import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { items, type Loose, MERGE, type RawApi, rawApi } from '#testing'
import { type Started, startInTempFolder, WIDGETS, widget, widgetCrd } from './started.ts'
import { openDatabase } from './store/database.ts'
import { openStore } from './store/store.ts'

const CONFIGS = '/api/v1/namespaces/default/configmaps'

describe('what follows a deletion', () => {
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
  const codeOf = async (path: string) => (await api.call('GET', path)).code
  const becomes = async (path: string, code: number) => {
    for (const until = Date.now() + 3000; Date.now() < until; ) {
      if ((await codeOf(path)) === code) return
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    assert.fail(`${path} never answered ${code}`)
  }
  const settle = () => new Promise((resolve) => setTimeout(resolve, 30))
  const ref = (owner: Loose, over: object = {}) => ({
    apiVersion: owner['apiVersion'],
    kind: owner['kind'],
    name: owner['metadata']?.['name'],
    uid: owner['metadata']?.['uid'],
    ...over,
  })
  const make = async (name: string, metadata: object = {}) =>
    (await api.call('POST', WIDGETS, widget(name, { size: 1 }, metadata))).body
  const child = (name: string, owners: readonly object[], metadata: object = {}) =>
    api.call('POST', CONFIGS, { metadata: { name, ownerReferences: owners, ...metadata } })

  it('dependents go when their last owner has gone, and their dependents after them', async () => {
    const [one, two] = [await make('one'), await make('two')]
    const middle = await child('middle', [ref(one), ref(two)])
    await child('leaf', [ref(middle.body)])
    await api.call('DELETE', `${WIDGETS}/one`)
    await settle()
    const kept = await api.call('GET', `${CONFIGS}/middle`)
    assert.deepEqual(
      items(kept.body['metadata']?.['ownerReferences']).map((owner) => owner['name']),
      ['two'],
    )
    await api.call('DELETE', `${WIDGETS}/two`)
    await becomes(`${CONFIGS}/middle`, 404)
    await becomes(`${CONFIGS}/leaf`, 404)
  })

  it('an object whose owner never was, or was another of that name, goes too', async () => {
    const real = await make('real')
    await child('stray', [ref(real, { uid: '00000000-0000-4000-8000-ffffffffffff' })])
    await becomes(`${CONFIGS}/stray`, 404)
    await child('unjudged', [{ apiVersion: 'nobody.example.com/v1', kind: 'Ghost', name: 'g', uid: 'x' }])
    await settle()
    assert.equal(await codeOf(`${CONFIGS}/unjudged`), 200)
  })

  it('in the foreground, the owner waits for those that block it', async () => {
    const owner = await make('waiting')
    await child('blocker', [ref(owner, { blockOwnerDeletion: true })], { finalizers: ['example.com/hold'] })
    await child('bystander', [ref(owner)])
    const deleted = await api.call('DELETE', `${WIDGETS}/waiting`, { propagationPolicy: 'Foreground' })
    assert.deepEqual(items(deleted.body['metadata']?.['finalizers']) as unknown, ['foregroundDeletion'])
    await becomes(`${CONFIGS}/bystander`, 404)
    await settle()
    assert.equal(await codeOf(`${WIDGETS}/waiting`), 200)
    await api.call('PATCH', `${CONFIGS}/blocker`, { metadata: { finalizers: null } }, { type: MERGE })
    await becomes(`${WIDGETS}/waiting`, 404)
  })

  it('orphans are let go and stay', async () => {
    const owner = await make('careless')
    await child('orphan', [ref(owner)])
    await api.call('DELETE', `${WIDGETS}/careless`, { propagationPolicy: 'Orphan' })
    await becomes(`${WIDGETS}/careless`, 404)
    await settle()
    const { code, body } = await api.call('GET', `${CONFIGS}/orphan`)
    assert.deepEqual([code, body['metadata']?.['ownerReferences']], [200, undefined])
  })

  it('what a kill left undone is done after the next start', async () => {
    api.close()
    await started.server.close()
    const file = join(started.dataDir, 'objects.db')
    const store = openStore(openDatabase(file), file)
    const ownerReferences = [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'gone', uid: 'gone-uid' }]
    const metadata = { name: 'left-behind', namespace: 'default', uid: 'left-uid', ownerReferences }
    store.realm('').insert({ group: '', resource: 'configmaps' }, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    store.close()
    await started.restart()
    api = rawApi(started.server)
    await becomes(`${CONFIGS}/left-behind`, 404)
  })

  it('a namespace empties itself, says what holds it, refuses newcomers, and goes', async () => {
    await api.call('POST', '/api/v1/namespaces', { metadata: { name: 'doomed' } })
    const [inside, widgets] = [CONFIGS, WIDGETS].map((path) => path.replace('/default/', '/doomed/')) as [
      string,
      string,
    ]
    await api.call('POST', inside, { metadata: { name: 'plain' } })
    await api.call('POST', widgets, widget('held', { size: 1 }, { finalizers: ['example.com/hold'] }))
    const deleted = await api.call('DELETE', '/api/v1/namespaces/doomed')
    assert.equal(deleted.body['status']?.['phase'], 'Terminating')
    await becomes(`${inside}/plain`, 404)
    const late = await api.call('POST', inside, { metadata: { name: 'late' } })
    assert.deepEqual([late.code, items(late.body['details']?.['causes'])[0]?.['reason']], [403, 'NamespaceTerminating'])
    const { body } = await api.call('GET', '/api/v1/namespaces/doomed')
    const messages = items(body['status']?.['conditions']).map((condition) => `${condition['message']}`)
    assert.ok(messages.includes('Some resources are remaining: widgets.example.com has 1 resource instances'))
    assert.ok(messages.some((message) => message.endsWith('example.com/hold in 1 resource instances')))
    await api.call('PATCH', `${widgets}/held`, { metadata: { finalizers: null } }, { type: MERGE })
    await becomes('/api/v1/namespaces/doomed', 404)
  })

  it('a definition takes its objects along, and its kind is served no more', async () => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com'
    await api.call('POST', WIDGETS, widget('last', { size: 1 }, { finalizers: ['example.com/hold'] }))
    const watch = await api.watch(`${WIDGETS}?watch=1`)
    await api.call('DELETE', path)
    await settle()
    assert.equal(await codeOf(path), 200)
    const late = await api.call('POST', WIDGETS, widget('late'))
    assert.deepEqual([late.code, late.body['reason']], [405, 'MethodNotAllowed'])
    await api.call('PATCH', `${WIDGETS}/last`, { metadata: { finalizers: null } }, { type: MERGE })
    await becomes(path, 404)
    assert.equal(await codeOf(WIDGETS), 404)
    await watch.ended
    const last = watch.events.at(-1)
    assert.deepEqual([last?.type, last?.object['metadata']?.['name']], ['DELETED', 'last'])
  })
})
