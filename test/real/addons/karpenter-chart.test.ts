// Rendered values put through the real Karpenter chart by the real helm: the guard survives in every term, the controller
// learns its cluster and queue, and the role is on the service account only where it belongs.
// The chart comes from the Go module proxy into Go's own cache; helm is built by test/real/build.sh.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseAllDocuments, stringify } from 'yaml'
import {
  type Affinity,
  affinityMatches,
  defaultNodeClass,
  defaultNodePool,
  type KarpenterValuesInput,
  renderKarpenterValues,
} from '#catalog'
import { renderPipeline } from '#karpenter'
import { chartsFolder } from '../support/karpenter-definitions.ts'
import { binary } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

const ROLE = 'arn:aws:iam::111122223333:role/KarpenterControllerRole-demo'

const IRSA = { serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': ROLE } } }
const ROLE_OPS = { key: 'role', operator: 'In', values: ['ops'] }
const RELEASE = { address: 'Secret a', name: 'karpenter', namespace: 'karpenter', hidden: [] }

interface Rendered {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> }
  readonly spec?: { readonly replicas?: number; readonly template: { readonly spec: PodSpec } }
}
interface PodSpec {
  readonly affinity: Affinity & { readonly podAntiAffinity?: unknown }
  readonly tolerations: readonly object[]
  readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value?: string }[] }[]
}

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'capt-chart-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const render = (version: string, values: object): Rendered[] =>
  renderChart(join(chartsFolder(version), 'karpenter'), values) as Rendered[]

function renderChart(chart: string, values: object): unknown[] {
  writeFileSync(join(folder, 'values.yaml'), stringify(values, { aliasDuplicateObjects: false }))
  const text = execFileSync(
    binary('helm'),
    ['template', 'karpenter', chart, '--namespace', 'karpenter', '--values', join(folder, 'values.yaml')],
    { encoding: 'utf8', maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  return parseAllDocuments(text).flatMap((document) => (document.contents ? [document.toJS() as unknown] : []))
}

const terms = [
  { matchExpressions: [{ key: 'role', operator: 'In', values: ['ops'] }] },
  { matchExpressions: [{ key: 'eks.amazonaws.com/nodegroup', operator: 'In', values: ['system'] }] },
]
const affinity: Affinity = {
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
}

for (const version of ['1.14.1', '1.0.8']) {
  const input = (over: Partial<KarpenterValuesInput>): KarpenterValuesInput => ({
    version,
    clusterName: 'demo',
    identity: 'podIdentity',
    namespace: 'karpenter',
    replicas: 2,
    interruptionQueue: 'Karpenter-demo',
    ...over,
  })

  describe(`the real chart of Karpenter ${version}`, () => {
    for (const [what, over] of [
      ['no affinity', {}],
      ['an affinity of two terms', { affinity }],
      ['an affinity in the free values', { values: { affinity } }],
      ['free values that remove the affinity', { values: { affinity: null } }],
    ] as const) {
      it(`keeps the controller off Karpenter's own nodes with ${what}`, () => {
        const deployment = render(version, renderKarpenterValues(input(over))).find(({ kind }) => kind === 'Deployment')
        const pod = deployment?.spec?.template.spec
        assert.ok(pod)
        const own: readonly Record<string, string>[] = [
          { 'karpenter.sh/nodepool': 'x' },
          { 'karpenter.sh/nodepool': 'x', role: 'ops' },
          { 'karpenter.sh/provisioner-name': 'x', role: 'ops' },
        ]
        for (const labels of own) assert.equal(affinityMatches(pod.affinity, { labels }), false)
        assert.equal(affinityMatches(pod.affinity, { labels: { role: 'ops' } }), true)
        assert.ok(pod.affinity.podAntiAffinity, 'two replicas on one node would fall together')
        prove('Karpenter chart', version, `placement guard holds with ${what}`)
      })
    }

    for (const [what, values] of [
      ['few values', { settings: { clusterName: 'demo' } }],
      [
        'a role, a queue and one replica',
        { ...IRSA, replicas: 1, settings: { clusterName: 'demo', interruptionQueue: 'q' } },
      ],
      [
        'resources and a guarded affinity',
        {
          settings: { clusterName: 'demo' },
          controller: { resources: { requests: { cpu: '500m' } } },
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [
                  { matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' }, ROLE_OPS] },
                ],
              },
            },
          },
        },
      ],
    ] as const)
      it(`renders the same objects for a release that is taken over with ${what}`, () => {
        const { spec } = renderPipeline('default', 'demo', { ...RELEASE, version, values: values as never })
        const stage = spec.stages.find(({ karpenter }) => karpenter)!.karpenter!
        const taken = renderKarpenterValues({
          version,
          clusterName: 'demo',
          identity: stage.identity === 'IRSA' ? 'irsa' : 'podIdentity',
          roleArn: spec.variables?.['KARPENTER_IAM_ROLE_ARN'],
          namespace: stage.namespace,
          serviceAccount: stage.serviceAccount,
          replicas: stage.replicas,
          defaults: stage.defaults,
          values: stage.values,
        })
        assert.deepEqual(render(version, taken), render(version, values))
        prove('Karpenter chart', version, `taken over without a restart with ${what}`)
      })

    it('hands over cluster, queue, replicas and role', () => {
      const objects = render(version, renderKarpenterValues(input({ identity: 'irsa', roleArn: ROLE, replicas: 1 })))
      const deployment = objects.find(({ kind }) => kind === 'Deployment')
      const env = Object.fromEntries(
        (deployment?.spec?.template.spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]),
      )
      assert.deepEqual(
        [env['CLUSTER_NAME'], env['INTERRUPTION_QUEUE'], deployment?.spec?.replicas],
        ['demo', 'Karpenter-demo', 1],
      )
      const account = objects.find(({ kind }) => kind === 'ServiceAccount')
      assert.deepEqual(
        [account?.metadata.name, account?.metadata.annotations?.['eks.amazonaws.com/role-arn']],
        ['karpenter', ROLE],
      )
      const bare = render(version, renderKarpenterValues(input({}))).find(({ kind }) => kind === 'ServiceAccount')
      assert.equal(bare?.metadata.annotations?.['eks.amazonaws.com/role-arn'], undefined)
    })
  })
}

describe('the chart of the first pool in modules/karpenter', () => {
  it('renders the objects that the module writes', () => {
    const spec = {
      clusterName: 'demo',
      instanceProfile: 'profile',
      zones: ['eu-west-1a'],
      amiAlias: 'al2023@v20261102',
    }
    const objects = [defaultNodeClass(spec), defaultNodePool(spec)]
    const chart = join(import.meta.dirname, '../../../modules/karpenter/charts/node-pool')
    const byKind = (rendered: readonly unknown[]) =>
      [...rendered].sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
    assert.deepEqual(byKind(renderChart(chart, { objects })), byKind(objects))
  })
})
