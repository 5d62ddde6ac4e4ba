import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closest, editDistance } from './closest.ts'

describe('did you mean', () => {
  const fields = ['region', 'vpcTemplateRef', 'existingVpcId', 'retainVpcOnDelete']

  it('finds the word that was meant, whatever the case', () => {
    assert.equal(closest('regoin', fields), 'region')
    assert.equal(closest('existingVPCID', fields), 'existingVpcId')
  })

  it('says nothing when no word is near', () => {
    assert.equal(closest('tags', fields), undefined)
    assert.equal(closest('', []), undefined)
  })

  it('counts a swap of neighbours as one mistake', () => {
    assert.equal(editDistance('regoin', 'region'), 1)
    assert.equal(editDistance('', 'abc'), 3)
  })
})
