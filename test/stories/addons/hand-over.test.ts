// What others do to an installation that capt delivered, or left half upgraded: a Flux that flux bootstrap or the Flux Operator takes
// over is handed over, and an upgrade of Karpenter that skips a step is refused before anything is written.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import {
  AddonDelivery,
  ConfigMapKind,
  CustomResourceDefinitionKind,
  clusterResourceSetKind,
  DeploymentKind,
  NamespaceKind,
} from '#api'
import { defaultPipeline } from '#controllers'
import { type AddonsWorld, addonsWorld, Cluster, conditionStatus, HOME } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const key = { namespace: 'default', name: 'demo' }
const stage = (name: string) => world.stage('demo', name)
const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const MANAGED = 'capt.appthrust.com/managed'
const controllers = ['source-controller', 'helm-controller'].map((name) => ({ namespace: 'flux-system', name }))
const sets = () => world.home.storage.list(clusterResourceSetKind('v1beta2')).map(({ metadata }) => metadata.name)

describe('a Flux that capt delivered', () => {
  for (const [who, labels, how] of [
    [
      'flux bootstrap',
      { 'kustomize.toolkit.fluxcd.io/name': 'flux-system', 'kustomize.toolkit.fluxcd.io/namespace': 'flux-system' },
      /kept by flux bootstrap, Kustomization flux-system/,
    ],
    [
      'the Flux Operator',
      { 'fluxcd.controlplane.io/name': 'flux', 'fluxcd.controlplane.io/namespace': 'flux-system' },
      /kept by the Flux Operator, FluxInstance flux/,
    ],
  ] as const)
    it(`is handed over when ${who} keeps it: not written, not removed, and still used`, async () => {
      world = await addonsWorld()
      const workload = await world.addCluster('demo')
      await world.until('ready', isReady)
      assert.ok(sets().includes('fluxcd-installer-demo'))
      for (const controller of controllers)
        await workload.others.patch(DeploymentKind, controller, { type: 'merge', body: { metadata: { labels } } })
      await world.until('it is handed over', () => !sets().includes('fluxcd-installer-demo'), 1000)
      await world.until('ready', isReady)
      assert.match(stage('flux')?.adopted ?? '', /^2\./)
      assert.equal(stage('karpenter')?.state, 'Healthy')
      assert.ok(world.events.some(({ reason, message }) => reason === 'HandedOver' && how.test(message)))
      for (const controller of controllers) {
        const live = workload.peek(DeploymentKind, controller)
        assert.ok(live && !(MANAGED in (live.metadata.labels ?? {})))
      }
      // The new owner may choose another version: capt writes nothing over it.
      const version = { 'app.kubernetes.io/version': 'v2.8.8' }
      for (const controller of controllers)
        await workload.others.patch(DeploymentKind, controller, {
          type: 'merge',
          body: { metadata: { labels: version } },
        })
      await world.until('it is followed', () => stage('flux')?.adopted === '2.8.8', 1000)
      const none = { 'fluxcd.io/enabled': null, 'installation.appthrust.com/eks-karpenter': null }
      await world.home.others.patch(Cluster, key, { type: 'merge', body: { metadata: { labels: none } } })
      await world.until('the add-ons are gone', () => stage('flux')?.state === 'NotWanted', 1000)
      for (const controller of controllers) assert.ok(workload.peek(DeploymentKind, controller), 'it stays')
      assert.ok(workload.peek(NamespaceKind, { name: 'flux-system' }))
    })
})

describe('an upgrade of Flux', () => {
  const pin = (name: string, version: string) =>
    world.home.others.patch(
      AddonDelivery,
      { namespace: 'default', name },
      { type: 'merge', body: { spec: { overrides: [{ stage: 'flux', version }] } } },
    )
  it('keeps what others put on its objects, in a payload of this cluster alone', async () => {
    const shipped = defaultPipeline(HOME)
    const [flux, ...rest] = shipped.spec.stages
    const stages = [{ ...flux!, flux: { ...flux!.flux!, version: '2.8.8' } }, ...rest]
    world = await addonsWorld({ pipeline: { ...shipped, spec: { ...shipped.spec, stages } } })
    const labels = { 'fluxcd.io/enabled': 'true' }
    const marked = await world.addCluster('demo', { labels })
    const plain = await world.addCluster('other', { labels })
    const both = (check: (name: string) => boolean) => ['demo', 'other'].every(check)
    await world.until('ready', () => both((name) => conditionStatus(world.delivery(name), 'Ready') === 'True'))
    const [controller] = controllers
    const metadata = { labels: { team: 'blue' }, finalizers: ['example.com/mine'] }
    await marked.others.patch(DeploymentKind, controller!, { type: 'merge', body: { metadata } })
    for (const name of ['demo', 'other']) await pin(name, '2.9.5')
    await world.until(
      'both are upgraded',
      () =>
        both(
          (name) =>
            world.stage(name, 'flux')?.wantedVersion === '2.9.5' && world.stage(name, 'flux')?.state === 'Healthy',
        ),
      1000,
    )
    const live = marked.peek(DeploymentKind, controller!)
    assert.equal(live?.metadata.labels?.['app.kubernetes.io/version'], 'v2.9.5')
    assert.equal(live?.metadata.labels?.['team'], 'blue')
    assert.deepEqual(live?.metadata.finalizers, ['example.com/mine'])
    assert.equal(plain.peek(DeploymentKind, controller!)?.metadata.labels?.['team'], undefined)
    const payloads = world.home.storage.list(ConfigMapKind).map(({ metadata: { name } }) => name)
    assert.ok(payloads.includes('fluxcd-install-2.9.5'), 'the other cluster still shares its payload')
  })
})

describe('an upgrade of Karpenter', () => {
  it('is refused while objects are stored in a version that it dropped, and goes on afterwards', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    const pin = (version: string) =>
      world.home.others.patch(AddonDelivery, key, {
        type: 'merge',
        body: { spec: { overrides: [{ stage: 'karpenter', version }] } },
      })
    const stored = (...storedVersions: readonly string[]) =>
      workload.others.patch(
        CustomResourceDefinitionKind,
        { name: 'nodepools.karpenter.sh' },
        { type: 'merge', body: { status: { storedVersions } } },
        { subresource: 'status' },
      )
    await stored('v1beta1', 'v1')
    const before = stage('karpenter')?.contentHash
    await pin('1.13.0')
    await world.until('it is refused', () => stage('karpenter')?.lastError?.code === 'CAPT_KARPENTER_STORED_VERSIONS')
    assert.equal(stage('karpenter')?.state, 'Failed')
    assert.match(stage('karpenter')?.lastError?.message ?? '', /nodepools\.karpenter\.sh are still stored as v1beta1/)
    await stored('v1')
    await world.until('it goes on', () => stage('karpenter')?.state === 'Healthy', 1000)
    assert.notEqual(stage('karpenter')?.contentHash, before)
    assert.equal(stage('karpenter')?.wantedVersion, '1.13.0')
  })
})
