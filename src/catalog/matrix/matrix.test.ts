import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type MatrixRow, matrix } from './data.ts'
import { contradictions, staleRows } from './faults.ts'
import { checkPair, defaultKubernetes, defaultVersionsFor, eksState, rowFor, supports, versionsFor } from './matrix.ts'

const today = () => new Date().toISOString().slice(0, 10)
const change = (component: string, line: string, over: object): MatrixRow[] =>
  matrix.map((row) => (row.component === component && row.line === line ? ({ ...row, ...over } as MatrixRow) : row))

describe('version matrix', () => {
  it('does not contradict itself', () => assert.deepEqual(contradictions(matrix), []))

  it('has no row whose date has passed without being marked', () => assert.deepEqual(staleRows(matrix, today()), []))

  for (const [what, rows, complaint] of [
    ['a row twice', [...matrix, matrix[0]!], 'eks 1.36: two rows'],
    ['dates out of order', change('eks', '1.35', { extendedUntil: '2026-02-01' }), 'eks 1.35: dates are out of order'],
    ['a malformed date', change('eks', '1.35', { released: '2026-02-30' }), 'eks 1.35: a date is malformed'],
    [
      'an older version that ends later',
      change('eks', '1.34', { standardUntil: '2027-05-01' }),
      'eks 1.35: not later than eks 1.34',
    ],
    [
      'a range upside down',
      change('flux', '2.9', { kubernetes: { min: '1.36', max: '1.34' } }),
      'flux 2.9: Kubernetes range is upside down',
    ],
    [
      'a newer line that supports less',
      change('flux', '2.9', { kubernetes: { min: '1.33', max: '1.34' } }),
      'flux 2.9: range shrinks against flux 2.8',
    ],
    [
      'a patch of another line',
      change('karpenter', '1.13', { newest: '1.12.3' }),
      'karpenter 1.13: 1.12.3 is not of this line',
    ],
    ['a row without a source', change('karpenter', '1.13', { source: '' }), 'karpenter 1.13: no source'],
  ] as const) {
    it(`would notice ${what}`, () =>
      assert.ok(contradictions(rows).includes(complaint), contradictions(rows).join('\n')))
  }

  for (const [day, complaint] of [
    ['2027-03-24', 'eks 1.32: ended on 2027-03-23 but is marked aging'],
    ['2027-08-03', 'eks 1.36: left standard support on 2027-08-02 but is marked current'],
    ['2026-09-01', 'eks 1.31: marked retired before its time'],
    ['2026-08-01', 'eks 1.34: marked aging before its time'],
  ] as const) {
    it(`would be stale on ${day}`, () =>
      assert.ok(staleRows(matrix, day).includes(complaint), staleRows(matrix, day).join('\n')))
  }

  // facts: the join of EKS, Flux and Karpenter that upstream's three tables allow
  for (const [kubernetes, flux, karpenterFloor] of [
    ['1.36', ['2.9'], '1.13'],
    ['1.35', ['2.9', '2.8'], '1.9'],
    ['1.34', ['2.9', '2.8', '2.7'], '1.6'],
    ['1.33', ['2.8', '2.7', '2.6'], '1.5'],
    ['1.32', ['2.7', '2.6'], '1.2'],
    ['1.31', ['2.6'], '1.0'],
  ] as const) {
    it(`joins Kubernetes ${kubernetes} with Flux ${flux.join(', ')} and Karpenter ${karpenterFloor} or later`, () => {
      assert.deepEqual(
        versionsFor('flux', kubernetes).map((version) => version.split('.').slice(0, 2).join('.')),
        flux,
      )
      assert.equal(versionsFor('karpenter', kubernetes).at(-1)?.split('.').slice(0, 2).join('.'), karpenterFloor)
    })
  }

  it('distinguishes 1.0.4 from 1.0.5: only the later one may run on Kubernetes 1.31', () => {
    assert.equal(supports('karpenter', '1.0.4', '1.31'), false)
    assert.equal(supports('karpenter', '1.0.7', '1.31'), true)
    assert.equal(supports('karpenter', 'v1.0.7', 'v1.32.3-eks-1234'), false)
    assert.equal(rowFor('karpenter', '1.0.2')?.newest, '1.0.4')
  })

  it('allows the pair it would choose itself, for every EKS version that can still be created', () => {
    for (const kubernetes of ['1.31', '1.32', '1.33', '1.34', '1.35', '1.36']) {
      assert.deepEqual(checkPair({ kubernetes, ...defaultVersionsFor(kubernetes) }), [])
    }
    assert.deepEqual(defaultVersionsFor('1.36'), { flux: '2.9.5', karpenter: '1.14.1' })
  })

  it('chooses among the Flux bundles that can be delivered', () => {
    assert.equal(defaultVersionsFor('1.33', { fluxBundles: ['2.6.4', '2.9.5'] }).flux, '2.6.4')
    assert.throws(() => defaultVersionsFor('1.36', { fluxBundles: ['2.6.4'] }), { code: 'CAPT_MATRIX_FORBIDDEN' })
  })

  for (const [what, pair, message] of [
    [
      'the chart of the first proposal on a current cluster',
      { kubernetes: '1.34', karpenter: '1.0.7' },
      /Karpenter 1.0.7 supports Kubernetes 1.25 to 1.31, not 1.34/,
    ],
    [
      'a Karpenter that is only a place to come from',
      { kubernetes: '1.31', karpenter: 'v0.30.0' },
      /too old to be installed/,
    ],
    [
      'a release that was withdrawn',
      { kubernetes: '1.34', karpenter: '1.8.4' },
      /must not be used \(kubernetes-sigs\/karpenter#2785\)/,
    ],
    [
      'a Flux that is too new for the cluster',
      { kubernetes: '1.32', flux: '2.9.5' },
      /Flux 2.9.5 supports Kubernetes 1.34 to 1.36, not 1.32/,
    ],
    ['a Flux nobody knows', { kubernetes: '1.34', flux: '7.1.0' }, /Flux 7.1.0 is not in the version matrix/],
    [
      'a Kubernetes nobody knows',
      { kubernetes: '1.99', flux: '2.9.5' },
      /Kubernetes 1.99 is not in the version matrix/,
    ],
    ['something that is not a version', { kubernetes: 'newest' }, /"newest" is not a version/],
  ] as const) {
    it(`forbids ${what}, and says what to use`, () => {
      const faults = checkPair(pair)
      assert.ok(
        faults.some((fault) => message.test(fault.message)),
        JSON.stringify(faults),
      )
      for (const fault of faults) assert.match(fault.hint, /use |choose |write /)
    })
  }

  it('knows on which day support changes', () => {
    assert.equal(eksState('1.34', '2026-11-15'), 'standard')
    assert.equal(eksState('v1.34.2', '2026-12-02'), 'standard')
    assert.equal(eksState('1.34', '2026-12-03'), 'extended')
    assert.equal(eksState('1.31', '2026-11-27'), 'ended')
    assert.equal(eksState('1.36', '2026-06-01'), 'unreleased')
    assert.equal(eksState('1.99', '2026-06-01'), 'unknown')
    assert.equal(defaultKubernetes(), '1.36')
  })
})
