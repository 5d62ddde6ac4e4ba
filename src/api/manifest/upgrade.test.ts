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

  it('of today pass through untouched, and hear what a missing strategy means', () => {
    const manifests = readManifests(set('mine', 'things', 'v1beta2'), 'a.yaml')
    const upgraded = upgradeManifests(manifests)
    assert.deepEqual(upgraded.manifests, manifests)
    assert.match(upgraded.notes.join('\n'), /^ClusterResourceSet\/mine has no strategy, which means ApplyOnce/)
    const whole = readManifests(
      set('mine', 'things', 'v1beta2').replace('spec:', 'spec:\n  strategy: Reconcile'),
      'a.yaml',
    )
    assert.deepEqual(upgradeManifests(whole), { manifests: whole, notes: [] })
  })
})

const pairSet = (name: string, payload: string, label: string, version: string) =>
  set(name, payload, version).replace('want: "yes"', `${label}: "true"`)
const fluxJob =
  'apiVersion: batch/v1\nkind: Job\nmetadata: { name: flux-installer }\nspec: { template: { spec: { containers: [{ name: flux, image: "fluxcd/flux-cli:v2.1.0" }] } } }'
const fluxRelease =
  'apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: { name: flux2 }\nspec: { chart: { spec: { chart: flux2, version: 2.1.0 } } }'

describe('manifests of older proposals, one block at a time', () => {
  for (const version of ['v1alpha3', 'v1beta1', 'v1beta2'])
    for (const [name, block, said] of [
      [
        'the set for Flux',
        pairSet('fluxcd-installer', 'fluxcd-install', 'fluxcd.io/enabled', version),
        /capt installs Flux itself.*\n.*apply the two in one file/,
      ],
      [
        'the Job for Flux',
        source('fluxcd-install', fluxJob),
        /^ConfigMap\/fluxcd-install is left out: capt installs Flux itself/,
      ],
      [
        'the release of Flux',
        source('fluxcd-install', fluxRelease),
        /^ConfigMap\/fluxcd-install is left out: capt installs Flux itself/,
      ],
      [
        'the set for Karpenter',
        pairSet('karpenter-installer', 'karpenter-resources', 'karpenter.sh/enabled', version),
        /capt brings Karpenter through Flux/,
      ],
      [
        'the release of Karpenter',
        source('karpenter-resources', karpenter('')),
        /^ConfigMap\/karpenter-resources is left out.*\nKarpenter 1\.0\.7 is not kept/,
      ],
      [
        'a binding',
        `apiVersion: addons.cluster.x-k8s.io/${version}\nkind: ClusterResourceSetBinding\nmetadata: { name: cluster-1 }\nspec: {}`,
        /bindings are written by the controller alone/,
      ],
    ] as const)
      it(`leave out ${name} (${version})`, () => {
        const { manifests, notes } = upgrade(block)
        assert.deepEqual(manifests, [])
        assert.match(notes.join('\n'), said)
      })

  it('keep Helm values in the same pipeline as in one file', () => {
    const payload = source('karpenter-resources', karpenter('    logLevel: debug'))
    const whole = upgrade(
      `${pairSet('karpenter-installer', 'karpenter-resources', 'karpenter.sh/enabled', 'v1alpha3')}${payload}`,
    )
    assert.deepEqual(
      upgrade(payload).manifests.map(({ object }) => object),
      whole.manifests.map(({ object }) => object),
    )
  })

  it('keep a ConfigMap that has a known name and brings something else, and say what nobody fills in', () => {
    const inner = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\ndata: { a: "${WHO}" }'
    const { manifests, notes } = upgrade(source('fluxcd-install', inner))
    assert.equal(manifests.length, 1)
    assert.match(notes.join('\n'), /^ConfigMap\/fluxcd-install: nobody fills in \$\{WHO\}/)
  })

  it('say nothing about a script, or about what a pipeline reads', () => {
    assert.deepEqual(upgrade(source('script', 'echo ${HOME} && ls')).notes, [])
    const inner = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\ndata: { a: "${CLUSTER_NAME}" }'
    const pipeline =
      'apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AddonPipeline\nmetadata: { name: p }\nspec: { stages: [{ name: a, resources: { sources: [{ kind: ConfigMap, name: things }] } }] }'
    assert.deepEqual(upgrade(`${source('things', inner)}\n${pipeline}`).notes, [])
  })

  it('give a carried set the strategy Reconcile, and leave a chosen one', () => {
    const [made] = upgrade(set('mine', 'things')).manifests
    assert.deepEqual(
      [(made?.object['spec'] as { strategy?: string }).strategy, made?.isStrategyAssumed],
      ['Reconcile', true],
    )
    const [chosen] = upgrade(set('mine', 'things').replace('spec:', 'spec:\n  strategy: ApplyOnce')).manifests
    assert.deepEqual(
      [(chosen?.object['spec'] as { strategy?: string }).strategy, chosen?.isStrategyAssumed],
      ['ApplyOnce', undefined],
    )
  })

  it('read a Cluster without spec as labels for the one that is there', () => {
    const text =
      'apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: { name: cluster-1, labels: { fluxcd.io/enabled: "true" } }'
    const { manifests, notes } = upgrade(text)
    assert.equal(manifests[0]?.isAddition, true)
    assert.match(notes.join('\n'), /its labels and annotations are added to the Cluster that is there/)
    assert.equal(upgrade(`${text}\nspec: {}`).manifests[0]?.isAddition, undefined)
  })
})
