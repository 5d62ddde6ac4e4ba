import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chartTag, chartUrl } from './chart.ts'
import { type KarpenterValuesInput, renderKarpenterValues } from './values.ts'
import { lintValues } from './values-lint.ts'
import { mergeValues } from './values-merge.ts'

const input = (over: Partial<KarpenterValuesInput> = {}): KarpenterValuesInput => ({
  version: '1.14.1',
  clusterName: 'demo',
  identity: 'podIdentity',
  namespace: 'kube-system',
  replicas: 2,
  ...over,
})
const guard = [
  { key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' },
  { key: 'karpenter.sh/provisioner-name', operator: 'DoesNotExist' },
]

describe('chart values', () => {
  it('are complete for a cluster nobody described further', () => {
    assert.deepEqual(renderKarpenterValues(input({ interruptionQueue: 'Karpenter-demo' })), {
      replicas: 2,
      serviceAccount: { create: true, name: 'karpenter' },
      controller: { resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } } },
      settings: { clusterName: 'demo', interruptionQueue: 'Karpenter-demo' },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: guard }] },
        },
      },
    })
  })

  describe('with the defaults of the chart', () => {
    const own = { serviceAccount: { create: true, name: 'karpenter' }, settings: { clusterName: 'demo' } }
    const of = (values: object, over: object = {}) =>
      renderKarpenterValues(
        input({ defaults: 'Chart', replicas: undefined, interruptionQueue: 'q', values: values as never, ...over }),
      )
    const termsOf = (nodeSelectorTerms: unknown) => ({
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
    })
    const ops = { key: 'role', operator: 'In', values: ['ops'] }
    const guarded = { matchExpressions: [ops, guard[0]] }

    it('are those that people gave, with identity and cluster alone', () => {
      assert.deepEqual(of({ replicas: 1, logLevel: 'debug' }), { ...own, replicas: 1, logLevel: 'debug' })
      assert.deepEqual(of({}, { replicas: 3 }), { ...own, replicas: 3 })
    })

    for (const [what, values] of [
      ['no affinity', {}],
      ['rules about other pods', { affinity: { podAntiAffinity: {} } }],
      ['preferences', { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } } }],
      ['terms with the guard of the chart', termsOf([guarded])],
    ] as const)
      it(`keep ${what} as it is`, () => assert.deepEqual(of(values), { ...own, ...values }))

    for (const [what, values, expressions] of [
      ['an affinity that is taken away', { affinity: null }, guard],
      ['a node affinity that is taken away', { affinity: { nodeAffinity: null } }, guard],
      ['a term without the guard', termsOf([{ matchExpressions: [ops] }]), [ops, ...guard]],
    ] as const)
      it(`add the guard to ${what}`, () =>
        assert.deepEqual(of(values), { ...own, ...termsOf([{ matchExpressions: expressions }]) }))
  })

  it('carry the role annotation for irsa and never for Pod Identity', () => {
    const roleArn = 'arn:aws:iam::1:role/k'
    assert.partialDeepStrictEqual(renderKarpenterValues(input({ identity: 'irsa', roleArn })), {
      serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': roleArn } },
    })
    assert.equal('annotations' in (renderKarpenterValues(input({ roleArn }))['serviceAccount'] as object), false)
    assert.throws(() => renderKarpenterValues(input({ identity: 'irsa' })), { code: 'CAPT_KARPENTER_VALUES_INVALID' })
  })

  it('put the guard into every term of the affinity in the free values', () => {
    const terms = [
      { matchExpressions: [{ key: 'role', operator: 'In', values: ['ops'] }] },
      { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] },
    ]
    const values = {
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
    }
    assert.partialDeepStrictEqual(renderKarpenterValues(input({ values })), {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [...terms[0]!.matchExpressions!, ...guard] },
              { ...terms[1], matchExpressions: guard },
            ],
          },
        },
      },
    })
  })

  it('keep the guard when the free values remove the affinity', () => {
    assert.partialDeepStrictEqual(renderKarpenterValues(input({ values: { affinity: null } })), {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: guard }] },
        },
      },
    })
  })

  it('let the free values win over our defaults, as Helm merges', () => {
    const controller = { resources: { requests: { cpu: '2' } } }
    const values = { replicas: 1, settings: { featureGates: { spotToSpotConsolidation: true } }, controller }
    assert.partialDeepStrictEqual(renderKarpenterValues(input({ values })), {
      replicas: 1,
      settings: { clusterName: 'demo', featureGates: { spotToSpotConsolidation: true } },
      controller: { resources: { requests: { cpu: '2', memory: '1Gi' } } },
    })
  })

  for (const [what, over, code, message] of [
    [
      'settings.aws.* that moved',
      { values: { settings: { aws: { clusterName: 'demo' } } } },
      'CAPT_KARPENTER_VALUES_REFUSED',
      /settings.aws.clusterName is settings.clusterName since 0.32/,
    ],
    [
      'settings.aws.* that was dropped',
      { values: { settings: { aws: { defaultInstanceProfile: 'p' } } } },
      'CAPT_KARPENTER_VALUES_REFUSED',
      /was dropped and has no successor/,
    ],
    [
      'settings.aws.* nobody knows',
      { values: { settings: { aws: { clustername: 'p' } } } },
      'CAPT_KARPENTER_VALUES_REFUSED',
      /settings.aws.clustername is unknown/,
    ],
    [
      'another cluster name',
      { values: { settings: { clusterName: 'other' } } },
      'CAPT_KARPENTER_VALUES_CONFLICT',
      /settings.clusterName must be demo/,
    ],
    [
      'another service account',
      { values: { serviceAccount: { name: 'other' } } },
      'CAPT_KARPENTER_VALUES_CONFLICT',
      /serviceAccount.name must be karpenter/,
    ],
    [
      'a role annotation beside Pod Identity',
      { values: { serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'a' } } } },
      'CAPT_KARPENTER_VALUES_CONFLICT',
      /left out/,
    ],
    [
      'a queue given as a URL',
      { interruptionQueue: 'https://sqs.eu-west-1.amazonaws.com/1/q' },
      'CAPT_KARPENTER_VALUES_INVALID',
      /not a queue name/,
    ],
    ['a version that reads other settings', { version: '0.31.4' }, 'CAPT_KARPENTER_VALUES_INVALID', /settings.aws/],
    [
      'a node selector on the nodes of a pool',
      { values: { nodeSelector: { 'karpenter.sh/nodepool': 'ops' } } },
      'CAPT_PLACEMENT_IMPOSSIBLE',
      /nodeSelector: karpenter.sh.nodepool/,
    ],
  ] as const) {
    it(`refuse ${what}`, () => assert.throws(() => renderKarpenterValues(input(over)), { code, message }))
  }

  it('accept settings.aws.* where 0.32 still reads it, and name what later charts ignore', () => {
    assert.deepEqual(lintValues('0.32.10', { settings: { aws: { clusterName: 'a' } } }), [])
    assert.deepEqual(
      lintValues('1.14.1', { logConfig: { enabled: true }, webhook: { enabled: true } }).map(({ path, refused }) => [
        path,
        refused,
      ]),
      [
        ['logConfig', false],
        ['webhook', false],
      ],
    )
  })

  it('merge maps deeply, replace lists, and drop what is null', () => {
    assert.deepEqual(mergeValues({ a: { b: 1, c: [1, 2] }, d: 1 }, { a: { c: [3], e: {} }, d: null }), {
      a: { b: 1, c: [3], e: {} },
    })
  })
})

describe('chart address', () => {
  for (const [version, tag] of [
    ['0.30.0', 'v0.30.0'],
    ['v0.34.13', 'v0.34.13'],
    ['v0.35.0', '0.35.0'],
    ['1.14.1', '1.14.1'],
  ] as const) {
    it(`${version} is the tag ${tag}`, () => assert.equal(chartTag(version), tag))
  }
  it('is below the repository, and refuses charts that were never published there', () => {
    assert.equal(chartUrl(), 'oci://public.ecr.aws/karpenter/karpenter')
    assert.throws(() => chartTag('0.16.0'), { code: 'CAPT_MATRIX_UNKNOWN' })
    assert.throws(() => chartTag('latest'), { code: 'CAPT_VERSION_INVALID' })
  })
})
