import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, type ConfigMap, ConfigMapKind, RETRY_ANNOTATION } from '#api'
import { handWoundClock } from '#testing'
import { type Reader, recentSources } from './recent-sources.ts'

const KEY = { namespace: 'default', name: 'values' }
const apply = (over: object = {}): AnyObject => ({
  apiVersion: 'v1',
  kind: 'WorkspaceTemplateApply',
  metadata: { name: 'demo', uid: 'one', generation: 1, ...over },
})

function server(data: Record<string, string> | undefined) {
  const seen = { reads: 0, data }
  const get = async () => {
    seen.reads++
    return seen.data && { apiVersion: 'v1', kind: 'ConfigMap', metadata: KEY, data: seen.data }
  }
  return { seen, objects: { get } as unknown as Reader }
}

describe('the sources of a template', () => {
  it('are read once for turns that follow each other, and again after a moment', async () => {
    const { seen, objects } = server({ size: 'small' })
    const clock = handWoundClock()
    const sources = recentSources()
    const look = async () => (await sources(objects, clock, apply()).get<ConfigMap>(ConfigMapKind, KEY))?.data?.['size']
    assert.equal(await look(), 'small')
    seen.data = { size: 'large' }
    assert.equal(await look(), 'small')
    assert.equal(seen.reads, 1)
    await clock.advance(20_000)
    assert.equal(await look(), 'large')
  })

  it('are read anew for another wish and for a retry', async () => {
    const { seen, objects } = server({ size: 'small' })
    const sources = recentSources()
    const clock = handWoundClock()
    for (const over of [{}, { generation: 2 }, { annotations: { [RETRY_ANNOTATION]: 'now' } }, { uid: 'two' }])
      await sources(objects, clock, apply(over)).get(ConfigMapKind, KEY)
    assert.equal(seen.reads, 4)
  })

  it('are read anew after a run that failed: they may be what was wrong', async () => {
    const { seen, objects } = server({ size: 'small' })
    const sources = recentSources()
    const clock = handWoundClock()
    for (const after of [undefined, 'first-run', 'first-run', 'second-run'])
      await sources(objects, clock, apply(), after).get(ConfigMapKind, KEY)
    assert.equal(seen.reads, 3)
  })

  it('are looked for again as long as they are missing', async () => {
    const { seen, objects } = server(undefined)
    const sources = recentSources()
    const clock = handWoundClock()
    for (let turn = 0; turn < 3; turn++) await sources(objects, clock, apply()).get(ConfigMapKind, KEY)
    assert.equal(seen.reads, 3)
  })
})
