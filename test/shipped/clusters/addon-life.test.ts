// The life of add-ons by the shipped program, in one home: an upgrade in lockstep, held before anything is written, planned,
// then performed in order; and notices about a stage that fails and recovers.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { AddonDelivery, CAPTControlPlane, conditionOf, type Secret, SecretKind, WorkspaceTemplateApply } from '#api'
import { type Connection, connect, loadKubeconfig, type Objects } from '#kube'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const key = { namespace: 'default', name: 'demo' }

describe('the life of add-ons', () => {
  let shipped: Shipped
  let home: UpHome
  let connection: Connection
  let objects: Objects
  const capt = (...args: readonly string[]) => shipped.capt([...args, '--kubeconfig', home.kubeconfig])
  const pinKarpenter = async (version: string) => {
    const overrides = [{ stage: 'karpenter', version }]
    await objects.patch(AddonDelivery, key, { type: 'merge', body: { spec: { overrides } } })
  }
  const karpenter = async () =>
    (await objects.get<AddonDelivery>(AddonDelivery, key))?.status?.stages?.find(({ name }) => name === 'karpenter')

  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up('home', ['--engine', 'simulated'])
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    objects = connection.objects
    const example = readFileSync(join(ROOT, 'examples', 'simulation.yaml'), 'utf8')
    writeFileSync(join(shipped.folder, 'demo.yaml'), example.replace(/^ {2}version: .*$/m, '  version: "1.35"'))
    await shipped.captOk(['apply', '-f', 'demo.yaml', '--wait', '2m', '--kubeconfig', home.kubeconfig])
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
    await pinKarpenter('1.12.0')
    await waitUntil('the recovery is posted', () => posts.length === 2)
    sink.close()
    assert.deepEqual(
      posts.map(({ capt }) => [capt['type'], capt['cluster'], capt['reason']]),
      [
        ['StageFailed', 'demo', 'VersionMismatch'],
        ['Recovered', 'demo', 'Ready'],
      ],
    )
    assert.match(posts[0]!.text, /Karpenter 1\.8\.4 must not be used/)
    assert.ok(!`${home.out()}${home.err()}`.includes('secret-path'), 'the address is a secret')
  })

  it('holds an upgrade that would strand Karpenter, before anything is written, with the order to follow', async () => {
    await objects.patch(CAPTControlPlane, key, { type: 'merge', body: { spec: { version: '1.36' } } })
    const stalled = async () => conditionOf((await objects.get<CAPTControlPlane>(CAPTControlPlane, key))!, 'Stalled')
    await waitUntil('it is held', async () => (await stalled())?.reason === 'AddonsNotReady')
    assert.match((await stalled())?.message ?? '', /first upgrade Karpenter to 1\.14\.1, then Kubernetes goes to 1\.36/)
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
    const back = await capt('upgrade', 'demo', '--kubernetes', '1.35', '--yes')
    assert.equal(back.code, 1)
    assert.match(back.err, /CAPT_UPGRADE_REFUSED/)
  })
})
