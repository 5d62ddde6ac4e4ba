import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { shippedStage } from '../observed-examples.ts'
import { typeOf } from './registry.ts'

describe('a stage of a type that this version does not have', () => {
  const { flux: _flux, ...stage } = shippedStage('flux')

  it('is refused', () => {
    assert.throws(() => typeOf(stage).render({ stage } as never), { code: 'CAPT_STAGE_UNKNOWN' })
  })

  it('is removed by what was delivered for it', () => {
    const types = typeOf(stage)
      .removal(stage, { nodesTimeoutMs: 1 })
      .map(({ type }) => type)
    assert.deepEqual(types, ['objects'])
  })
})
