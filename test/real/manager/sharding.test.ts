// Two managers share one management cluster: by the label of its Clusters, then by namespace. Each brings up its own, and the
// audit log has no object that both have written.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { AddonPipeline, CAPTCluster, clusterKind, LeaseKind, WorkspaceTemplateApply } from '#api'
import { type Api, isTrue, openApi } from '../support/api.ts'
import { auditMark, isWrite, type Request, requestsSince } from '../support/audit.ts'
import { type Kube, type LabUser, startCapi, startKube, TIMEOUT_SECONDS, until, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'
import { installCrds, type ManagerProcess, startManagerProcess, workloadSecret } from '../support/world.ts'

const LABEL = 'cluster.x-k8s.io/watch-filter'
const CLUSTER = clusterKind('v1beta2')
const EXAMPLE = readFileSync(join(import.meta.dirname, '../../../examples/simulation.yaml'), 'utf8').replace(
  /^ {4}(fluxcd\.io\/enabled|installation\.appthrust\.com\/eks-karpenter): .*\n/gm,
  '',
)
const USERS = ['capt', 'capt-2'] as const satisfies readonly LabUser[]
const SHARDS = [
  { value: 'blue', user: USERS[0], home: 'capt-blue' },
  { value: 'green', user: USERS[1], home: 'capt-green' },
] as const
const TEAMS = [
  { user: USERS[0], home: 'team-a' },
  { user: USERS[1], home: 'team-b' },
] as const
/** The name of an Event is chosen by the one who writes it, and is not in the request. */
const UNNAMED = new Set(['events'])

describe('two managers of one management cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'capt-real-sharding-'))
  const undo: (() => Promise<unknown> | unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  const managers = new Map<string, ManagerProcess>()
  let kube: Kube
  let api: Api

  before(async () => {
    kube = await startKube({ name: 'sharding', audit: true })
    undo.push(() => kube.stop())
    const capi = await startCapi(kube, VERSIONS.capi[0])
    undo.push(() => capi.stop())
    installCrds(kube)
    api = openApi(kube)
    undo.push(() => api.close())
  })
  after(async () => {
    for (const step of undo.splice(0).reverse()) await step()
  })

  async function startManager(user: LabUser, home: string, ...args: readonly string[]): Promise<void> {
    kube.kubectl(['create', 'namespace', home])
    const flags = ['--leader-elect', '--engine', 'simulated', ...args]
    managers.set(home, await startManagerProcess(kube.kubeconfigOf(user), folder, flags, { POD_NAMESPACE: home }))
  }
  const stopManagers = async () => {
    for (const manager of managers.values()) await manager.stop()
    managers.clear()
  }
  function apply(text: string, namespace: string, name: string): void {
    kube.kubectl(['apply', '-f', '-'], JSON.stringify(workloadSecret({ namespace, name }, kube)))
    kube.kubectl(['apply', '-n', namespace, '-f', '-'], text)
  }
  const isAvailable = async (name: string, namespace = 'default') =>
    isTrue(await api.find(CLUSTER, name, namespace), 'Available')
  const untilAvailable = (name: string, namespace: string, home: string) =>
    until(`${name} is Available`, () => isAvailable(name, namespace), TIMEOUT_SECONDS, managers.get(home))
  const writesSince = (mark: number): readonly Request[] =>
    requestsSince(kube, mark).filter(
      (one) => isWrite(one) && one.code < 300 && !UNNAMED.has(one.resource) && USERS.some((user) => user === one.user),
    )
  /** Nobody wrote what the other one wrote; the answer is how many objects were written. */
  function assertNoSharedObject(writes: readonly Request[]): number {
    const writers = new Map<string, Set<string>>()
    for (const { user, resource, group, namespace, name } of writes) {
      const key = `${resource}.${group} ${namespace}/${name}`
      writers.set(key, (writers.get(key) ?? new Set()).add(user))
    }
    assert.ok(writers.size > 10, `${writers.size} objects were written`)
    assert.deepEqual(
      [...writers].filter(([, users]) => users.size > 1).map(([key]) => key),
      [],
    )
    return writers.size
  }

  describe('with disjoint watch filters', () => {
    before(async () => {
      for (const { value, user, home } of SHARDS) await startManager(user, home, '--watch-filter', value)
    })
    after(stopManagers)

    /** The label is on the Cluster alone. */
    function clusterOf(name: string, value: string | undefined): string {
      const renamed = EXAMPLE.replaceAll(/\bdemo\b/g, name)
      const label = value === undefined ? '' : `\n    ${LABEL}: ${value}`
      return renamed.replace(/(kind: Cluster\nmetadata:\n {2}name: \S+\n {2}labels:)/, `$1${label}`)
    }

    it('each bring up the clusters of their label, side by side, and leave the others alone', async () => {
      for (const { value } of [...SHARDS, { value: 'nobody' }]) {
        const text = clusterOf(value, value === 'nobody' ? undefined : value)
        assert.equal(text.includes(`${LABEL}: ${value}`), value !== 'nobody')
        apply(text, 'default', value)
      }
      for (const { value, home } of SHARDS) await untilAvailable(value, 'default', home)
      const unserved = await api.get(CAPTCluster, 'nobody')
      assert.deepEqual(unserved.metadata.finalizers ?? [], [])
      assert.equal(await api.find(WorkspaceTemplateApply, 'nobody-vpc'), undefined)
    })

    it('each have a leader and a default pipeline of their own', async () => {
      for (const { value, home } of SHARDS) {
        const leases = (await api.list(LeaseKind, { namespace: home })).map(({ metadata }) => metadata.name)
        assert.deepEqual(leases, [`capt-controller-manager-filter-${value}`])
        const [pipeline] = await api.list(AddonPipeline, { namespace: home })
        assert.equal(pipeline?.metadata.labels[LABEL], value)
      }
    })

    it('take over a cluster whose label is changed', async () => {
      await api.patch(CLUSTER, 'nobody', { metadata: { labels: { [LABEL]: 'green' } } })
      await untilAvailable('nobody', 'default', 'capt-green')
    })

    it('have never written the same object', () => {
      const count = assertNoSharedObject(writesSince(0))
      prove('two managers', VERSIONS.kube, 'With disjoint watch filters no object has two writers', `${count} objects`)
    })
  })

  describe('of one namespace each', () => {
    let mark: number
    before(async () => {
      mark = auditMark(kube)
      for (const { user, home } of TEAMS) await startManager(user, home, '--namespace', home)
    })
    after(stopManagers)

    it('each bring up the cluster of one name in their own, and write nowhere else', async () => {
      for (const { home } of TEAMS) apply(EXAMPLE, home, 'demo')
      for (const { home } of TEAMS) await untilAvailable('demo', home, home)
      const writes = writesSince(mark)
      for (const { user, home } of TEAMS) {
        const own = writes.filter((one) => one.user === user)
        assert.deepEqual([...new Set(own.map(({ namespace }) => namespace))], [home])
      }
      const count = assertNoSharedObject(writes)
      prove('two managers', VERSIONS.kube, 'In namespaces of their own no object has two writers', `${count} objects`)
    })
  })
})
