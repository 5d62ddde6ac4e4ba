import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { isCaptError } from '#lib'
import type { ApiObject } from '../object.ts'
import { openDatabase } from './database.ts'
import { createHistory } from './history.ts'
import { openStore } from './store.ts'

const folder = mkdtempSync(join(tmpdir(), 'capt-store-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let serial = 0
const newFile = () => join(folder, `${serial++}.db`)
const CONFIG = { group: '', resource: 'configmaps' }

function config(name: string, data: object = {}, namespace = 'default'): ApiObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, uid: `uid-${namespace}-${name}` }, data }
}
const open = (file = newFile(), maxPages?: number) =>
  openStore(openDatabase(file, maxPages === undefined ? {} : { maxPages }), file)

describe('the store', () => {
  it('gives every write the next version, whatever the realm, and keeps counting after it was opened again', () => {
    const file = newFile()
    const first = open(file)
    const versions = ['', '/w/a', ''].map((path, i) => {
      return Number(first.realm(path).insert(CONFIG, config(`c${i}`)).metadata.resourceVersion)
    })
    assert.deepEqual(
      versions.map((version) => version - versions[0]!),
      [0, 1, 2],
    )
    first.realm('').remove(CONFIG, first.realm('').read(CONFIG, 'default', 'c2')!)
    first.close()
    const again = open(file)
    assert.equal(again.realm('').version(), versions[2]! + 1)
    assert.equal(again.realm('').read(CONFIG, 'default', 'c2'), undefined)
    assert.equal(again.realm('/w/a').read(CONFIG, 'default', 'c1')?.metadata.name, 'c1')
    assert.equal(again.realm('').read(CONFIG, 'default', 'c1'), undefined)
    again.close()
  })

  it('scans in order, by namespace, and from a position on', () => {
    const store = open()
    const realm = store.realm('')
    for (const [namespace, name] of [
      ['b', 'x'],
      ['a', 'z'],
      ['a', 'y'],
      ['c', 'w'],
    ] as const) {
      realm.insert(CONFIG, config(name, {}, namespace))
    }
    const names = (options = {}) => [...realm.scan(CONFIG, options)].map((row) => `${row.namespace}/${row.name}`)
    assert.deepEqual(names(), ['a/y', 'a/z', 'b/x', 'c/w'])
    assert.deepEqual(names({ namespace: 'a' }), ['a/y', 'a/z'])
    assert.deepEqual(names({ after: { namespace: 'a', name: 'z' } }), ['b/x', 'c/w'])
    assert.equal(realm.count(CONFIG, { after: { namespace: 'a', name: 'y' } }), 3)
    store.close()
  })

  it('finds dependents by the uid of their owner until the reference is gone', () => {
    const store = open()
    const realm = store.realm('')
    const owned = config('child')
    owned.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'p', uid: 'owner-uid' }]
    const stored = realm.insert(CONFIG, owned)
    assert.deepEqual(
      realm.dependents('owner-uid').map((found) => found.object.metadata.name),
      ['child'],
    )
    realm.replace(CONFIG, config('child'), stored)
    assert.deepEqual(realm.dependents('owner-uid'), [])
    store.close()
  })

  it('lets one process hold a file at a time', () => {
    const file = newFile()
    const store = open(file)
    assert.throws(
      () => openDatabase(file),
      (error) => isCaptError(error, 'CAPT_DATA_HELD'),
    )
    store.close()
    open(file).close()
  })

  it('keeps its files for their owner alone', () => {
    const file = newFile()
    const store = open(file)
    store.realm('').insert(CONFIG, config('c'))
    for (const suffix of ['', '-wal']) assert.equal(statSync(`${file}${suffix}`).mode & 0o777, 0o600)
    store.close()
  })

  it('refuses a damaged file without changing it', () => {
    const garbage = newFile()
    writeFileSync(garbage, 'this is not a database at all, it only looks like a file'.repeat(50))
    const before = readFileSync(garbage)
    assert.throws(
      () => openDatabase(garbage),
      (error) => isCaptError(error, 'CAPT_DATA_CORRUPT'),
    )
    assert.deepEqual(readFileSync(garbage), before)

    const cut = newFile()
    const store = open(cut)
    for (let i = 0; i < 50; i++) store.realm('').insert(CONFIG, config(`c${i}`, { text: 'x'.repeat(2000) }))
    store.close()
    truncateSync(cut, 8192)
    assert.throws(
      () => openDatabase(cut),
      (error) => isCaptError(error, 'CAPT_DATA_CORRUPT'),
    )
  })

  it('refuses a file that a newer program wrote', () => {
    const file = newFile()
    const database = openDatabase(file)
    database.exec('PRAGMA user_version = 99')
    database.close()
    assert.throws(
      () => openDatabase(file),
      (error) => isCaptError(error, 'CAPT_DATA_NEWER'),
    )
  })

  it('refuses a write on a full disk and keeps everything it had', () => {
    const file = newFile()
    const store = open(file, 40)
    const realm = store.realm('')
    let written = 0
    const fill = () => {
      for (; written < 200; written++) realm.insert(CONFIG, config(`c${written}`, { text: 'x'.repeat(3000) }))
    }
    assert.throws(fill, (error) => isCaptError(error, 'CAPT_DATA_FULL'))
    assert.ok(written > 5)
    const version = realm.version()
    assert.equal(realm.count(CONFIG), written)
    realm.remove(CONFIG, realm.read(CONFIG, 'default', 'c0')!)
    assert.equal(realm.version(), version + 1)
    store.close()
    const again = open(file)
    assert.equal(again.realm('').count(CONFIG), written - 1)
    again.close()
  })
})

