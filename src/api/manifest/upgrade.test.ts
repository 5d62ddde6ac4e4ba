import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkManifests, readManifests } from './manifest.ts'
import { upgradeManifests } from './upgrade.ts'

const set = (name: string, source: string, version = 'v1alpha3') => `
apiVersion: addons.cluster.x-k8s.io/${version}
kind: ClusterResourceSet
metadata: { name: ${name}, namespace: default }
spec:
  clusterSelector: { matchLabels: { want: "yes" } }
  resources: [{ name: ${source}, kind: ConfigMap }]
---`
const source = (name: string, inner: string) => `
apiVersion: v1
kind: ConfigMap
metadata: { name: ${name}, namespace: default }
data:
  a.yaml: |
${inner.replace(/^/gm, '    ')}
---`
const karpenter = (values: string) => `
apiVersion: helm.toolkit.fluxcd.io/v2beta1
kind: HelmRelease
metadata: { name: karpenter, namespace: karpenter }
spec:
  chart: { spec: { chart: karpenter, version: 1.0.7, sourceRef: { kind: HelmRepository, name: karpenter } } }
  values:
    serviceAccount: { annotations: { eks.amazonaws.com/role-arn: "\${KARPENTER_IAM_ROLE_ARN}" } }
    settings: { clusterName: "\${CLUSTER_NAME}", clusterEndpoint: "\${CLUSTER_ENDPOINT}", interruptionQueue: "\${INTERRUPTION_QUEUE_NAME}" }
${values}`
const upgrade = (text: string) => upgradeManifests(readManifests(text, 'seed.yaml'))
const names = (text: string) =>
  upgrade(text).manifests.map(({ object }) => `${object.apiVersion} ${object.kind}/${object.metadata.name}`)

describe('manifests of older proposals', () => {
  it('leave Flux to capt, whether a Job or a HelmRelease was to install it', () => {
    const job =
      'apiVersion: batch/v1\nkind: Job\nmetadata: { name: flux-installer }\nspec: { template: { spec: { containers: [{ name: flux, image: "fluxcd/flux-cli:v2.1.0" }] } } }'
    const release =
      'apiVersion: helm.toolkit.fluxcd.io/v2beta1\nkind: HelmRelease\nmetadata: { name: flux2 }\nspec: { chart: { spec: { chart: flux2, version: 2.1.0 } } }'
    for (const inner of [job, release]) {
      const { manifests, notes } = upgrade(
        `${set('fluxcd-installer', 'fluxcd-install')}${source('fluxcd-install', inner)}`,
      )
      assert.deepEqual(manifests, [])
      assert.match(notes[0] ?? '', /capt installs Flux itself on Clusters labelled fluxcd\.io\/enabled=true/)
    }
  })

  it('leave Karpenter to the shipped pipeline when they ask for nothing else', () => {
    const { manifests, notes } = upgrade(
      `${set('karpenter-installer', 'karpenter-resources')}${source('karpenter-resources', karpenter(''))}`,
    )
    assert.deepEqual(manifests, [])
    assert.match(
      notes.join('\n'),
      /Karpenter 1\.0\.7 is not kept: the version is chosen for the Kubernetes version of each Cluster/,
    )
  })

  it('become a pipeline of their own when they carry Helm values, and that pipeline is accepted', () => {
    const { manifests, notes } = upgrade(
      `${set('karpenter-installer', 'karpenter-resources')}${source('karpenter-resources', karpenter('    logLevel: debug'))}`,
    )
    assert.deepEqual(checkManifests(manifests), [])
    const [pipeline] = manifests.map(
      ({ object }) => object as unknown as { kind: string; spec: { stages: { karpenter?: { values: object } }[] } },
    )
    assert.equal(pipeline?.kind, 'AddonPipeline')
    assert.deepEqual(pipeline?.spec.stages[1]?.karpenter?.values, { logLevel: 'debug' })
    assert.match(notes.join('\n'), /capt\.appthrust\.com\/addon-pipeline=karpenter-installer/)
  })

  it('are written in the served version when capt does not know what they bring', () => {
    const inner = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x, namespace: default }\ndata: { a: "${WHO}" }'
    const text = `${set('mine', 'things')}${source('things', inner)}`
    assert.deepEqual(names(text), ['v1 ConfigMap/things', 'addons.cluster.x-k8s.io/v1beta2 ClusterResourceSet/mine'])
    assert.match(upgrade(text).notes.join('\n'), /nobody fills in/)
  })

  it('lose bindings and readiness Jobs that were written by hand', () => {
    const text = `
apiVersion: addons.cluster.x-k8s.io/v1alpha3
kind: ClusterResourceSetBinding
metadata: { name: cluster-1 }
spec: { bindings: [] }
---
apiVersion: batch/v1
kind: Job
metadata: { name: fluxcd-readiness-check, namespace: flux-system }
spec: {}
`
    assert.deepEqual(names(text), [])
    assert.equal(upgrade(text).notes.length, 2)
  })

  it('of today pass through untouched', () => {
    const text = set('mine', 'things', 'v1beta2')
    const manifests = readManifests(text, 'a.yaml')
    assert.deepEqual(upgradeManifests(manifests), { manifests, notes: [] })
  })
})
