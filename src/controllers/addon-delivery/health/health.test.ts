import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { UnknownObject } from '#api'
import { isCaptError } from '#lib'
import { decideHealth, summarize } from './health.ts'
import { parsePath, readPath } from './path.ts'
import { type Check, targetOf } from './read.ts'

const object = (kind: string, rest: object, generation = 1): UnknownObject => ({
  apiVersion: 'x/v1',
  kind,
  metadata: { name: 'it', generation },
  ...rest,
})
const see = (check: Partial<Check>, observed: UnknownObject | undefined, beside: readonly UnknownObject[] = []) =>
  decideHealth({ type: 'Condition', name: 'it', ...check } as Check, { object: observed, beside, served: true })
const condition = (type: string, status: string, reason = 'Because', message = 'of this') => ({
  type,
  status,
  reason,
  message,
})
const release = (conditions: object[], more: object = {}) =>
  object('HelmRelease', { status: { observedGeneration: 1, conditions, ...more } })

describe('health of a HelmRelease', () => {
  const check = { type: 'HelmReleaseReady' } as const
  for (const [what, observed, state, text] of [
    ['is not there yet', undefined, 'progressing', /does not exist yet/],
    ['has no status yet', object('HelmRelease', {}), 'progressing', /no status yet/],
    [
      'is not ready because its answer is about an older spec',
      object('HelmRelease', { status: { observedGeneration: 1, conditions: [condition('Ready', 'True')] } }, 2),
      'progressing',
      /not looked at since it changed/,
    ],
    [
      'is failed when it is stalled, even with Ready false',
      release([condition('Ready', 'False'), condition('Stalled', 'True', 'RetriesExceeded', 'too often')]),
      'failed',
      /RetriesExceeded: too often/,
    ],
    [
      'is working while Ready is unknown',
      release([condition('Ready', 'Unknown', 'Progressing', 'installing')]),
      'progressing',
      /Progressing: installing/,
    ],
    [
      'is working while it will be retried',
      release([condition('Ready', 'False', 'InstallFailed', 'timeout')]),
      'progressing',
      /InstallFailed: timeout/,
    ],
    [
      'is healthy when Ready is true',
      release([condition('Ready', 'True', 'InstallSucceeded')]),
      'healthy',
      /ready: InstallSucceeded/,
    ],
    [
      'is not healthy while suspended',
      object('HelmRelease', {
        spec: { suspend: true },
        status: { observedGeneration: 1, conditions: [condition('Ready', 'True')] },
      }),
      'progressing',
      /suspended/,
    ],
  ] as const) {
    it(what, () => {
      const finding = see(check, observed)
      assert.equal(finding.state, state)
      assert.match(finding.evidence, text)
    })
  }

  it('waits for the chart version that is wanted', () => {
    const running = (chartVersion: string) =>
      see({ ...check, version: '1.14.1' }, release([condition('Ready', 'True')], { history: [{ chartVersion }] })).state
    assert.deepEqual(
      [running('1.14.0'), running('1.14.1'), running('v1.14.1'), running('1.14.1+abc')],
      ['progressing', 'healthy', 'healthy', 'healthy'],
    )
  })
})

/** Conditions and generations as source-controller 1.9 and helm-controller 1.6 were seen to write them. */
const own = (observedGeneration: number, ...args: Parameters<typeof condition>) => ({
  ...condition(...args),
  observedGeneration,
})
const PULL = ['OCIArtifactPullFailed', 'failed to determine artifact digest: 503'] as const
const fetchFailed = (generation: number) => [
  own(generation, 'Ready', 'False', ...PULL),
  own(generation, 'FetchFailed', 'True', ...PULL),
]
const stored = (generation: number) => own(generation, 'ArtifactInStorage', 'True', 'Succeeded', 'stored')

