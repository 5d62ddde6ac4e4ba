import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NEEDED_POLICIES, neededActions, neededPolicy } from './needs.ts'

describe('Needed permissions', () => {
  it('are one statement for each scope, unrestricted ones first', () => {
    const scopes = neededActions(['network', 'cluster'])
    assert.deepEqual(scopes[0]!.resources, undefined)
    assert.deepEqual(scopes[0]!.condition, undefined)
    const keys = scopes.map(({ resources, condition }) => JSON.stringify([resources, condition]))
    assert.deepEqual([...new Set(keys)], keys)
  })

  it('name each action once in a statement, in order', () => {
    for (const { name } of NEEDED_POLICIES)
      for (const { Action } of neededPolicy(name).Statement) assert.deepEqual([...new Set(Action)].sort(), Action)
  })

  it('of a cluster in an existing VPC make no VPC', () => {
    const actions = neededActions(['cluster', 'capt']).flatMap((scope) => scope.actions)
    assert.ok(!actions.includes('ec2:CreateVpc') && actions.includes('eks:CreateCluster'))
  })
})
