import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SecretKind } from '#api'
import { systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { freeRelease } from './pending-release.ts'
import type { Site } from './site.ts'

const RELEASE = { namespace: 'kube-system', name: 'karpenter' }

function world(status: string, waitMs: number, creationTimestamp = new Date().toISOString()) {
  const { objects, seed } = memoryCluster()
  const said: string[] = []
  const key = { namespace: 'kube-system', name: 'sh.helm.release.v1.karpenter.v1' }
  const labels = { owner: 'helm', name: 'karpenter', version: '1', status }
  seed(SecretKind, { apiVersion: 'v1', kind: 'Secret', metadata: { ...key, labels, creationTimestamp } } as never)
  const { signal } = new AbortController()
  const site = { objects, clock: systemClock, signal, waitMs, report: (text: string) => said.push(text) }
  return { site: site as unknown as Site, objects, key, said }
}

describe('a release of helm', () => {
  for (const status of ['deployed', 'failed', 'superseded', 'uninstalling'])
    it(`that is ${status} is left alone`, async () => {
      const { site, objects, key, said } = world(status, 60_000)
      await freeRelease(site, RELEASE)
      assert.ok(await objects.get(SecretKind, key))
      assert.deepEqual(said, [])
    })

  for (const status of ['pending-install', 'pending-upgrade', 'pending-rollback'])
    it(`that stays ${status} loses the record of that operation, and reports it`, async () => {
      const { site, objects, key, said } = world(status, 0)
      await freeRelease(site, RELEASE)
      assert.equal(await objects.get(SecretKind, key), undefined)
      assert.deepEqual(said, [`release karpenter: removing kube-system/${key.name}, ${status} since a helm was killed`])
    })

  it('that has been pending for longer than a wait may take is given up at once', async () => {
    const { site, objects, key } = world('pending-install', 60_000, new Date(Date.now() - 61_000).toISOString())
    const started = Date.now()
    await freeRelease(site, RELEASE)
    assert.equal(await objects.get(SecretKind, key), undefined)
    assert.ok(Date.now() - started < 30_000)
  })

  for (const [when, aheadMs] of [
    ['a moment ago', 0],
    ['in the future, by another clock', 600_000],
  ] as const)
    it(`that began ${when} gets the time of a wait`, async () => {
      const { site, objects, key } = world('pending-install', 600, new Date(Date.now() + aheadMs).toISOString())
      const giving = freeRelease(site, RELEASE)
      await new Promise((resolve) => setTimeout(resolve, 100))
      assert.ok(await objects.get(SecretKind, key))
      await giving
      assert.equal(await objects.get(SecretKind, key), undefined)
    })

  it('that another helm ends in time keeps its record', async () => {
    const { site, objects, key, said } = world('pending-install', 60_000)
    const body = { metadata: { labels: { status: 'deployed' } } }
    setTimeout(() => void objects.patch(SecretKind, key, { type: 'merge', body }), 20)
    await freeRelease(site, RELEASE)
    assert.ok(await objects.get(SecretKind, key))
    assert.deepEqual(said, [])
  })

  it('of another name is not touched', async () => {
    const { site, objects, key } = world('pending-install', 0)
    await freeRelease(site, { ...RELEASE, name: 'karpenter-crd' })
    assert.ok(await objects.get(SecretKind, key))
  })
})
