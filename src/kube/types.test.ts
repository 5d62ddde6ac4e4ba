// What the compiler has to refuse: something read from a cache must never be written back. `npm run types` is the
// test; the lines below only say where it would fail.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type ConfigMap, ConfigMapKind } from '#api'
import { memoryCluster } from '#testing'
import type { Live, Objects, Projected } from './port.ts'

export async function writeBack(objects: Objects, cached: Projected<ConfigMap>, live: Live<ConfigMap>): Promise<void> {
  // @ts-expect-error a projected object is not whole
  await objects.create(ConfigMapKind, cached)
  // @ts-expect-error a projected object is not whole
  await objects.replace(ConfigMapKind, cached)
  // @ts-expect-error a projected object is not whole
  await objects.apply(ConfigMapKind, cached)
  // @ts-expect-error not even under the name of the kind
  await objects.replace<ConfigMap>(ConfigMapKind, cached)
  // @ts-expect-error nor with a change on top
  await objects.replace<ConfigMap>(ConfigMapKind, { ...cached, data: {} })
  await objects.replace(ConfigMapKind, live)
  await objects.replace<ConfigMap>(ConfigMapKind, { ...live, data: {} })
  await objects.create<ConfigMap>(ConfigMapKind, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } })
}

it('an object read live can be written back', async () => {
  const { objects } = memoryCluster()
  const metadata = { namespace: 'default', name: 'x' }
  await objects.create<ConfigMap>(ConfigMapKind, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
  const live = await objects.get<ConfigMap>(ConfigMapKind, metadata)
  const { data } = await objects.replace<ConfigMap>(ConfigMapKind, { ...live!, data: { a: '1' } })
  assert.deepEqual(data, { a: '1' })
})
