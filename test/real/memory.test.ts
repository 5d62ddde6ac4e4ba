// Memory as a gate: the built manager, with the flags and the doors of its Deployment, whose container is given 128 MiB.
// The figures are the kernel's: the highest resident size of the whole life.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isTrue } from './api.ts'
import { auditMark, requestsSince } from './audit.ts'
import { copyCluster } from './copies.ts'
import { FLEET_NAMESPACE, type Fleet, startFleet } from './fleet.ts'
import { until, VERSIONS } from './lab.ts'
import { atRest, DOORS, peakMiBOf } from './memory.ts'
import { prove } from './proofs.ts'

const LOADED_MIB = 110
const CLUSTERS = 1000
/** Folders of etcd's registry; owners before what they own, so that nobody takes a copy for an orphan. */
const FOLDERS = [
  'cluster.x-k8s.io/clusters',
  'infrastructure.cluster.x-k8s.io/captclusters',
  'controlplane.cluster.x-k8s.io/captcontrolplanes',
  'infrastructure.cluster.x-k8s.io/workspacetemplateapplies',
  'infrastructure.cluster.x-k8s.io/addondeliveries',
  'addons.cluster.x-k8s.io/clusterresourcesets',
  'addons.cluster.x-k8s.io/clusterresourcesetbindings',
  'secrets',
]
const nameOf = (i: number): string => `load-${String(i).padStart(4, '0')}`

describe('the manager in its container', () => {
  let fleet: Fleet
  before(async () => {
    fleet = await startFleet()
  })
  after(() => fleet?.stop())

  it(`stays within ${LOADED_MIB} MiB over ${CLUSTERS} clusters, through a new list of every kind`, async () => {
    const { world } = fleet
    const { api, kinds, management } = world
    await fleet.grow('load', 1, { pad: 4, addons: true })
    await makeSets(nameOf(0))
    await api.patch(kinds.cluster, nameOf(0), { spec: { paused: true } }, FLEET_NAMESPACE)
    for (const kind of [kinds.infra, kinds.plane])
      await until('the original is paused', async () =>
        isTrue(await api.get(kind, nameOf(0), FLEET_NAMESPACE), 'Paused'),
      )
    await atRest(world.manager, 'the manager has settled the original')
    await world.manager.stop()
    await world.capi.stop()

    const names = Array.from({ length: CLUSTERS - 1 }, (_, i) => nameOf(i + 1))
    const applies = [`${nameOf(0)}-vpc`, `${nameOf(0)}-eks-controlplane-apply`]
    const original = { namespace: FLEET_NAMESPACE, name: nameOf(0), applies, folders: FOLDERS }
    const copied = await copyCluster(management, original, names)
    assert.ok(copied >= 10 * names.length, `${copied} objects`)
    const seen = await api.list(kinds.apply, { namespace: FLEET_NAMESPACE })
    assert.equal(seen.length, 2 * CLUSTERS, 'the API server shows the copies')

    // No lease: while the API server starts anew it would be lost, and the manager would end instead of listing again.
    await world.restartManager({ args: DOORS })
    await atRest(world.manager, 'the manager has looked at every object')
    const synced = peakMiBOf(world.manager)

    const mark = auditMark(management)
    await management.stopApiserver()
    await management.compact()
    await management.startApiserver()
    const watched = [kinds.cluster, kinds.infra, kinds.plane, kinds.apply, kinds.delivery, kinds.set, kinds.template]
    const listed = () =>
      new Set(
        requestsSince(management, mark)
          .filter(({ user, verb }) => user === 'capt' && verb === 'list')
          .map(({ resource }) => resource),
      )
    await until(
      'every kind is listed again',
      () => watched.every(({ plural }) => listed().has(plural)),
      240,
      world.manager,
    )
    await atRest(world.manager, 'the manager has looked at every object again')
    const peak = peakMiBOf(world.manager)
    assert.ok(peak <= LOADED_MIB, `${peak.toFixed(1)} MiB, ${synced.toFixed(1)} before the new lists`)
    prove(
      'memory',
      VERSIONS.kube,
      `${CLUSTERS} clusters, ${copied + copied / names.length} objects, listed again; at most ${LOADED_MIB} MiB`,
      `${peak.toFixed(1)} MiB`,
    )
  })

  /** What a cluster with add-ons has beside: two sets and what core notes about them. */
  async function makeSets(cluster: string): Promise<void> {
    const { api, kinds } = fleet.world
    const labels = { 'cluster.x-k8s.io/cluster-name': cluster }
    const { apiVersion } = await api.get(kinds.cluster, cluster, FLEET_NAMESPACE)
    const addons = String(apiVersion).replace('cluster.x-k8s.io', 'addons.cluster.x-k8s.io')
    const sets = ['fluxcd-installer', 'karpenter-installer'].map((prefix) => `${prefix}-${cluster}`)
    for (const name of sets)
      await api.create(kinds.set, {
        apiVersion: addons,
        kind: 'ClusterResourceSet',
        metadata: { name, namespace: FLEET_NAMESPACE, labels },
        spec: {
          strategy: 'Reconcile',
          clusterSelector: { matchLabels: { 'capt.appthrust.com/cluster': 'nobody' } },
          resources: [{ kind: 'ConfigMap', name: `${name}-v1` }],
        },
      })
    await api.create(kinds.binding, {
      apiVersion: addons,
      kind: 'ClusterResourceSetBinding',
      metadata: { name: cluster, namespace: FLEET_NAMESPACE },
      spec: {
        clusterName: cluster,
        bindings: sets.map((name) => ({
          clusterResourceSetName: name,
          resources: [
            {
              kind: 'ConfigMap',
              name: `${name}-v1`,
              hash: `sha256:${'0'.repeat(64)}`,
              applied: true,
              lastAppliedTime: '2026-01-01T00:00:00Z',
            },
          ],
        })),
      },
    })
  }
})
