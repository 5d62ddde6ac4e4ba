import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AddonPipeline, checkObject, type UnknownObject } from '#api'
import type { JsonObject } from '#lib'
import { defaultPipeline } from '../../addon-pipeline/default-pipeline.ts'

describe('the request for a verification', () => {
  const check = (verify: JsonObject) => {
    const stages = [{ name: 'pool', nodePool: { verify } }]
    const metadata = { name: 'team', namespace: 'default' }
    const spec = { clusterSelector: {}, stages }
    const { object, faults } = checkObject(AddonPipeline, {
      ...defaultPipeline('capt-system'),
      metadata,
      spec,
    } as UnknownObject)
    return { verify: object.spec.stages[0]?.nodePool?.verify, faults: faults.map(({ path }) => path) }
  }

  it('needs no more than its name: the image has a fixed version, and there is a time limit', () => {
    const { verify, faults } = check({})
    assert.deepEqual(faults, [])
    assert.match(verify?.image ?? '', /\/pause:\d+\.\d+$/)
    assert.equal(verify?.timeout, '10m')
  })

  it('takes an image with a tag or a digest, from a registry with a port too, and no image without', () => {
    const digest = `mirror.example.invalid/pause@sha256:${'0'.repeat(64)}`
    for (const image of ['mirror.example.invalid:5000/pause:3.10', digest])
      assert.deepEqual(check({ image }).faults, [])
    for (const image of ['pause', 'mirror.example.invalid:5000/pause', 'pause:', ''])
      assert.deepEqual(check({ image }).faults, ['spec.stages[0].nodePool.verify.image'], image)
    assert.deepEqual(check({ timeout: 'soon' }).faults, ['spec.stages[0].nodePool.verify.timeout'])
  })
})
