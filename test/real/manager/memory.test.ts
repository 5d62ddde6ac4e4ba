// Memory as a gate: the built manager, with the flags and the ports of its Deployment, whose container is given 128 MiB.
// The figures are the kernel's: the highest resident size of the whole life, the median of three.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { JobKind, PodKind } from '#api'
import type { JsonObject } from '#lib'
import { jobName, renderJob } from '../../../src/engine/job/render-job.ts'
import { isTrue } from '../support/api.ts'
import { auditMark, requestsSince } from '../support/audit.ts'
import { until, VERSIONS } from '../support/lab.ts'
import { copyCluster } from '../support/managers/copies.ts'
import { FLEET_NAMESPACE, type Fleet, startFleet } from '../support/managers/fleet.ts'
import { atRest, ENDPOINTS, peakMiBOf } from '../support/managers/memory.ts'
import { prove } from '../support/proofs.ts'

const LOADED_MIB = 110
const CLUSTERS = 1000
/** The median of this many lives counts. */
const TIMES = 3
const RUNS = 200
/** Folders of etcd's registry; owners before what they own, so that no copy is collected as an orphan. */
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

    await makeRuns()
    const peaks: number[] = []
    for (let i = 0; i < TIMES; i++) peaks.push(await weigh())
    const peak = peaks.toSorted((one, other) => one - other)[Math.floor(TIMES / 2)]!
    assert.ok(peak <= LOADED_MIB, `${peaks.map((one) => one.toFixed(1)).join(', ')} MiB`)
    prove(
      'memory',
      VERSIONS.kube,
      `${CLUSTERS} clusters, ${copied + copied / names.length} objects, listed again; at most ${LOADED_MIB} MiB`,
      `${peak.toFixed(1)} MiB`,
    )
  })

  /** One life of a manager: it starts, looks at every object, and lists every kind again. Returns its highest size. */
  async function weigh(): Promise<number> {
    const { world } = fleet
    const { kinds, management } = world
    // No lease: while the API server starts anew it would be lost, and the manager would end instead of listing again.
    await world.restartManager({ args: ENDPOINTS })
    await atRest(world.manager, 'the manager has looked at every object')
    const mark = auditMark(management)
    await management.stopApiserver()
    await management.compact()
    await management.startApiserver()
    const { cluster, infra, plane, apply, delivery, set, template } = kinds
    const watched = [cluster, infra, plane, apply, delivery, set, template, JobKind, PodKind]
    const listed = () =>
      new Set(
        requestsSince(management, mark)
          .filter(({ user, verb }) => user === 'capt' && verb === 'list')
          .map(({ resource }) => resource),
      )
    const isListed = () => watched.every(({ plural }) => listed().has(plural))
    await until('every kind is listed again', isListed, 240, world.manager)
    await atRest(world.manager, 'the manager has looked at every object again')
    return peakMiBOf(world.manager)
  }

  /** Jobs and pods as runs of other applies leave them: suspended, so that nobody starts them. */
  async function makeRuns(): Promise<void> {
    const { api } = fleet.world
    for (let i = 0; i < RUNS; i++) {
      const owner = { namespace: 'elsewhere', name: `run-${i}`, uid: '', apiVersion: '', kind: '' }
      const run = { id: randomUUID(), resumed: 0 }
      const job = { namespace: 'capt-system', name: jobName(owner, run) }
      const input = { owner, run, job, image: 'capt-runner', serviceAccount: 'default', settings: 'capt-run' }
      const rendered = renderJob({ ...input, graceSeconds: 120 }) as unknown as JsonObject & { spec: JsonObject }
      await api.create(JobKind, { ...rendered, spec: { ...rendered.spec, suspend: true } } as never)
    }
  }

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
