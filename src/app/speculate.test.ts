// Which applies a file of manifests concerns, and what it would ask of them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type AnyObject, CAPTCluster, readManifests } from '#api'
import { memoryCluster } from '#testing'
import { speculate } from './speculate.ts'

describe('speculate', () => {
  it('derives the applies of a cluster as its controllers do, and stores nothing', async () => {
    const text = readFileSync(join(import.meta.dirname, '..', '..', 'examples', 'simulation.yaml'), 'utf8')
    const manifests = readManifests(text, 'simulation.yaml').map(({ object }) => object as AnyObject)
    const { objects, peek } = memoryCluster()
    const found = await speculate(objects, 'default', manifests)
    assert.deepEqual(
      found.map(({ target, spec }) => [target, spec.templateRef.name, spec.variables?.['region']]),
      [
        ['demo-vpc', 'simulation-vpc', 'eu-west-1'],
        ['demo-eks-controlplane-apply', 'simulation-eks-controlplane', 'eu-west-1'],
      ],
    )
    assert.equal(found[0]?.spec.variables?.['vpc_cidr'], '10.0.0.0/16')
    assert.equal(peek(CAPTCluster, { namespace: 'default', name: 'demo' }), undefined)
  })
})
