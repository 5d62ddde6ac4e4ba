import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkManifests, readManifests } from '#api'
import { CHECKS, clusterManifest, vpcOf } from './manifest.ts'

describe('The manifest of a new cluster', () => {
  for (const vpc of ['10.0.0.0/16', 'vpc-0123abcd'])
    for (const karpenter of [true, false])
      it(`is valid with ${vpc}${karpenter ? ' and Karpenter' : ''}`, () => {
        const text = clusterManifest({
          name: 'shop',
          region: 'eu-west-1',
          version: 'v1.35',
          vpc: vpcOf(vpc),
          karpenter,
        })
        const manifests = readManifests(text, 'shop.yaml')
        assert.deepEqual(checkManifests(manifests), [])
        assert.deepEqual(
          manifests.map(({ object }) => object.kind),
          ['Cluster', 'CAPTCluster', 'CAPTControlPlane'],
        )
        assert.equal(text.includes('eks-karpenter'), karpenter)
        assert.match(text, /version: "1\.35"/)
      })

  for (const [what, good, bad] of [
    ['name', ['shop', 'a', 'shop-2'], ['Shop', '2shop', '-a', 'a-', '', 'a'.repeat(64)]],
    ['region', ['eu-west-1', 'us-gov-east-1'], ['eu', 'eu-west', 'EU-WEST-1']],
    ['version', ['1.35', 'v1.35'], ['1.35.2', '2.0', 'latest']],
    ['vpc', ['10.0.0.0/16', '10.0.0.0/20', 'vpc-0a'], ['10.0.0.0/8', '10.0.0.0/24', '300.0.0.0/16', 'vpc']],
  ] as const)
    it(`has a ${what} that is checked`, () => {
      for (const text of good) assert.equal(CHECKS[what](text), undefined, text)
      for (const text of bad) assert.equal(typeof CHECKS[what](text), 'string', text)
    })
})
