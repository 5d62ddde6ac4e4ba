// Add-ons through the real ClusterResourceSet controller to two real API servers: order, gate, values and versions of
// each cluster, the traps of that controller, and the way back. Simulation actors play the workload's controllers.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DeploymentKind } from '#api'
import { CLUSTER_LABEL, deliveryName } from '#controllers'
import { keyedHash } from '#lib'
import {
  type AddonLab,
  CLUSTERS,
  type ClusterName,
  EC2NodeClass,
  GATE,
  HelmRelease,
  isKarpenters,
  NodePool,
  OCIRepository,
  startAddonLab,
  Widget,
  widgetDefinition,
  widgetPipeline,
} from '../support/addons-world.ts'
import { isTrue } from '../support/api.ts'
import { describeRequests } from '../support/audit.ts'
import { VERSIONS } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { ADDON_LABELS, clusterManifests, templates, toText } from '../support/manifests.ts'
import { prove } from '../support/proofs.ts'
import { describe as story } from '../support/recorder.ts'

const KARPENTER = ['karpenter', 'kube-system'] as const

for (const version of VERSIONS.capi) {
  describe(`add-ons with Cluster API ${version}`, () => {
    let lab: AddonLab
    /** When Flux was allowed to work, and which writes there had been until then. */
    let liftedAt: number
    const releaseOf = (name: ClusterName) => lab.there[name].get(HelmRelease, ...KARPENTER)
    const tagOf = async (name: ClusterName) => (await lab.there[name].get(OCIRepository, ...KARPENTER))['spec'].ref.tag
    const fluxOf = async (name: ClusterName) =>
      (await lab.there[name].get(DeploymentKind, 'source-controller', 'flux-system'))['metadata'].labels[
        'app.kubernetes.io/version'
      ]
    const labelsOf = async (name: ClusterName): Promise<Loose> =>
      (await lab.world.api.get(lab.world.kinds.cluster, name))['metadata'].labels
    const patchCluster = (name: ClusterName, labels: object) =>
      lab.world.api.patch(lab.world.kinds.cluster, name, { metadata: { labels } })
    const override = (name: ClusterName, overrides: readonly object[]) =>
      lab.world.api.patch(lab.world.kinds.delivery, name, { spec: { overrides } })

    before(async () => {
      lab = await startAddonLab(version)
    })
    after(async () => {
      await lab?.stop()
    })

    it('wait for Flux to work, even if a person has set the gate label first', async () => {
      for (const name of CLUSTERS) await lab.setFaults(name, { 'helm-controller': 'slow=1h' })
      const east = clusterManifests({ name: 'east', labels: ADDON_LABELS })
      const west = clusterManifests({ name: 'west', labels: { ...ADDON_LABELS, [GATE]: 'true' } })
      const { api, kinds, management } = lab.world
      management.kubectl(['apply', '-f', '-'], toText([...templates(), ...east, ...west]))
      for (const name of CLUSTERS)
        await lab.until(`${name} has a delivery`, async () => Boolean(await api.find(kinds.delivery, name)))
      await override('east', [{ stage: 'flux', version: '2.8.8' }])
      await override('west', [
        { stage: 'karpenter', version: '1.13.0', values: { settings: { batchMaxDuration: '7s' } } },
      ])
      for (const name of CLUSTERS)
        await lab.until(`core has brought Flux to ${name}, and capt looks at it`, async () => {
          const stage = await lab.stage(name, 'flux')
          return stage?.['delivered']?.equal === true && stage['state'] === 'Checking'
        })
      for (const name of CLUSTERS) {
        assert.notEqual((await lab.stage(name, 'karpenter'))?.['gate']?.open, true)
        assert.equal(await api.find(kinds.set, `karpenter-installer-${name}`), undefined)
        assert.deepEqual(describeRequests(lab.coreWrites(name).filter(isKarpenters)), '')
      }
      assert.equal((await labelsOf('east'))[GATE], undefined)
      liftedAt = Date.now()
      for (const name of CLUSTERS) await lab.clearFaults(name)
    })

    it('reach two clusters with values of their own', async () => {
      for (const name of CLUSTERS) await lab.ready(name)
      const [ofEast, ofWest] = [await releaseOf('east'), await releaseOf('west')]
      assert.equal(ofEast['spec'].values.settings.clusterName, 'east')
      assert.equal(ofWest['spec'].values.settings.clusterName, 'west')
      assert.equal(ofEast['spec'].values.settings.batchMaxDuration, undefined)
      assert.equal(ofWest['spec'].values.settings.batchMaxDuration, '7s')
      assert.deepEqual([await tagOf('east'), await tagOf('west')], ['1.14.1', '1.13.0'])
      assert.deepEqual([await fluxOf('east'), await fluxOf('west')], ['v2.8.8', 'v2.9.5'])
      for (const [name, other] of [CLUSTERS, CLUSTERS.toReversed()] as [ClusterName, ClusterName][]) {
        for (const kind of [HelmRelease, OCIRepository, NodePool, EC2NodeClass]) {
          const found = await lab.there[name].list(kind)
          assert.ok(found.length > 0, `${name} has its ${kind.kind}`)
          assert.ok(!JSON.stringify(found).includes(other), `nothing of ${other} in ${name}: ${kind.kind}`)
        }
      }
      prove('add-ons', version, 'Flux and Karpenter in two API servers, values and versions of each', '2 clusters')
    })

    it('open the gate after Flux works: the audit logs of all three servers say so', async () => {
      for (const name of CLUSTERS) {
        const [first] = lab.coreWrites(name).filter(isKarpenters)
        assert.ok(first && first.at >= liftedAt, `${name}: Karpenter came at ${first?.at}, Flux at ${liftedAt}`)
        const own = lab.ownWrites()
        const set = own.find(({ verb, name: set }) => verb === 'create' && set === `karpenter-installer-${name}`)
        assert.ok(set && set.at >= liftedAt && set.at <= first.at, 'the set is made after the gate, before core writes')
        const isLabelling = (one: (typeof own)[number]) =>
          one.resource === 'clusters' && one.name === name && one.subresource === '' && one.at >= liftedAt
        const [gate] = own.filter(isLabelling)
        // In west the label was there: nothing of the Cluster had to be written.
        if (name === 'west') assert.equal(gate, undefined)
        else assert.ok(gate && gate.at <= set.at, 'the label is set before the set is made')
        assert.equal((await lab.stage(name, 'karpenter'))?.['gate'].open, true)
      }
      prove('gate', version, 'no write of Karpenter before Flux works, in three audit logs', 'early label too')
    })

    it('are recorded by core with the hash that capt computes', async () => {
      const { api, kinds } = lab.world
      let count = 0
      for (const name of CLUSTERS) {
        const binding = await api.get(kinds.binding, name)
        for (const { clusterResourceSetName: set, resources } of binding['spec'].bindings) {
          for (const { kind, name: payload, applied, hash } of resources) {
            const { data } = await api.get(kind === 'Secret' ? kinds.secret : kinds.config, payload)
            assert.deepEqual([applied, hash], [true, keyedHash(data)], `${set} ${payload}`)
            count += 1
          }
        }
        const { stages } = (await lab.delivery(name))['status']
        assert.deepEqual(
          stages.map(({ name: stage, delivered }: Loose) => [stage, delivered.equal]),
          [
            ['flux', true],
            ['karpenter', true],
            ['node-pool', true],
          ],
        )
      }
      prove('ClusterResourceSetBinding', version, 'hash of every payload equals ours', `${count} payloads`)
    })

    it('say which kind the workload does not serve, and bring it when it does', async () => {
      const name = deliveryName('east', 'widgets')
      lab.world.management.kubectl(['apply', '-f', '-'], toText(widgetPipeline()))
      await patchCluster('east', { widgets: 'wanted' })
      await lab.until('capt has tried again', async () => {
        if (!(await lab.world.api.find(lab.world.kinds.delivery, name))) return false
        return ((await lab.stage(name, 'widgets'))?.['attempts'] ?? 0) >= 2
      })
      const stage = await lab.stage(name, 'widgets')
      assert.equal(stage?.['delivered'].equal, false)
      assert.match(stage?.['lastError'].message, /has not delivered widgets-resources-east/)
      lab.world.workloads[0]!.kubectl(['create', '-f', '-'], JSON.stringify(widgetDefinition))
      await lab.ready(name)
      assert.ok(await lab.there.east.find(Widget, 'first'))
      assert.deepEqual(describeRequests(lab.coreWrites('west').filter(({ resource }) => resource === 'widgets')), '')
      prove('unknown kind', version, 'named, tried again without the long backoff of core')
    })

    it('are whole again when a payload or a label was taken away, and the workload does not notice', async () => {
      const { api, kinds } = lab.world
      const before = [await releaseOf('west'), await lab.there.west.get(NodePool, 'default')]
      const mark = lab.coreWrites('west').filter(isKarpenters).length
      await lab.world.manager.stop()
      await api.remove(kinds.config, 'karpenter-resources-west')
      await patchCluster('west', { [GATE]: null, [CLUSTER_LABEL]: null })
      const set = await api.get(kinds.set, 'karpenter-installer-west')
      assert.ok(isTrue(set, 'ResourcesApplied'), 'core goes on saying that everything is applied')
      await lab.world.restartManager()
      await lab.until('the labels are back', async () => {
        const labels = await labelsOf('west')
        return labels[GATE] === 'true' && labels[CLUSTER_LABEL] === 'west'
      })
      await lab.until('the payload is back', async () =>
        Boolean(await api.find(kinds.config, 'karpenter-resources-west')),
      )
      await lab.ready('west')
      const after = [await releaseOf('west'), await lab.there.west.get(NodePool, 'default')]
      assert.deepEqual(
        after.map(({ metadata, spec }) => [metadata.uid, spec]),
        before.map(({ metadata, spec }) => [metadata.uid, spec]),
      )
      const verbs = lab
        .coreWrites('west')
        .filter(isKarpenters)
        .slice(mark)
        .map(({ verb }) => verb)
      assert.ok(!verbs.includes('delete'))
      prove('missing payload, lost labels', version, 'seen although core says applied; made again')
    })

    it('follow a new version of Flux in one cluster, and leave the other alone', async () => {
      const mark = lab.coreWrites('west').length
      await override('east', [])
      await lab.until('Flux 2.9.5 runs in east', async () => (await fluxOf('east')) === 'v2.9.5')
      await lab.ready('east')
      assert.deepEqual(describeRequests(lab.coreWrites('west').slice(mark)), '', 'nothing was written to west')
      assert.equal((await releaseOf('east'))['metadata'].deletionTimestamp, undefined)
      prove('upgrade of Flux', version, 'one cluster, the other untouched', '2.8.8 to 2.9.5')
    })

    it('upgrade Karpenter without taking away what others put on its objects', async () => {
      const theirs = { metadata: { labels: { theirs: 'yes' }, annotations: { 'example.com/theirs': 'yes' } } }
      await lab.there.west.patch(HelmRelease, KARPENTER[0], theirs, KARPENTER[1])
      const before = await releaseOf('west')
      await override('west', [{ stage: 'karpenter', version: '1.14.1' }])
      await lab.until('Karpenter 1.14.1 is wanted in west', async () => (await tagOf('west')) === '1.14.1')
      await lab.ready('west')
      const now = await releaseOf('west')
      assert.equal(now['metadata'].uid, before['metadata'].uid)
      assert.deepEqual(now['metadata'].finalizers, before['metadata'].finalizers)
      assert.ok(now['metadata'].finalizers.includes('finalizers.fluxcd.io'))
      assert.partialDeepStrictEqual(now, theirs)
      assert.equal(now['spec'].values.settings.batchMaxDuration, undefined, 'the override is gone')
      const nodeClass = await lab.there.west.get(EC2NodeClass, 'default')
      assert.ok(nodeClass['metadata'].finalizers.includes('karpenter.k8s.aws/termination'))
      prove('upgrade of Karpenter', version, 'finalizers and labels of others survive Reconcile', '1.13.0 to 1.14.1')
    })

    it('go when nobody wants them any more, and Flux stays', async () => {
      await patchCluster('east', { 'installation.appthrust.com/eks-karpenter': null })
      await lab.until('the release is gone', async () => !(await lab.there.east.find(HelmRelease, ...KARPENTER)))
      await lab.until('the gate is closed', async () => (await labelsOf('east'))[GATE] === undefined)
      const states = async () => (await lab.delivery('east'))['status'].stages.map(({ state }: Loose) => state).join()
      await lab.until('the rest stays', async () => (await states()) === 'Healthy,NotWanted,NotWanted')
      assert.equal(await lab.there.east.find(DeploymentKind, ...KARPENTER), undefined)
      assert.equal(await fluxOf('east'), 'v2.9.5')
      prove('uninstall', version, 'Karpenter by label, Flux stays')
    })

    it('are taken away before the control planes go, and leave nothing behind', async () => {
      const { api, kinds } = lab.world
      for (const name of CLUSTERS) await api.remove(kinds.cluster, name)
      for (const name of CLUSTERS)
        await lab.until(`${name} is gone`, async () => !(await api.find(kinds.cluster, name)), 300)
      for (const name of CLUSTERS) {
        const torn = lab.recorder.when(`AddonDelivery ${name}`, 'TornDown=True Removed')
        const gone = lab.recorder.when(`CAPTControlPlane ${name}`, 'gone')
        assert.ok(torn < gone, story(lab.recorder.changes.slice(-60)))
        assert.deepEqual(await leftIn(name), [])
      }
      await lab.until('no set, binding, delivery or payload is left', async () => (await leftAtHome()).length === 0)
      prove('teardown', version, 'add-ons before the control planes, nothing left')
    })

    async function leftIn(name: ClusterName): Promise<string[]> {
      const deployments = await lab.there[name].list(DeploymentKind)
      const definitions = lab.world.workloads[CLUSTERS.indexOf(name)]!.kubectl(['get', 'crd', '-o', 'name'])
      return [
        ...deployments.map(({ metadata }) => metadata.name),
        ...definitions.split('\n').filter((line) => /fluxcd|karpenter/.test(line)),
      ]
    }

    async function leftAtHome(): Promise<string[]> {
      const { api, kinds } = lab.world
      const payloads = { labelSelector: 'capt.appthrust.com/managed=true', namespace: 'default' }
      const found = [
        ...(await api.list(kinds.set)),
        ...(await api.list(kinds.binding)),
        ...(await api.list(kinds.delivery)),
        ...(await api.list(kinds.config, payloads)),
        ...(await api.list(kinds.secret, payloads)),
      ]
      return found.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    }
  })
}
