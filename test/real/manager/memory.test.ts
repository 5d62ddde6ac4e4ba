// Memory as a gate: the built manager, with the flags and the ports of its Deployment, whose container is given 128 MiB.
// The figures are the kernel's: the highest resident size of the whole life, the median of three.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { CAPTMachine, CAPTMachineDeployment, CAPTMachineSet, JobKind, PodKind } from '#api'
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
/** So many of them have machines, and so many each. */
const WITH_MACHINES = 100
const MACHINES_EACH = 10
/** The median of this many lives counts. */
const TIMES = 3
/** And none may take more than this. */
const MOST_MIB = 116
const RUNS = 200
/** Folders of etcd's registry; owners before what they own, so that no copy is collected as an orphan. */
const FOLDERS = [
  'cluster.x-k8s.io/clusters',
  'infrastructure.cluster.x-k8s.io/captclusters',
  'controlplane.cluster.x-k8s.io/captcontrolplanes',
  'infrastructure.cluster.x-k8s.io/captmachinedeployments',
  'infrastructure.cluster.x-k8s.io/captmachinesets',
  'infrastructure.cluster.x-k8s.io/captmachines',
  'infrastructure.cluster.x-k8s.io/workspacetemplateapplies',
  'infrastructure.cluster.x-k8s.io/addondeliveries',
  'addons.cluster.x-k8s.io/clusterresourcesets',
  'addons.cluster.x-k8s.io/clusterresourcesetbindings',
  'secrets',
]
/** Of clusters with machines, and of those without. */
const PREFIXES = ['rack', 'load'] as const
const nameOf = (prefix: string, i: number): string => `${prefix}-${String(i).padStart(4, '0')}`

describe('the manager in its container', () => {
  let fleet: Fleet
  before(async () => {
    fleet = await startFleet()
  })
  after(() => fleet?.stop())

  it(`stays within ${LOADED_MIB} MiB over ${CLUSTERS} clusters, ${WITH_MACHINES} of them with ${MACHINES_EACH} machines, through a new list of every kind`, async () => {
    const { world } = fleet
    const { api, kinds } = world
    for (const prefix of PREFIXES) await fleet.grow(prefix, 1, { pad: 4, addons: true })
    await fleet.growMachines('rack', 1, MACHINES_EACH, { pad: 4 })
    for (const original of PREFIXES.map((prefix) => nameOf(prefix, 0))) {
      await makeSets(original)
      await api.patch(kinds.cluster, original, { spec: { paused: true } }, FLEET_NAMESPACE)
      for (const kind of [kinds.infra, kinds.plane])
        await until('the original is paused', async () =>
          isTrue(await api.get(kind, original, FLEET_NAMESPACE), 'Paused'),
        )
    }
    await until('the machines are paused', async () =>
      (await api.list(CAPTMachine, { namespace: FLEET_NAMESPACE })).every((machine) => isTrue(machine, 'Paused')),
    )
    await atRest(world.manager, 'the manager has settled the originals')
    await world.manager.stop()
    await world.capi.stop()

    const copied = (await copies('rack', WITH_MACHINES)) + (await copies('load', CLUSTERS - WITH_MACHINES))
    const applies = 2 * CLUSTERS + WITH_MACHINES * MACHINES_EACH
    assert.equal((await api.list(kinds.apply, { namespace: FLEET_NAMESPACE })).length, applies, 'the copies are served')

    await makeRuns()
    const peaks: number[] = []
    for (let i = 0; i < TIMES; i++) peaks.push(await weigh())
    const peak = peaks.toSorted((one, other) => one - other)[Math.floor(TIMES / 2)]!
    const figures = `${peaks.map((one) => one.toFixed(1)).join(', ')} MiB`
    assert.ok(peak <= LOADED_MIB && Math.max(...peaks) <= MOST_MIB, figures)
    prove(
      'memory',
      VERSIONS.kube,
      `${CLUSTERS} clusters, ${WITH_MACHINES * MACHINES_EACH} machines, ${copied} objects, listed again; at most ${LOADED_MIB} MiB`,
      `${peak.toFixed(1)} MiB`,
    )
  })

  /** Copies the original, which counts, until there are so many; returns how many objects were put. */
  async function copies(prefix: string, count: number): Promise<number> {
    const { api, kinds, management } = fleet.world
    const name = nameOf(prefix, 0)
    const names = Array.from({ length: count - 1 }, (_, i) => nameOf(prefix, i + 1))
    const labelSelector = `cluster.x-k8s.io/cluster-name=${name}`
    const found = await api.list(kinds.apply, { namespace: FLEET_NAMESPACE, labelSelector })
    const applies = found.map(({ metadata }) => metadata.name as string)
    return await copyCluster(management, { namespace: FLEET_NAMESPACE, name, applies, folders: FOLDERS }, names)
  }

  /** One life of a manager: it starts, looks at every object, and lists every kind again. Returns its highest size. */
  async function weigh(): Promise<number> {
    const { world } = fleet
    const { kinds, management } = world
    // No lease: while the API server restarts it would be lost, and the manager would end instead of listing again.
    await world.restartManager({ args: ENDPOINTS })
    await atRest(world.manager, 'the manager has looked at every object')
    const mark = auditMark(management)
    await management.stopApiserver()
    await management.compact()
    await management.startApiserver()
    const { cluster, infra, plane, apply, delivery, set, template } = kinds
    const machines = [CAPTMachineDeployment, CAPTMachineSet, CAPTMachine]
    const watched = [cluster, infra, plane, apply, delivery, set, template, ...machines, JobKind, PodKind]
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
