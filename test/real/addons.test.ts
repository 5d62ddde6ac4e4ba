// Add-ons through the real ClusterResourceSet controller to two real API servers: order, gate, values of each cluster,
// versions, and what core's Reconcile would take away. The workload's controllers are played by the simulation actors.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DeploymentKind, type KindRef } from '#api'
import { keyedHash } from '#lib'
import { type Api, conditionOf, openApi } from './api.ts'
import { isWrite, type Request, requestsSince } from './audit.ts'
import { type Kube, VERSIONS } from './lab.ts'
import type { Loose } from './loose.ts'
import { ADDON_LABELS, clusterManifests, templates, toText } from './manifests.ts'
import { prove } from './proofs.ts'
import { type Recorder, record, describe as story } from './recorder.ts'
import { eventually, startWorld, type World } from './world.ts'

const version = VERSIONS.capi[0]
const GATE = 'karpenter.sh/enabled'
const flux = (group: string, kind: string, plural: string, at = 'v1'): KindRef => ({
  group: `${group}.toolkit.fluxcd.io`,
  version: at,
  kind,
  plural,
  namespaced: true,
})
const HelmRelease = flux('helm', 'HelmRelease', 'helmreleases', 'v2')
const OCIRepository = flux('source', 'OCIRepository', 'ocirepositories')
const NodePool: KindRef = {
  group: 'karpenter.sh',
  version: 'v1',
  kind: 'NodePool',
  plural: 'nodepools',
  namespaced: false,
}
const KARPENTERS = new Set(['helmreleases', 'nodepools', 'ec2nodeclasses'])
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

