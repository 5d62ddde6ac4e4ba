// A cluster in EKS Auto Mode by the shipped program and kubectl: no node group and no Karpenter, pods get nodes, pools use the class of
// Auto Mode, and nothing is left when the cluster is gone.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import {
  AddonDelivery,
  type AnyObject,
  ConfigMapKind,
  conditionOf,
  DeploymentKind,
  isTrue,
  NodeKind,
  WorkspaceTemplateApply,
} from '#api'
import { type Connection, connect, loadKubeconfig, type Objects } from '#kube'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const EXAMPLE = join(import.meta.dirname, '..', '..', '..', 'examples', 'simulation.yaml')
const key = { namespace: 'default', name: 'demo' }
const KARPENTER = 'installation.appthrust.com/eks-karpenter'
const POOL = 'installation.appthrust.com/karpenter-provider-aws-default-nodepool'

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

const skip = !kubectlPath && 'kubectl is not installed'
describe('a cluster in EKS Auto Mode', { skip, concurrency: false }, () => {
  let shipped: Shipped
  let home: UpHome
  let story: Story
  let connection: Connection
  let workload: Connection
  let objects: Objects

  const capt = (...args: readonly string[]) => story.capt(args, { timeoutMs: 240_000 })
  const delivery = async () => (await objects.get<AddonDelivery>(AddonDelivery, key))!
  const kubectl = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args, { timeoutMs: 130_000 })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`)
    return out
  }
  const inWorkload = (...args: readonly string[]) => kubectl('--kubeconfig', 'workload.kubeconfig', ...args)
  const POOLS = ['get', 'nodepools,nodeclasses.eks.amazonaws.com', '-o', 'name']
  const podRuns = () =>
    inWorkload('wait', '--for=jsonpath={.status.availableReplicas}=1', 'deployment/web', '--timeout=120s')

  before(async () => {
    shipped = shippedProgram()
    story = storyOf(shipped, () => home.kubeconfig)
    home = await shipped.up('home', ['--engine', 'simulated'])
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    objects = connection.objects
    const example = readFileSync(EXAMPLE, 'utf8')
      .replace(`${KARPENTER}: enabled`, `${POOL}: enabled`)
      .replace('  controlPlaneConfig:\n', '  controlPlaneConfig:\n    compute: AutoMode\n')
    writeFileSync(join(shipped.folder, 'auto.yaml'), example)
    const applied = await capt('apply', '-f', 'auto.yaml', '--wait', '2m')
    assert.equal(applied.code, 0, applied.out + applied.err)
    const path = join(shipped.folder, 'workload.kubeconfig')
    writeFileSync(path, await shipped.captOk(['kubeconfig', 'demo', '--token', '--kubeconfig', home.kubeconfig]))
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
    writeFileSync(join(shipped.folder, 'web.yaml'), stringify(web))
    await inWorkload('apply', '-f', 'web.yaml')
    await podRuns()
    for await (const node of workload.objects.list<AnyObject>(NodeKind)) {
      assert.ok(node.metadata.labels?.['karpenter.sh/nodepool'], 'every node is of a pool')
      assert.equal(node.metadata.labels?.['capt.appthrust.com/simulated'], 'true')
    }
    const names = (await inWorkload(...POOLS)).trim().split('\n')
    assert.deepEqual(
      names.map((name) => name.replace(/\..*\//, ' ')),
      [
        'nodepool default',
        'nodepool general-purpose',
        'nodepool system',
        'nodeclass capt-default',
        'nodeclass default',
      ],
    )
  })

  it('answers a request for Karpenter with a condition and the next step, and stays healthy', async () => {
    await kubectl('label', 'cluster', 'demo', `${KARPENTER}=enabled`)
    await kubectl('wait', '--for=condition=RequestIgnored', 'addondelivery/demo', '--timeout=120s')
    const said = conditionOf(await delivery(), 'RequestIgnored')
    assert.match(said?.message ?? '', /eks-karpenter=enabled asks for Karpenter.*no Karpenter is installed/)
    assert.ok(isTrue(await delivery(), 'Ready'))
    assert.equal((await capt('apply', '-f', 'auto.yaml', '--wait', '1m')).code, 0, 'nothing waits for Karpenter')
    await kubectl('label', 'cluster', 'demo', `${KARPENTER}-`)
    await kubectl('wait', '--for=condition=RequestIgnored=False', 'addondelivery/demo', '--timeout=120s')
  })

  it('keeps its compute, and has no Karpenter in the plan of an upgrade', async () => {
    const body = { spec: { controlPlaneConfig: { compute: 'NodeGroups' } } }
    const patch = ['patch', 'captcontrolplane', 'demo', '--type', 'merge', '-p', JSON.stringify(body)]
    const refused = await story.kubectl(patch)
    assert.equal(refused.code, 1, refused.out)
    assert.match(refused.err, /CAPTControlPlane "demo" is invalid: .*controlPlaneConfig\.compute cannot be changed/)
    const { out, code } = await capt('upgrade', 'plan', 'demo', '--kubernetes', '1.36')
    assert.equal(code, 0)
    assert.match(out, /Kubernetes 1\.35 -> 1\.36/)
    assert.ok(!/karpenter/i.test(out), out)
  })

  it('loses its pool with the label, and pods go to the pools of EKS', async () => {
    await kubectl('label', 'cluster', 'demo', `${POOL}-`)
    await waitUntil('pool and class are gone', async () => {
      const { out } = await shipped.kubectl('workload.kubeconfig', POOLS)
      return /^\S+\/general-purpose\n\S+\/system\n\S+\/default\n$/.test(out)
    })
    await inWorkload(...POOLS)
    await podRuns()
  })

  it('leaves nothing when it is deleted', async () => {
    const { code, out, err } = await capt('delete', 'cluster', 'demo', '--yes', '--wait', '2m')
    assert.equal(code, 0, `${out}${err}`)
    for (const name of ['demo-eks-controlplane-apply', 'demo-vpc'])
      assert.match(err, new RegExp(`^ +\\S+ +terraform +destroyed +${name}$`, 'm'))
    assert.match(err, /^ +\S+ +network +gone$/m, 'the last step too')
    assert.ok(!/left behind/i.test(`${out}${err}`), `${out}${err}`)
    const ledger = { namespace: 'default', name: 'demo-simulated-instances' }
    await waitUntil(
      'EKS has terminated its machines',
      async () => (await objects.get(ConfigMapKind, ledger)) === undefined,
    )
  })

  it('reads as golden/story-auto-mode.txt holds it', () => story.assertGolden('story-auto-mode'))
})
