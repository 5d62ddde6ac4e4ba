import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AddonPipeline } from '#api'
import { collectingLog, manualClock, memoryCluster } from '#testing'
import { shipPipeline } from './served.ts'

describe('the pipeline that comes with capt', () => {
  const settle = async () => {
    for (let i = 0; i < 10; i++) await new Promise<void>((resolve) => setImmediate(resolve))
  }

  it('is made as soon as the API server takes it, with a growing delay between the attempts', async () => {
    const clock = manualClock()
    const home = memoryCluster({ clock })
    home.failNext('create', AddonPipeline, 'ServerError', { times: 5 })
    const shipped = shipPipeline(home.objects, 'capt-system', { log: collectingLog(), clock })
    const attempts: number[] = []
    for (let second = 0; second < 40; second++) {
      await settle()
      attempts.push(home.requests.length)
      await clock.advance(1000)
    }
    await shipped
    assert.deepEqual([...new Set(attempts)], [1, 2, 3, 4, 5, 6])
    assert.deepEqual([attempts[1], attempts[3], attempts[7], attempts[15], attempts[31]], [2, 3, 4, 5, 6])
    assert.equal(home.storage.list(AddonPipeline).length, 1)
  })

  it('stays as people left it, and is not tried after the end', async () => {
    const clock = manualClock()
    const home = memoryCluster({ clock })
    const options = { log: collectingLog(), clock }
    await shipPipeline(home.objects, 'capt-system', options)
    await shipPipeline(home.objects, 'capt-system', options)
    assert.equal(home.requests.length, 2)
    const end = new AbortController()
    home.failNext('create', AddonPipeline, 'ServerError')
    const shipping = shipPipeline(home.objects, 'capt-system', { ...options, signal: end.signal })
    await settle()
    end.abort()
    await shipping
    assert.equal(home.requests.length, 3)
  })
})