describe(`add-ons with Cluster API ${version}`, () => {
  let world: World
  let recorder: Recorder
  const there: Record<string, Api> = {}
  const servers: Record<string, Kube> = {}
  const delivery = (name: string) => world.api.get(world.kinds.delivery, name)
  const until = (what: string, check: () => boolean | Promise<boolean>, seconds?: number) =>
    eventually(world, what, check, seconds)
  const ready = (name: string) =>
    until(
      `the delivery of ${name} is ready`,
      async () => {
        const found = await delivery(name)
        const condition = conditionOf(found, 'Ready')
        return condition?.['status'] === 'True' && condition['observedGeneration'] === found['metadata'].generation
      },
      180,
    )
  /** Core speaks to the workload with the kubeconfig of the cluster, under its own program's name. */
  const coreWrites = (name: string): Request[] =>
    requestsSince(servers[name]!).filter((one) => one.agent.startsWith('capi-manager') && isWrite(one))
  const isKarpenters = (one: Request) =>
    KARPENTERS.has(one.resource) || (one.resource === 'ocirepositories' && one.name === 'karpenter')

  before(async () => {
    world = await startWorld(version, { audit: true, workloads: 2 })
    const { cluster, plane, delivery: kind } = world.kinds
    recorder = await record(world.management, [cluster, plane, kind], { labels: [GATE] })
    for (const [index, name] of ['east', 'west'].entries()) {
      const workload = world.workloads[index]!
      servers[name] = workload
      there[name] = openApi(workload)
      await world.play({ namespace: 'default', name }, workload)
    }
  })
  after(async () => {
    for (const api of Object.values(there)) api.close()
    await recorder?.stop()
    await world?.stop()
  })

  it('reach two clusters with values of their own', async () => {
    const west = clusterManifests({ name: 'west', labels: { ...ADDON_LABELS, [GATE]: 'true' } })
    const east = clusterManifests({ name: 'east', labels: ADDON_LABELS })
    world.management.kubectl(['apply', '-f', '-'], toText([...templates(), ...east, ...west]))
    const overrides: Record<string, Loose[]> = {
      east: [{ stage: 'flux', version: '2.8.8' }],
      west: [{ stage: 'karpenter', version: '1.13.0', values: { settings: { batchMaxDuration: '7s' } } }],
    }
    for (const [name, wished] of Object.entries(overrides)) {
      await until(`${name} has a delivery`, async () => Boolean(await world.api.find(world.kinds.delivery, name)))
      await world.api.patch(world.kinds.delivery, name, { spec: { overrides: wished } })
    }
    for (const name of ['east', 'west']) await ready(name)

    const release = (name: string) => there[name]!.get(HelmRelease, 'karpenter', 'kube-system')
    const [ofEast, ofWest] = [await release('east'), await release('west')]
    assert.equal(ofEast['spec'].values.settings.clusterName, 'east')
    assert.equal(ofWest['spec'].values.settings.clusterName, 'west')
    assert.equal(ofEast['spec'].values.settings.batchMaxDuration, undefined)
    assert.equal(ofWest['spec'].values.settings.batchMaxDuration, '7s')
    assert.deepEqual([await tagOf('east'), await tagOf('west')], ['1.14.1', '1.13.0'])
    assert.deepEqual([await fluxOf('east'), await fluxOf('west')], ['v2.8.8', 'v2.9.5'])
    for (const name of ['east', 'west']) assert.ok(await there[name]!.find(NodePool, 'default'))
    prove(
      'add-ons',
      version,
      'Flux and Karpenter applied to two API servers, values and versions of each',
      '2 clusters',
    )
  })

  it('are recorded by core with the hash that capt computes', async () => {
    let count = 0
    for (const name of ['east', 'west']) {
      const binding = await world.api.get(world.kinds.binding, name)
      for (const { clusterResourceSetName: set, resources } of binding['spec'].bindings) {
        for (const { kind, name: carrier, applied, hash } of resources) {
          const { data } = await world.api.get(kind === 'Secret' ? world.kinds.secret : world.kinds.config, carrier)
          assert.deepEqual([applied, hash], [true, keyedHash(data)], `${set} ${carrier}`)
          count += 1
        }
      }
      for (const stage of (await delivery(name))['status'].stages) assert.equal(stage.delivered.equal, true, stage.name)
    }
    prove('ClusterResourceSetBinding', version, 'hash of every carrier equals ours', `${count} carriers`)
  })

  it('open the gate after Flux works, and no write of Karpenter comes before, even if a person set the label first', async () => {
    const gate = recorder.moments[recorder.when('Cluster east', `label ${GATE}=true`)]!.at
    assert.ok(
      recorder.when('Cluster west', `label ${GATE}=true`) < recorder.when('CAPTControlPlane west', /^Available=True/),
    )
    for (const name of ['east', 'west']) {
      const first = Math.min(
        ...coreWrites(name)
          .filter(isKarpenters)
          .map(({ at }) => at),
      )
      for (const controller of ['source-controller', 'helm-controller']) {
        const deployment = await there[name]!.get(DeploymentKind, controller, 'flux-system')
        const available = deployment['status'].conditions.find(({ type }: Loose) => type === 'Available')
        const since = Date.parse(available.lastTransitionTime)
        assert.ok(since <= first, `${name}: ${controller} was available at ${since}, Karpenter came at ${first}`)
      }
      if (name === 'east') assert.ok(gate <= first, `the gate opened at ${gate}, Karpenter came at ${first}`)
    }
    const stage = (await delivery('west'))['status'].stages.find(({ name }: Loose) => name === 'karpenter')
    assert.equal(stage.gate.open, true)
    prove('gate', version, 'no write of Karpenter before Flux was available, in both audit logs')
  })

  it('follow a new version of Flux in one cluster, and leave the other alone', async () => {
    const mark = coreWrites('west').length
    await world.api.patch(world.kinds.delivery, 'east', { spec: { overrides: [] } })
    await until('Flux 2.9.5 runs in east', async () => (await fluxOf('east')) === 'v2.9.5')
    await ready('east')
    assert.equal(coreWrites('west').length, mark, 'nothing was written to west')
    prove('upgrade of Flux', version, 'one cluster, 2.8.8 to 2.9.5')
  })

  it('upgrade Karpenter without taking away what others put on its objects', async () => {
    const key = ['karpenter', 'kube-system'] as const
    await there['west']!.patch(HelmRelease, key[0], { metadata: { labels: { theirs: 'yes' } } }, key[1])
    const before = await there['west']!.get(HelmRelease, ...key)
    await world.api.patch(world.kinds.delivery, 'west', {
      spec: { overrides: [{ stage: 'karpenter', version: '1.14.1' }] },
    })
    await until('Karpenter 1.14.1 is wanted in west', async () => (await tagOf('west')) === '1.14.1')
    await ready('west')
    const now = await there['west']!.get(HelmRelease, ...key)
    assert.equal(now['metadata'].uid, before['metadata'].uid)
    assert.ok(now['metadata'].finalizers.includes('finalizers.fluxcd.io'))
    assert.equal(now['metadata'].labels.theirs, 'yes')
    assert.equal(now['spec'].values.settings.batchMaxDuration, undefined, 'the override is gone')
    prove('upgrade of Karpenter', version, 'finalizers and labels of others survive Reconcile', '1.13.0 to 1.14.1')
  })

  it('go when nobody wants them any more, and Flux stays', async () => {
    const labels = { 'installation.appthrust.com/eks-karpenter': null }
    await world.api.patch(world.kinds.cluster, 'east', { metadata: { labels } })
    await until(
      'the release is gone',
      async () => !(await there['east']!.find(HelmRelease, 'karpenter', 'kube-system')),
      180,
    )
    await ready('east')
    assert.equal(await there['east']!.find(DeploymentKind, 'karpenter', 'kube-system'), undefined)
    assert.equal(await fluxOf('east'), 'v2.9.5')
    assert.equal((await world.api.get(world.kinds.cluster, 'east'))['metadata'].labels[GATE], undefined)
    prove('uninstall', version, 'Karpenter by label, Flux stays')
  })

  it('are taken away before the control planes go', async () => {
    for (const name of ['east', 'west']) await world.api.remove(world.kinds.cluster, name)
    for (const name of ['east', 'west'])
      await until(`${name} is gone`, async () => !(await world.api.find(world.kinds.cluster, name)), 240)
    for (const name of ['east', 'west']) {
      const torn = recorder.when(`AddonDelivery ${name}`, 'TornDown=True Removed')
      assert.ok(torn < recorder.when(`CAPTControlPlane ${name}`, 'gone'), story(recorder.moments.slice(-60)))
    }
    await pause(3)
    const left = [
      ...(await world.api.list(world.kinds.set)),
      ...(await world.api.list(world.kinds.binding)),
      ...(await world.api.list(world.kinds.delivery)),
    ]
    assert.deepEqual(
      left.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      [],
    )
    const carriers = await world.api.list(world.kinds.config, { labelSelector: 'capt.appthrust.com/managed=true' })
    assert.deepEqual(
      carriers.map(({ metadata }) => metadata.name),
      [],
      'no carrier is left',
    )
  })

  async function tagOf(name: string): Promise<string> {
    return (await there[name]!.get(OCIRepository, 'karpenter', 'kube-system'))['spec'].ref.tag
  }
  async function fluxOf(name: string): Promise<string> {
    return (await there[name]!.get(DeploymentKind, 'source-controller', 'flux-system'))['metadata'].labels[
      'app.kubernetes.io/version'
    ]
  }
})
