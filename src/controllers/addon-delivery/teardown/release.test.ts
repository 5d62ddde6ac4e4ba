import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, ConfigMapKind, DeploymentKind, type KindRef, kindRef, SecretKind } from '#api'
import { memoryCluster } from '#testing'
import { HelmReleaseKind, OCIRepositoryKind } from '../health/read.ts'
import type { TeardownContext } from './observe.ts'
import { release } from './release.ts'

const KEY = { namespace: 'metrics', name: 'metrics-server' }
const step = { ...release(KEY), name: 'metrics/release', stage: 'metrics', timeoutMs: 1, where: 'workload' } as const

type Seed = readonly [KindRef, Partial<AnyObject['metadata']>]
const LABELS = { 'app.kubernetes.io/managed-by': 'Helm', 'app.kubernetes.io/instance': KEY.name }
const chart = (kind: KindRef, name: string, namespace = KEY.namespace): Seed => [
  kind,
  { namespace, name, labels: LABELS },
]
const account = chart(kindRef('v1', 'ServiceAccount'), 'metrics-server')
const annotations = { 'meta.helm.sh/release-name': KEY.name, 'meta.helm.sh/release-namespace': KEY.namespace }
const role: Seed = [
  kindRef('rbac.authorization.k8s.io/v1', 'Role'),
  { namespace: 'kube-system', annotations, labels: { 'app.kubernetes.io/managed-by': 'Helm' } },
]
const deployment = chart(DeploymentKind, 'metrics-server-main')
const daemon = chart(kindRef('apps/v1', 'DaemonSet'), 'metrics-agent')
const webhook = chart(kindRef('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration'), 'metrics-server')
const kept: Seed = [ConfigMapKind, { labels: LABELS, annotations: { 'helm.sh/resource-policy': 'keep' } }]
const history: Seed = [SecretKind, { name: 'sh.helm.release.v1', labels: { owner: 'helm', name: KEY.name } }]
const login: Seed = [SecretKind, { name: 'metrics-server-registry', labels: { 'capt.appthrust.com/managed': 'true' } }]
const source: Seed = [OCIRepositoryKind, {}]

async function left(seeds: readonly Seed[]): Promise<readonly string[]> {
  const { seed, others } = memoryCluster({})
  for (const [kind, metadata] of seeds) {
    const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`
    seed(kind, { apiVersion, kind: kind.kind, metadata: { ...KEY, ...metadata } })
  }
  const observed = await step.observe!(others, step, {} as TeardownContext)
  return observed.left.map(({ kind, key }) => `${kind.kind} ${key.name}`)
}

describe('the step that removes a chart', () => {
  for (const [what, seeds, expected] of [
    ['the HelmRelease first', [[HelmReleaseKind, {}], source, login, deployment], ['HelmRelease metrics-server']],
    [
      'then its source and the login of its registry',
      [source, login, deployment],
      ['OCIRepository metrics-server', 'Secret metrics-server-registry'],
    ],
    [
      'then what nobody uninstalled, with the history of Helm',
      [account, role, history, deployment],
      ['ServiceAccount metrics-server', 'Role metrics-server', 'Secret sh.helm.release.v1'],
    ],
    [
      'then all kinds that charts commonly make, what blocks others first',
      [chart(SecretKind, 'certificate'), chart(ConfigMapKind, 'settings'), webhook, daemon],
      ['ValidatingWebhookConfiguration metrics-server', 'Secret certificate', 'ConfigMap settings'],
    ],
    ['a DaemonSet last', [daemon], ['DaemonSet metrics-agent']],
    ['nothing that the chart asks Helm to keep', [kept, deployment], ['Deployment metrics-server-main']],
    ['its Deployments last, whatever their names', [deployment], ['Deployment metrics-server-main']],
    ['nothing of a release with the same name elsewhere', [chart(DeploymentKind, 'metrics-server', 'other')], []],
    ['nothing that carries only its name', [[DeploymentKind, {}]], []],
  ] as const)
    it(`removes ${what}`, async () => {
      assert.deepEqual(await left(seeds), expected)
    })
})