describe('health of a source', () => {
  const source = (generation: number, status: object | undefined) =>
    object('OCIRepository', status ? { status } : {}, generation)
  for (const [what, generation, status, state, text] of [
    ['has no status yet', 1, undefined, 'progressing', /no status yet/],
    ['has no status yet when only the default is there', 1, { observedGeneration: -1 }, 'progressing', /no status yet/],
    [
      'fails at its first fetch, which leaves the generation of the status at -1',
      1,
      { observedGeneration: -1, conditions: fetchFailed(1) },
      'failed',
      /OCIArtifactPullFailed: failed to determine artifact digest: 503$/,
    ],
    [
      'fails after a change of its spec: the artifact in storage is of the spec before',
      2,
      { observedGeneration: 1, conditions: [...fetchFailed(2), stored(1)], artifact: {} },
      'failed',
      /OCIArtifactPullFailed/,
    ],
    [
      'is not failed by a condition about the spec before',
      2,
      { observedGeneration: 1, conditions: fetchFailed(1) },
      'progressing',
      /no status yet/,
    ],
    [
      'is degraded when a refresh fails and the artifact of the present spec is in storage',
      1,
      { observedGeneration: 1, conditions: [...fetchFailed(1), stored(1)], artifact: {} },
      'degraded',
      /503 \(the artifact fetched before is used\)$/,
    ],
    [
      'is failed when it is stalled, whatever is in storage',
      1,
      { observedGeneration: 1, conditions: [own(1, 'Stalled', 'True', 'URLInvalid', 'bad'), stored(1)] },
      'failed',
      /URLInvalid: bad/,
    ],
    [
      'is not healthy by a Ready=True of the spec before',
      2,
      { observedGeneration: 1, conditions: [own(1, 'Ready', 'True', 'Succeeded'), stored(1)] },
      'progressing',
      /no status yet/,
    ],
    [
      'says what it waits for while it fetches',
      2,
      { observedGeneration: 1, conditions: [own(2, 'Ready', 'Unknown', 'Progressing', 'building artifact')] },
      'progressing',
      /Progressing: building artifact/,
    ],
    [
      'is healthy when it was fetched',
      1,
      { observedGeneration: 1, conditions: [own(1, 'Ready', 'True', 'Succeeded'), stored(1)] },
      'healthy',
      /fetched/,
    ],
  ] as const) {
    it(what, () => {
      const finding = see({ type: 'SourceReady' }, source(generation, status))
      assert.equal(finding.state, state, finding.evidence)
      assert.match(finding.evidence, text)
    })
  }

  it('does not wait for an OCI HelmRepository, which never has a status', () => {
    assert.equal(
      see({ type: 'SourceReady', kind: 'HelmRepository' }, object('HelmRepository', { spec: { type: 'oci' } })).state,
      'healthy',
    )
  })
})

describe('health of a HelmRelease whose action fails', () => {
  const failing = (generation: number, observed: number, reason: string, more: object[] = []) =>
    see(
      { type: 'HelmReleaseReady' },
      object(
        'HelmRelease',
        {
          status: {
            observedGeneration: observed,
            conditions: [own(generation, 'Ready', 'False', reason, 'timed out'), ...more],
          },
        },
        generation,
      ),
    )

  for (const reason of ['InstallFailed', 'UpgradeFailed', 'TestFailed', 'ValuesError', 'ArtifactFailed'])
    it(`shows ${reason} as a cause before the status has caught up with the spec`, () => {
      const finding = failing(2, 1, reason)
      assert.deepEqual([finding.state, finding.isCause], ['progressing', true])
      assert.match(finding.evidence, new RegExp(`${reason}: timed out`))
    })

  for (const reason of ['DependencyNotReady', 'SourceNotReady', 'Progressing'])
    it(`does not take ${reason} for a cause: it passes by itself`, () => {
      assert.equal(failing(2, 1, reason).isCause, undefined)
    })

  for (const [history, version, state] of [
    [[{ chartVersion: '1.14.1', status: 'deployed' }], '1.14.1', 'degraded'],
    [[{ chartVersion: '1.14.1', status: 'deployed' }], '1.14.2', 'progressing'],
    [[{ chartVersion: '1.14.1', status: 'failed' }], '1.14.1', 'progressing'],
    [[], '1.14.1', 'progressing'],
  ] as const)
    it(`is ${state} when its source fails with ${JSON.stringify(history)} and ${version} wanted`, () => {
      const conditions = [own(1, 'Ready', 'False', 'SourceNotReady', 'OCIRepository is not ready')]
      const status = { observedGeneration: 1, conditions, history }
      assert.equal(see({ type: 'HelmReleaseReady', version }, object('HelmRelease', { status })).state, state)
    })

  it('is failed by Stalled of its own generation, although the status is behind', () => {
    const stalledNow = own(2, 'Stalled', 'True', 'RetriesExceeded', 'too often')
    assert.equal(failing(2, 1, 'InstallFailed', [stalledNow]).state, 'failed')
  })
})

