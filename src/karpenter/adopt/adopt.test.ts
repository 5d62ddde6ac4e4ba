import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { FoundDeployment } from '../survey/survey.ts'
import { decideAdoption } from './decide.ts'
import { toFacts } from './read-release.ts'

const RELEASE = { name: 'karpenter', chart: { metadata: { version: '1.13.0' } }, config: { replicas: 1 } }
const packed = (release: object) => Buffer.from(gzipSync(JSON.stringify(release)).toString('base64')).toString('base64')
const secret = (release: string) => ({ metadata: { name: 'sh.helm.release.v1.karpenter.v2' }, data: { release } })
const facts = toFacts(secret(packed(RELEASE)), 'karpenter')

describe('the Helm release of Karpenter', () => {
  it('has its version and the values that people gave', () =>
    assert.deepEqual(facts, {
      address: 'Secret sh.helm.release.v1.karpenter.v2',
      name: 'karpenter',
      namespace: 'karpenter',
      version: '1.13.0',
      values: { replicas: 1 },
      hidden: [],
    }))

  it('that cannot be read has no name', () => assert.equal(toFacts(secret('bm90IHBhY2tlZA=='), 'a').name, undefined))
})

describe('decideAdoption', () => {
  const eks = { name: 'shop', isAutoMode: false }
  const running: FoundDeployment = {
    namespace: 'karpenter',
    name: 'karpenter',
    version: '1.13.0',
    replicas: 2,
    available: 2,
  }
  const flux = { version: '2.9.5', isRunning: true }
  const found = { flux, karpenter: [running], journal: undefined }

  it('takes a Helm release over, and leaves Flux as it is', () => {
    const { notes, release } = decideAdoption(eks, found, facts, { flux: false, karpenter: true })
    assert.equal(release, facts)
    assert.deepEqual(notes, [
      'Flux 2.9.5 runs and is left as it is',
      'Karpenter 1.13.0 runs in namespace karpenter',
      'the Helm release karpenter 1.13.0 is taken over with its values',
    ])
  })

  it('leaves Karpenter alone unless it is asked for', () => {
    const { notes, release } = decideAdoption(eks, found, facts, { flux: true, karpenter: false })
    assert.equal(release, undefined)
    assert.match(notes.at(-1)!, /left as it is/)
  })

  const journal = { version: '1.13.0' } as never
  const refused: readonly (readonly [string, Parameters<typeof decideAdoption>, RegExp])[] = [
    ['Auto Mode', [{ ...eks, isAutoMode: true }, found, facts, { flux: false, karpenter: true }], /Auto Mode/],
    [
      'no Karpenter',
      [eks, { ...found, karpenter: [] }, undefined, { flux: false, karpenter: true }],
      /no Karpenter runs/,
    ],
    ['two of them', [eks, { ...found, karpenter: [running, running] }, facts, { flux: false, karpenter: true }], /two/],
    [
      'one of capt karpenter install',
      [eks, { ...found, journal }, facts, { flux: false, karpenter: true }],
      /install keeps/,
    ],
    [
      'one that Flux keeps',
      [
        eks,
        { ...found, karpenter: [{ ...running, fluxOwner: 'HelmRelease a/b' }] },
        facts,
        { flux: false, karpenter: true },
      ],
      /HelmRelease a\/b/,
    ],
    ['one without a release', [eks, found, undefined, { flux: false, karpenter: true }], /no Helm release/],
  ]
  for (const [what, input, message] of refused)
    it(`refuses to take over ${what}`, () =>
      assert.throws(() => decideAdoption(...input), { code: 'CAPT_ADOPT_KARPENTER', message }))
})
