import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, type ConfigMap, ConfigMapKind, RETRY_ANNOTATION } from '#api'
import { manualClock } from '#testing'
import { type Reader, recentSources } from './recent-sources.ts'

const KEY = { namespace: 'default', name: 'values' }
const apply = (over: object = {}): AnyObject => ({
  apiVersion: 'v1',
  kind: 'WorkspaceTemplateApply',
  metadata: { name: 'demo', uid: 'one', generation: 1, ...over },
})

function server(data: Record<string, string> | undefined) {
  const observed = { reads: 0, data }
  const get = async () => {
    observed.reads++
    return observed.data && { apiVersion: 'v1', kind: 'ConfigMap', metadata: KEY, data: observed.data }
  }
  return { observed, objects: { get } as unknown as Reader }
}

describe('the sources of a template', () => {
  it('are read once for turns that follow each other, and again after a moment', async () => {
    const { observed, objects } = server({ size: 'small' })
    const clock = manualClock()
    const sources = recentSources()
    const look = async () => (await sources(objects, clock, apply()).get<ConfigMap>(ConfigMapKind, KEY))?.data?.['size']
    assert.equal(await look(), 'small')
    observed.data = { size: 'large' }
    assert.equal(await look(), 'small')
    assert.equal(observed.reads, 1)
    await clock.advance(30_000)
    assert.equal(await look(), 'large')
  })

  it('are read again for another request and for a retry', async () => {
    const { observed, objects } = server({ size: 'small' })
    const sources = recentSources()
    const clock = manualClock()
    for (const over of [{}, { generation: 2 }, { annotations: { [RETRY_ANNOTATION]: 'now' } }, { uid: 'two' }])
      await sources(objects, clock, apply(over)).get(ConfigMapKind, KEY)
    assert.equal(observed.reads, 4)
  })

  it('are read again after a run that failed: they may be what was wrong', async () => {
    const { observed, objects } = server({ size: 'small' })
    const sources = recentSources()
    const clock = manualClock()
    for (const after of [undefined, 'first-run', 'first-run', 'second-run'])
      await sources(objects, clock, apply(), after).get(ConfigMapKind, KEY)
    assert.equal(observed.reads, 3)
  })

  it('are looked for again as long as they are missing', async () => {
    const { observed, objects } = server(undefined)
    const sources = recentSources()
    const clock = manualClock()
    for (let turn = 0; turn < 3; turn++) await sources(objects, clock, apply()).get(ConfigMapKind, KEY)
    assert.equal(observed.reads, 3)
  })
})