describe('health of a Deployment', () => {
  const check = { type: 'DeploymentAvailable' } as const
  const deployment = (status: object) =>
    object('Deployment', {
      spec: { replicas: 2 },
      status: {
        observedGeneration: 1,
        updatedReplicas: 2,
        availableReplicas: 2,
        conditions: [condition('Available', 'True')],
        ...status,
      },
    })

  it('is healthy when all replicas of the present template are available', () => {
    assert.deepEqual(see(check, deployment({})), { state: 'healthy', evidence: 'Deployment it: 2 of 2 available' })
  })

  it('is not healthy while old pods still answer', () => {
    assert.equal(see(check, deployment({ updatedReplicas: 1 })).evidence, 'Deployment it: 1 of 2 updated')
  })

  it('says what keeps a pod from running', () => {
    const pod = object('Pod', {
      status: { containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } }] },
    })
    assert.equal(
      see(check, deployment({ availableReplicas: 0, conditions: [] }), [pod]).evidence,
      'Deployment it: 0 of 2 available; ImagePullBackOff: no such image',
    )
  })

  it('is failed when its deadline has passed', () => {
    assert.equal(
      see(
        check,
        deployment({
          availableReplicas: 0,
          conditions: [condition('Progressing', 'False', 'ProgressDeadlineExceeded')],
        }),
      ).state,
      'failed',
    )
  })
})

describe('other checks', () => {
  it('see CRDs, Jobs and endpoints', () => {
    assert.equal(
      see({ type: 'CRDEstablished' }, object('CRD', { status: { conditions: [condition('Established', 'True')] } }))
        .state,
      'healthy',
    )
    assert.equal(
      see(
        { type: 'JobComplete' },
        object('Job', { status: { conditions: [condition('Failed', 'True', 'DeadlineExceeded')] } }),
      ).state,
      'failed',
    )
    assert.equal(
      see({ type: 'ServiceHasEndpoints' }, undefined, [
        object('EndpointSlice', { endpoints: [{ addresses: ['1'], conditions: { ready: false } }] }),
      ]).state,
      'progressing',
    )
    assert.equal(
      see({ type: 'ServiceHasEndpoints' }, undefined, [object('EndpointSlice', { endpoints: [{ addresses: ['1'] }] })])
        .state,
      'healthy',
    )
  })

  it('compare any path with a text', () => {
    const check = { path: 'status.conditions[type=Ready].status', equals: 'True', kind: 'Widget', apiVersion: 'a/v1' }
    assert.equal(
      see(check, object('Widget', { status: { conditions: [condition('Ready', 'True')] } })).evidence,
      'Widget it Ready',
    )
    assert.equal(
      see(check, object('Widget', { status: {} })).evidence,
      'Widget it has nothing at status.conditions[type=Ready].status',
    )
    assert.equal(
      see({ ...check, path: 'spec.size', equals: '3' }, object('Widget', { spec: { size: 3 } })).state,
      'healthy',
    )
  })

  it('guess the plural of a kind, or take the one that is given', () => {
    const kind = (name: string, plural?: string) =>
      targetOf({
        type: 'Condition',
        name: 'x',
        apiVersion: 'a.b/v1',
        kind: name,
        path: 'a',
        equals: 'b',
        ...(plural ? { plural } : {}),
      }).kind.plural
    assert.deepEqual(
      [kind('NodePool'), kind('EC2NodeClass'), kind('Policy'), kind('Fish', 'fish')],
      ['nodepools', 'ec2nodeclasses', 'policies', 'fish'],
    )
  })

  it('are counted when everything is healthy', () => {
    const healthy = (evidence: string) => ({ state: 'healthy', evidence }) as const
    assert.deepEqual(
      summarize([
        healthy('CRD a established'),
        healthy('CRD b established'),
        healthy('Deployment x: 2 of 2 available'),
        healthy('OCIRepository y fetched'),
      ]),
      ['2 CRDs established', 'Deployment x: 2 of 2 available', 'OCIRepository y fetched'],
    )
  })
})

describe('a health path', () => {
  it('reads fields, items by number and items by a field', () => {
    assert.equal(
      readPath(
        {
          a: [
            { n: 'x', v: 1 },
            { n: 'y', v: 2 },
          ],
        },
        'a[n=y].v',
      ),
      2,
    )
    assert.equal(readPath({ a: [1, 2] }, 'a[1]'), 2)
    assert.equal(readPath({ a: 1 }, 'a.b.c'), undefined)
  })

  for (const path of ['', 'a..b', 'a[', 'a[x', 'a b', '.']) {
    it(`refuses ${JSON.stringify(path)}`, () =>
      assert.throws(
        () => parsePath(path),
        (error) => isCaptError(error, 'CAPT_HEALTH_PATH_INVALID'),
      ))
  }
})
