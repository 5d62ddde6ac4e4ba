// A cluster in EKS Auto Mode by the shipped program: no node group and no Karpenter, pods get nodes, pools use the class of
// Auto Mode, and nothing is left when the cluster is gone.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  AddonDelivery,
  type AnyObject,
  CAPTControlPlane,
  ConfigMapKind,
  clusterKind,
  conditionOf,
  DeploymentKind,
  isTrue,
  kindRef,
  NodeKind,
  WorkspaceTemplateApply,
} from '#api'
import { type Connection, connect, isKubeError, loadKubeconfig, type Objects } from '#kube'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const EXAMPLE = join(import.meta.dirname, '..', '..', '..', 'examples', 'simulation.yaml')
const key = { namespace: 'default', name: 'demo' }
const Cluster = clusterKind('v1beta2')
const KARPENTER = 'installation.appthrust.com/eks-karpenter'
const POOL = 'installation.appthrust.com/karpenter-provider-aws-default-nodepool'
const NodeClass = kindRef('eks.amazonaws.com/v1', 'NodeClass', 'nodeclasses')
const NodePool = kindRef('karpenter.sh/v1', 'NodePool', 'nodepools')
const clusterScoped = <T extends object>(kind: T) => ({ ...kind, namespaced: false })

const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web' }] } },
  },
}

describe('a cluster in EKS Auto Mode', { concurrency: false }, () => {
  let shipped: Shipped
  let home: UpHome
  let connection: Connection
  let workload: Connection
  let objects: Objects

  const capt = (...args: readonly string[]) => shipped.capt([...args, '--kubeconfig', home.kubeconfig])
  const delivery = async () => (await objects.get<AddonDelivery>(AddonDelivery, key))!
  const label = (labels: Readonly<Record<string, string | null>>) =>
    objects.patch(Cluster, key, { type: 'merge', body: { metadata: { labels } } })
  const names = async (kind: ReturnType<typeof kindRef>) => {
    const found: string[] = []
    for await (const one of workload.objects.list<AnyObject>(clusterScoped(kind))) found.push(one.metadata.name)
    return found.sort()
  }

  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up('home', ['--engine', 'simulated'])
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    objects = connection.objects
    const example = readFileSync(EXAMPLE, 'utf8')
      .replace(`${KARPENTER}: enabled`, `${POOL}: enabled`)
      .replace('  controlPlaneConfig:\n', '  controlPlaneConfig:\n    compute: AutoMode\n')
    writeFileSync(join(shipped.folder, 'auto.yaml'), example)
    await shipped.captOk(['apply', '-f', 'auto.yaml', '--wait', '2m', '--kubeconfig', home.kubeconfig])
    const path = join(shipped.folder, 'workload.kubeconfig')
    writeFileSync(path, (await capt('kubeconfig', 'demo', '--token')).out)
    workload = connect(await loadKubeconfig({ path }))
  })
  after(async () => {
    await workload?.close()
    await connection?.close()
    await shipped.end()
  })

  it('has no Karpenter, which is reported as not needed, and no node group', async () => {
    const { status } = await delivery()
    const states = status?.stages?.map(({ name, state, reason }) => [name, state, reason])
    assert.deepEqual(states, [
      ['flux', 'Healthy', undefined],
      ['node-pool', 'Healthy', undefined],
      ['karpenter', 'NotWanted', 'AutoMode'],
    ])
    const tree = (await capt('describe', 'cluster', 'demo')).out
    assert.match(tree, /karpenter +not needed +Not needed: EKS Auto Mode has a Karpenter of its own/)
    const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, {
      ...key,
      name: 'demo-eks-controlplane-apply',
    })
    assert.equal(apply?.spec.values?.['auto_mode'], true)
    assert.equal(apply?.status?.outputs?.['karpenter'], undefined)
    assert.equal(await workload.objects.get(DeploymentKind, { namespace: 'kube-system', name: 'karpenter' }), undefined)
  })

  it('gives pods nodes, and its pool has the class of Auto Mode', async () => {
    await workload.objects.create(DeploymentKind, web as AnyObject)
    await waitUntil('the pod runs', async () => {
      const live = await workload.objects.get<AnyObject>(DeploymentKind, { namespace: 'default', name: 'web' })
      return (live as { status?: { availableReplicas?: number } })?.status?.availableReplicas === 1
    })
    for await (const node of workload.objects.list<AnyObject>(NodeKind)) {
      assert.ok(node.metadata.labels?.['karpenter.sh/nodepool'], 'every node is of a pool')
      assert.equal(node.metadata.labels?.['capt.appthrust.com/simulated'], 'true')
    }
    assert.deepEqual(await names(NodeClass), ['capt-default', 'default'])
    assert.deepEqual(await names(NodePool), ['default', 'general-purpose', 'system'])
  })

  it('answers a request for Karpenter with a condition and the next step, and stays healthy', async () => {
    await label({ [KARPENTER]: 'enabled' })
    await waitUntil('the condition is there', async () => isTrue(await delivery(), 'RequestIgnored'))
    const said = conditionOf(await delivery(), 'RequestIgnored')
    assert.match(said?.message ?? '', /eks-karpenter=enabled asks for Karpenter.*no Karpenter is installed/)
    assert.ok(isTrue(await delivery(), 'Ready'))
    assert.equal((await capt('apply', '-f', 'auto.yaml', '--wait', '1m')).code, 0, 'nothing waits for Karpenter')
    await label({ [KARPENTER]: null })
    await waitUntil('it is over', async () => conditionOf(await delivery(), 'RequestIgnored')?.status === 'False')
  })

  it('keeps its compute, and has no Karpenter in the plan of an upgrade', async () => {
    const body = { spec: { controlPlaneConfig: { compute: 'NodeGroups' } } }
    await assert.rejects(objects.patch(CAPTControlPlane, key, { type: 'merge', body }), (error: unknown) => {
      assert.match(String(error), /controlPlaneConfig\.compute cannot be changed/)
      return isKubeError(error, 'Invalid')
    })
    const { out, code } = await capt('upgrade', 'plan', 'demo', '--kubernetes', '1.36')
    assert.equal(code, 0)
    assert.match(out, /Kubernetes 1\.35 -> 1\.36/)
    assert.ok(!/karpenter/i.test(out), out)
  })

  it('loses its pool with the label, and pods go to the pools of EKS', async () => {
    await label({ [POOL]: null })
    await waitUntil('pool and class are gone', async () => {
      const left = [...(await names(NodePool)), ...(await names(NodeClass))]
      return left.join() === 'general-purpose,system,default'
    })
    await waitUntil('the pod runs elsewhere', async () => {
      const live = await workload.objects.get<AnyObject>(DeploymentKind, { namespace: 'default', name: 'web' })
      return (live as { status?: { availableReplicas?: number } })?.status?.availableReplicas === 1
    })
  })

  it('leaves nothing when it is deleted', async () => {
    const { code, out, err } = await capt('delete', 'cluster', 'demo', '--yes', '--wait', '2m')
    assert.equal(code, 0, `${out}${err}`)
    assert.ok(!/left behind/i.test(`${out}${err}`), `${out}${err}`)
    const ledger = { namespace: 'default', name: 'demo-simulated-instances' }
    await waitUntil(
      'EKS has terminated its machines',
      async () => (await objects.get(ConfigMapKind, ledger)) === undefined,
    )
  })
})
