import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CAPTControlPlane, isAdopted } from '#api'
import type { EksDescription } from '#aws'
import { manualClock } from '#testing'
import type { Observed } from '../observe.ts'
import { decideAdopted } from './decide.ts'
import { createDescriptions, type Described } from './descriptions.ts'
import { factsOfAdopted } from './facts.ts'

const EKS: EksDescription = {
  status: 'ACTIVE',
  version: '1.35',
  arn: 'arn:aws:eks:eu-west-1:1:cluster/shop',
  endpoint: 'https://eks.example.com',
  caData: 'Y2E=',
  vpcId: 'vpc-1',
  serviceCidr: '10.100.0.0/16',
}
const described = (over: Partial<Described>): Described => ({
  name: 'shop',
  isDue: false,
  retryAfterSeconds: 30,
  ...over,
})
const plane = (outputs?: object) =>
  ({
    spec: { version: '1.35', policy: 'Adopted' },
    status: outputs ? { workspaceStatus: { atProvider: { outputs } } } : {},
  }) as unknown as CAPTControlPlane
const observed = (answer: Described, outputs?: object): Observed =>
  ({ described: answer, facts: factsOfAdopted(plane(outputs), answer) }) as unknown as Observed

const MISSING = { message: 'There is no EKS cluster shop', hint: 'correct it', isMissing: true }
const DENIED = { message: 'eks:DescribeCluster was refused', hint: 'allow it', isMissing: false }
const REPORTED = { cluster_endpoint: 'https://old.example.com', cluster_version: '1.34' }

describe('an adopted control plane', () => {
  const rows: readonly (readonly [string, Described, object | undefined, string])[] = [
    ['was never read', described({ isDue: true }), undefined, 'describe'],
    ['was read long ago', described({ cluster: EKS, isDue: true }), REPORTED, 'describe'],
    ['is active', described({ cluster: EKS }), undefined, 'goes on'],
    ['is updated by its owner', described({ cluster: { ...EKS, status: 'UPDATING' } }), undefined, 'goes on'],
    [
      'is still made',
      described({ cluster: { ...EKS, status: 'CREATING', endpoint: '' } }),
      undefined,
      'EKSClusterNotActive',
    ],
    [
      'is destroyed by its owner',
      described({ cluster: { ...EKS, status: 'DELETING' } }),
      REPORTED,
      'EKSClusterNotActive',
    ],
    ['does not exist', described({ fault: MISSING }), undefined, 'EKSClusterNotFound'],
    ['is gone', described({ cluster: EKS, fault: MISSING }), REPORTED, 'EKSClusterNotFound'],
    ['may not be read', described({ fault: DENIED }), undefined, 'EKSClusterUnreadable'],
    ['may not be read any more', described({ cluster: EKS, fault: DENIED }), REPORTED, 'goes on'],
    ['may not be read after a restart', described({ fault: DENIED }), REPORTED, 'goes on'],
  ]
  for (const [when, answer, outputs, expected] of rows)
    it(`that ${when}: ${expected}`, () => {
      const decision = decideAdopted(observed(answer, outputs))
      const text = !decision
        ? 'goes on'
        : decision.is === 'act'
          ? decision.actions[0]!.do
          : decision.is === 'done'
            ? 'done'
            : decision.reason
      assert.equal(text, expected)
    })

  it('has what EKS says where outputs of Terraform stand, and otherwise what was reported last', () => {
    const fresh = factsOfAdopted(plane(REPORTED), described({ cluster: EKS }))
    assert.equal(fresh.outputs['cluster_endpoint'], EKS.endpoint)
    assert.equal(fresh.outputs['cluster_name'], 'shop')
    assert.equal(fresh.outputs['cluster_service_cidr'], EKS.serviceCidr)
    assert.equal(fresh.state.is, 'applied')
    const kept = factsOfAdopted(plane(REPORTED), described({ isDue: true }))
    assert.equal(kept.outputs['cluster_endpoint'], REPORTED.cluster_endpoint)
    assert.equal(kept.state.is, 'applied')
    assert.equal(factsOfAdopted(plane(), described({ isDue: true })).state.is, 'absent')
    assert.ok(isAdopted(plane()))
  })
})

describe('what EKS said', () => {
  const key = { namespace: 'default', name: 'shop' }
  it('counts for minutes when the cluster is up, for seconds otherwise, and outlives a fault', async () => {
    const clock = manualClock()
    const descriptions = createDescriptions(clock)
    assert.ok(descriptions.read(key).isDue)
    descriptions.note(key, 'shop', EKS)
    await clock.advance(299_000)
    assert.ok(!descriptions.read(key).isDue)
    await clock.advance(2_000)
    assert.ok(descriptions.read(key).isDue)
    descriptions.note(key, 'shop', DENIED)
    const { cluster, fault, isDue, retryAfterSeconds } = descriptions.read(key)
    assert.deepEqual([cluster, fault, isDue, retryAfterSeconds], [EKS, DENIED, false, 30])
    await clock.advance(30_000)
    assert.ok(descriptions.read(key).isDue)
    descriptions.note(key, 'shop', EKS)
    assert.equal(descriptions.read(key).fault, undefined)
    descriptions.forget(key)
    assert.equal(descriptions.read(key).cluster, undefined)
  })
})
