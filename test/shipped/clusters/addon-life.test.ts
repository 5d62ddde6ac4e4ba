// The life of add-ons by the shipped program, in one home: an upgrade in lockstep, held before anything is written, planned,
// then performed in order; and notices about a stage that fails and recovers.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  AddonDelivery,
  type AnyObject,
  CAPTControlPlane,
  conditionOf,
  DeploymentKind,
  EventKind,
  PodKind,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import { type Connection, connect, loadKubeconfig, type Objects } from '#kube'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const key = { namespace: 'default', name: 'demo' }

describe('the life of add-ons', { skip: !kubectlPath && 'kubectl is not installed' }, () => {
  let shipped: Shipped
  let home: UpHome
  let connection: Connection
  let objects: Objects
  let story: Story
  const capt = (...args: readonly string[]) => story.capt(args, { timeoutMs: 240_000 })
  const kubectl = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args, { timeoutMs: 130_000 })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`)
    return out
  }
  const setPlane = (spec: object) =>
    kubectl('patch', 'captcontrolplane', 'demo', '--type', 'merge', '-p', JSON.stringify({ spec }))
  const pinKarpenter = async (version: string) => {
    const overrides = [{ stage: 'karpenter', version }]
    await objects.patch(AddonDelivery, key, { type: 'merge', body: { spec: { overrides } } })
  }
  const karpenter = async () =>
    (await objects.get<AddonDelivery>(AddonDelivery, key))?.status?.stages?.find(({ name }) => name === 'karpenter')

  before(async () => {
    shipped = shippedProgram()
    story = storyOf(
      shipped,
      () => home.kubeconfig,
      (text) =>
        text
          .replace(/default\/shop-\S+/g, 'default/shop-POD')
          .replace(/karpenter-[a-z0-9]{6}-\d/g, 'karpenter-POD')
          .replace(/AGE +MESSAGE/g, 'AGE MESSAGE')
          .replace(/(127\.0\.0\.1 +)\d+\w+ +/g, '$1AGE '),
    )
    home = await shipped.up('home', ['--engine', 'simulated'])
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    objects = connection.objects
    const example = readFileSync(join(ROOT, 'examples', 'simulation.yaml'), 'utf8')
    writeFileSync(join(shipped.folder, 'demo.yaml'), example.replace(/^ {2}version: .*$/m, '  version: "1.35"'))
    const applied = await capt('apply', '-f', 'demo.yaml', '--wait', '3m')
    assert.equal(applied.code, 0, applied.out + applied.err)
    await pinKarpenter('1.12.0')
    await waitUntil('the older Karpenter runs', async () => {
      const stage = await karpenter()
      return stage?.wantedVersion === '1.12.0' && stage.state === 'Healthy'
    })
  })
  after(async () => {
    await connection?.close()
    await shipped.end()
  })
  const workload = async <T>(use: (objects: Objects) => Promise<T>): Promise<T> => {
    const path = join(shipped.folder, 'workload.kubeconfig')
    writeFileSync(path, await shipped.captOk(['kubeconfig', 'demo', '--kubeconfig', home.kubeconfig]))
    const opened = connect(await loadKubeconfig({ path }))
    try {
      return await use(opened.objects)
    } finally {
      await opened.close()
    }
  }

  it('posts one notice when a stage fails, again after a 500, and one when it has recovered', async () => {
    const posts: { readonly capt: Readonly<Record<string, string>>; readonly text: string }[] = []
    let isDown = true
    const sink = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += String(chunk)
      })
      request.on('end', () => {
        if (!isDown) posts.push(JSON.parse(body))
        response.writeHead(isDown ? 500 : 204).end()
        isDown = false
      })
    })
    await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/secret-path`
    await objects.create<Secret>(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name: 'capt-notification' },
      data: { url: Buffer.from(url).toString('base64') },
    })
    await pinKarpenter('1.8.4')
    await waitUntil('the failure is posted', () => posts.length === 1)
    story.note('Karpenter 1.8.4 is asked for')
    await kubectl('get', 'addondeliveries')
    await capt('describe', 'cluster', 'demo')
    story.note(`posted: ${posts[0]?.text}`)
    await pinKarpenter('1.12.0')
    await waitUntil('the recovery is posted', () => posts.length === 2)
    sink.close()
    story.note(`posted: ${posts[1]?.text}`)
    assert.deepEqual(
      posts.map(({ capt }) => [capt['type'], capt['cluster'], capt['reason']]),
      [
        ['StageFailed', 'demo', 'VersionMismatch'],
        ['Recovered', 'demo', 'Ready'],
      ],
    )
    assert.match(posts[0]!.text, /Karpenter 1\.8\.4 must not be used/)
    assert.ok(!`${home.out()}${home.err()}`.includes('secret-path'), 'the address is a secret')
    const events: (AnyObject & { reason: string; regarding?: { kind: string } })[] = []
    for await (const one of objects.list<(typeof events)[number]>(EventKind, { namespace: 'default' })) events.push(one)
    const failed = events.filter(
      ({ reason, regarding }) => reason === 'VersionMismatch' && regarding?.kind === 'AddonDelivery',
    )
    assert.equal(failed.length, 1, 'one Event')
    assert.ok(!JSON.stringify(events).includes('secret-path'))
  })

  it('shows the pod behind a stage that fails: on the delivery, on the control plane and by doctor', async () => {
    const kubeconfig = await shipped.captOk(['kubeconfig', 'demo', '--kubeconfig', home.kubeconfig])
    writeFileSync(join(shipped.folder, 'workload.kubeconfig'), kubeconfig)
    const inWorkload = (...args: readonly string[]) =>
      kubectl('--kubeconfig', 'workload.kubeconfig', '-n', 'kube-system', ...args)
    await inWorkload('create', 'configmap', 'capt-simulation', '--from-literal=karpenter=crash')
    const restarted = '--for=jsonpath={.status.containerStatuses[0].restartCount}=3'
    await inWorkload('wait', 'pod', '-l', 'app.kubernetes.io/name=karpenter', restarted, '--timeout=60s')
    await capt('retry', 'adeliv', 'demo')
    const unhealthy = '--for=condition=AddonsHealthy=False'
    await kubectl('wait', unhealthy, 'addondelivery/demo', 'captcontrolplane/demo', '--timeout=120s')
    const { code, out } = await capt('doctor', 'demo', '--skip-aws')
    assert.equal(code, 1)
    assert.match(out, /Pod kube-system\/karpenter-\S+ container controller: CrashLoopBackOff/)
    await inWorkload('delete', 'configmap', 'capt-simulation')
    await capt('retry', 'adeliv', 'demo')
    await kubectl('wait', '--for=condition=AddonsHealthy', 'addondelivery/demo', '--timeout=120s')
    await kubectl('wait', '--for=condition=Ready', 'addondelivery/demo', 'captcontrolplane/demo', '--timeout=120s')
  })

  it('holds an upgrade that would strand Karpenter, before anything is written, with the order to follow', async () => {
    await setPlane({ version: '1.36' })
    await kubectl('wait', '--for=condition=Stalled', 'captcontrolplane/demo', '--timeout=120s')
    const stalled = conditionOf((await objects.get<CAPTControlPlane>(CAPTControlPlane, key))!, 'Stalled')
    assert.equal(stalled?.reason, 'AddonsNotReady')
    assert.match(stalled?.message ?? '', /first upgrade Karpenter to 1\.14\.1, then Kubernetes goes to 1\.36/)
    assert.match(await kubectl('get', 'captcontrolplane', 'demo'), /first upgrade Karpenter to 1\.14\.1/)
    const name = 'demo-eks-controlplane-apply'
    const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { ...key, name })
    assert.equal(apply?.spec.variables['kubernetes_version'], '1.35', 'Terraform was asked for nothing')
  })

  it('shows the steps of an upgrade in order, with evidence', async () => {
    const { out, code } = await capt('upgrade', 'plan', 'demo', '--kubernetes', '1.36')
    assert.equal(code, 0)
    assert.equal(
      out,
      `Cluster demo, Kubernetes 1.35 -> 1.36
  1. Karpenter 1.12.0 -> 1.14.1
     set: spec.overrides[stage=karpenter].version of AddonDelivery demo
     Karpenter 1.12.0 supports Kubernetes 1.26 to 1.35 (https://karpenter.sh/docs/upgrading/compatibility/, 2026-08-20)
  2. Kubernetes 1.35 -> 1.36
     set: spec.version of CAPTControlPlane demo
     one minor version; the EKS add-ons that nobody pinned move in the same run, and none goes back
  3. Node image al2023@v20261102 -> what EKS recommends for 1.36
     by itself: chosen again in the run of the control plane, because images are made for a Kubernetes version
     Karpenter replaces the nodes of the pool, within its disruption budgets
`,
    )
  })

  it('upgrades nothing with --dry-run, and does not begin without an answer', async () => {
    assert.equal((await capt('upgrade', 'demo', '--kubernetes', '1.36', '--dry-run')).code, 0)
    assert.equal((await capt('upgrade', 'demo', '--kubernetes', '1.36')).code, 2)
    assert.equal((await karpenter())?.wantedVersion, '1.12.0')
  })

  it('upgrades in all steps, and then has nothing left to do', async () => {
    const { out, err, code } = await capt('upgrade', '-l', 'cluster.x-k8s.io/cluster-name!=x', '--yes', '--wait', '2m')
    assert.equal(code, 0, `${out}${err}`)
    assert.match(out, /Upgraded: demo/)
    assert.equal((await karpenter())?.wantedVersion, '1.14.1')
    assert.equal((await objects.get<CAPTControlPlane>(CAPTControlPlane, key))?.status?.version, 'v1.36.0')
    const again = await capt('upgrade', 'plan', 'demo')
    assert.equal(again.out, 'Cluster demo runs Kubernetes 1.36: nothing to do\n')
    const other = await capt('upgrade', 'demo', '--node-image', 'al2023@v20261120', '--yes', '--wait', '2m')
    assert.equal(other.code, 0, `${other.out}${other.err}`)
    assert.match(
      other.out,
      /1\. Node image al2023@v20261102 -> al2023@v20261120\n {5}set: spec\.variables\.NODE_IMAGE of/,
    )
    const back = await capt('upgrade', 'demo', '--kubernetes', '1.35', '--yes')
    assert.equal(back.code, 1)
    assert.match(back.err, /CAPT_UPGRADE_REFUSED/)
  })

  it('shows the pods that have nowhere to go before Karpenter is withdrawn, and keeps it without an answer', async () => {
    const labels = { app: 'shop' }
    const containers = [{ name: 'shop', image: 'shop', resources: { requests: { cpu: '1' } } }]
    await workload((objects) =>
      objects.create(DeploymentKind, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { namespace: 'default', name: 'shop' },
        spec: {
          replicas: 1,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: { nodeSelector: { 'karpenter.sh/nodepool': 'default' }, containers },
          },
        },
      } as never),
    )
    const isRunning = async (objects: Objects) => {
      for await (const { metadata, status } of objects.list<AnyObject & { status?: { phase?: string } }>(PodKind, {}))
        if (metadata.name.startsWith('shop') && status?.phase === 'Running') return true
      return false
    }
    await waitUntil('the pod runs on a node of Karpenter', () => workload(isRunning))
    const planned = await capt('withdraw', 'demo', 'karpenter', '--dry-run')
    assert.match(planned.out, /Cluster demo loses karpenter, node-pool; labels .*eks-karpenter/)
    assert.equal((await capt('withdraw', 'demo', 'karpenter')).code, 2, 'nobody is there to answer')
    assert.equal((await karpenter())?.state, 'Healthy')
    assert.match((await capt('withdraw', 'demo', 'missing', '--yes')).err, /CAPT_WITHDRAW/)
    const { code, out, err } = await capt('withdraw', 'demo', 'karpenter', '--yes', '--wait', '3m')
    assert.equal(code, 0, `${out}${err}`)
    assert.match(err, /default\/shop-\S+.*/)
    assert.match(out, /Withdrew karpenter, node-pool from cluster demo/)
    assert.equal((await karpenter())?.state, 'NotWanted')
  })

  it('reads as golden/story-addon-life.txt holds it', { skip: !kubectlPath && 'needs kubectl' }, () =>
    story.assertGolden('story-addon-life'),
  )
})
