// Two managers share one management cluster by the label of its Clusters. Each brings up its own, and the audit log has no
// object that both have written.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { AddonPipeline, CAPTCluster, clusterKind, LeaseKind, WorkspaceTemplateApply } from '#api'
import { type Api, isTrue, openApi } from '../support/api.ts'
import { isWrite, requestsSince } from '../support/audit.ts'
import { type Kube, type LabUser, startCapi, startKube, TIMEOUT_SECONDS, until, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'
import { installCrds, type ManagerProcess, startManagerProcess, workloadSecret } from '../support/world.ts'

const LABEL = 'cluster.x-k8s.io/watch-filter'
const CLUSTER = clusterKind('v1beta2')
const EXAMPLE = readFileSync(join(import.meta.dirname, '../../../examples/simulation.yaml'), 'utf8').replace(
  /^ {4}(fluxcd\.io\/enabled|installation\.appthrust\.com\/eks-karpenter): .*\n/gm,
  '',
)
const SHARDS = [
  { value: 'blue', user: 'capt', home: 'capt-blue' },
  { value: 'green', user: 'capt-2', home: 'capt-green' },
] as const satisfies readonly { value: string; user: LabUser; home: string }[]
/** What both make in common: Events have names of their own, the templates of the example belong to nobody. */
const SHARED = new Set(['events', 'leases'])

describe('two managers with disjoint watch filters', () => {
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
    for (const { value, user, home } of SHARDS) {
      kube.kubectl(['create', 'namespace', home])
      const args = ['--watch-filter', value, '--leader-elect', '--engine', 'simulated']
      const env = { POD_NAMESPACE: home }
      managers.set(value, await startManagerProcess(kube.kubeconfigOf(user), folder, args, env))
      undo.push(() => managers.get(value)!.stop())
    }
  })
  after(async () => {
    for (const step of undo.splice(0).reverse()) await step()
  })

  /** The label is on the Cluster alone. */
  function clusterOf(name: string, value: string | undefined): string {
    const renamed = EXAMPLE.replaceAll(/\bdemo\b/g, name)
    const label = value === undefined ? '' : `\n    ${LABEL}: ${value}`
    return renamed.replace(/(kind: Cluster\nmetadata:\n {2}name: \S+\n {2}labels:)/, `$1${label}`)
  }
  const isAvailable = async (name: string) => isTrue(await api.find(CLUSTER, name), 'Available')

  it('each bring up the clusters of their label, side by side, and leave the others alone', async () => {
    for (const { value } of [...SHARDS, { value: 'nobody' }]) {
      const text = clusterOf(value, value === 'nobody' ? undefined : value)
      assert.equal(text.includes(`${LABEL}: ${value}`), value !== 'nobody')
      kube.kubectl(['apply', '-f', '-'], JSON.stringify(workloadSecret({ namespace: 'default', name: value }, kube)))
      kube.kubectl(['apply', '-f', '-'], text)
    }
    for (const { value } of SHARDS)
      await until(`${value} is Available`, () => isAvailable(value), TIMEOUT_SECONDS, managers.get(value))
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
    await until('nobody is Available', () => isAvailable('nobody'), TIMEOUT_SECONDS, managers.get('green'))
  })

  it('have never written the same object', () => {
    const writers = new Map<string, Set<string>>()
    for (const request of requestsSince(kube)) {
      const { user, resource, group, namespace, name, code } = request
      if (!isWrite(request) || code >= 300 || SHARED.has(resource) || !SHARDS.some((one) => one.user === user)) continue
      const key = `${resource}.${group} ${namespace}/${name}`
      writers.set(key, (writers.get(key) ?? new Set()).add(user))
    }
    assert.ok(writers.size > 10, `${writers.size} objects were written`)
    const both = [...writers].filter(([, users]) => users.size > 1).map(([key]) => key)
    assert.deepEqual(both, [])
    prove(
      'two managers',
      VERSIONS.kube,
      'With disjoint watch filters no object has two writers',
      `${writers.size} objects`,
    )
  })
})
