// Of ConfigMaps the manager needs the news that they changed, so it asks for metadata alone: no content is sent to it.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type AnyObject, type ConfigMap, ConfigMapKind, NamespaceKind } from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { type Connection, connect, readKubeconfigText } from '#kube'
import { systemClock } from '#lib'
import { informerOf } from '../../../src/controllers/shared/projections.ts'
import { waitUntil } from '../../shipped/support.ts'

const CANARY = 'canary-of-a-config-map'
const LABELS = { 'capt.appthrust.com/addon-source': 'x' }
const key = { namespace: 'default', name: 'source' }

describe('ConfigMaps in the cache of a manager', () => {
  let folder: string
  let server: ApiServer
  let connection: Connection
  const received: AnyObject[] = []

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'capt-metadata-'))
    server = await startApiServer({ dataDir: join(folder, 'home') })
    connection = connect(await readKubeconfigText(server.kubeconfig(), { origin: 'the test', clock: systemClock }))
    const { objects, informers } = connection
    await objects
      .create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
      .catch(() => undefined)
    await write('one', 'create')
    const options = informerOf(ConfigMapKind, false)
    const project = (object: AnyObject) => {
      received.push(object)
      return options.project!(object)
    }
    informers.register(ConfigMapKind, { ...options, project })
    informers.start()
    await informers.synced()
  })
  after(async () => {
    await connection.close()
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** By somebody else: what a connection wrote itself, its cache sees by the answer. */
  async function write(label: string, how: 'create' | 'patch'): Promise<void> {
    const other = connect(await readKubeconfigText(server.kubeconfig(), { origin: 'the test', clock: systemClock }))
    const body = { metadata: { ...key, labels: { ...LABELS, round: label } }, data: { a: `${CANARY}-${label}` } }
    if (how === 'create')
      await other.objects.create<ConfigMap>(ConfigMapKind, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        ...body,
      } as ConfigMap)
    else await other.objects.patch(ConfigMapKind, key, { type: 'merge', body })
    await other.close()
  }

  const cached = () => connection.informers.get<ConfigMap>(ConfigMapKind, key)

  it('arrive by list and by watch, without their contents', async () => {
    assert.equal(cached()?.metadata.labels?.['round'], 'one')
    await write('two', 'patch')
    await waitUntil('the change', () => cached()?.metadata.labels?.['round'] === 'two')
    assert.ok(received.length >= 2)
    assert.ok(!JSON.stringify(received).includes(CANARY), 'no content was sent')
    assert.equal(cached()?.kind, 'ConfigMap')
    assert.equal(cached()?.apiVersion, 'v1')
  })

  it('are forgotten when they are gone', async () => {
    await connection.objects.delete(ConfigMapKind, key)
    await waitUntil('the end', () => cached() === undefined)
  })
})