describe('history', () => {
  it('gives what came after a version, and nothing at all once some of it is forgotten', () => {
    const store = open()
    const realm = store.realm('')
    const history = createHistory(realm, { changes: 10, bytes: 1_000_000 })
    const start = realm.version()
    realm.insert(CONFIG, config('a'))
    realm.insert({ group: '', resource: 'secrets' }, config('other'))
    const first = realm.version()
    realm.remove(CONFIG, realm.read(CONFIG, 'default', 'a')!)
    assert.deepEqual(
      history.since(CONFIG, start)?.map((event) => event.type),
      ['ADDED', 'DELETED'],
    )
    assert.deepEqual(
      history.since(CONFIG, first)?.map((event) => event.object.metadata.resourceVersion),
      [`${first + 1}`],
    )
    for (let i = 0; i < 20; i++) realm.insert(CONFIG, config(`n${i}`))
    assert.equal(history.since(CONFIG, start), undefined)
    assert.equal(history.since(CONFIG, realm.version() - 3)?.length, 3)
    assert.equal(history.since(CONFIG, start - 1), undefined)
    store.close()
  })

  it('stays within its bytes', () => {
    const store = open()
    const realm = store.realm('')
    const history = createHistory(realm, { changes: 10_000, bytes: 20_000 })
    const start = realm.version()
    for (let i = 0; i < 30; i++) realm.insert(CONFIG, config(`c${i}`, { text: 'x'.repeat(1000) }))
    assert.equal(history.since(CONFIG, start), undefined)
    const kept = history.since(CONFIG, realm.version() - 15)
    assert.equal(kept?.length, 15)
    store.close()
  })

  it('rewinds to any version it remembers: whatever was written later, the old state comes back', () => {
    const names = ['a', 'b', 'c', 'd']
    const action = fc.tuple(fc.constantFrom('put', 'drop'), fc.constantFrom(...names), fc.nat(9))
    fc.assert(
      fc.property(fc.array(action, { minLength: 1, maxLength: 25 }), fc.nat(24), (actions, cut) => {
        const store = open()
        const realm = store.realm('')
        const history = createHistory(realm)
        const state = () => new Map([...realm.scan(CONFIG)].map((row) => [row.name, row.text]))
        let snapshot = { version: realm.version(), state: state() }
        for (const [i, [what, name, value]] of actions.entries()) {
          if (i === cut) snapshot = { version: realm.version(), state: state() }
          const old = realm.read(CONFIG, 'default', name)
          if (what === 'drop') {
            if (old) realm.remove(CONFIG, old)
          } else if (old) realm.replace(CONFIG, config(name, { value }), old)
          else realm.insert(CONFIG, config(name, { value }))
        }
        const rebuilt = state()
        for (const [key, row] of history.rewind(CONFIG, snapshot.version)!) {
          if (row) rebuilt.set(row.name, row.text)
          else rebuilt.delete(key.slice('default/'.length))
        }
        store.close()
        assert.deepEqual([...rebuilt].sort(), [...snapshot.state].sort())
      }),
      { numRuns: 25 },
    )
  })
})
