// An EKS cluster that Terraform made elsewhere becomes fully managed, by the shipped program and kubectl with real Terraform: its state
// and the template that made it, a first plan that must be empty, and a kill in between. AWS is moto with the stand-in.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import {
  type AnyObject,
  CAPTControlPlane,
  clusterKind,
  conditionOf,
  LeaseKind,
  PAUSED_ANNOTATION,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { connect, loadKubeconfig } from '#kube'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../../shipped/support.ts'
import { CLUSTER, type ExistingCluster, startExistingCluster } from '../../support/aws/existing-cluster.ts'
import { findMoto } from '../../support/aws/moto.ts'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { findTool, run } from '../../support/tools.ts'

const program = findMoto()
const terraform = findTool('terraform')
const missing = Object.entries({ moto: program, terraform, kubectl: kubectlPath }).filter(([, path]) => !path)
const skip = missing.length > 0 && `not installed: ${missing.map(([name]) => name).join(', ')}`
const APPLY = { namespace: 'default', name: `${CLUSTER}-eks-controlplane-apply` }
const KEY = { namespace: 'default', name: CLUSTER }

const moduleOf = ({ url, caData }: { readonly url: string; readonly caData: string }, team: string) =>
  `variable "cluster_name" { type = string }
variable "kubernetes_version" { type = string }
resource "terraform_data" "cluster" {
  input = { name = var.cluster_name, version = var.kubernetes_version, team = "${team}" }
}
output "cluster_name" { value = terraform_data.cluster.output.name }
output "cluster_endpoint" { value = "${url}" }
output "cluster_certificate_authority_data" { value = "${caData}" }
`

/** What moto makes up, the certificate of the endpoint, and an age before the last column. */
const steady = (text: string) =>
  text
    .replace(/\b(vpc|subnet|sg)-[0-9a-f]{8,}/g, '$1-ID')
    .replace(/\/id\/[0-9A-Za-z]+/g, '/id/ISSUER')
    .replace(/LS0tLS1[\w+/=]+/g, 'CERTIFICATE')
    .replace(/AGE +MESSAGE/g, 'AGE MESSAGE')
    .replace(/^(\S+\/\S+ .*\S +)\d+[smh]\w* *$/gm, '$1AGE')

describe('capt adopt with a Terraform state', { skip, timeout: 600_000 }, () => {
  let shipped: Shipped
  let site: ExistingCluster
  let home: UpHome
  let story: Story
  let connection: ReturnType<typeof connect>
  let untouched: Readonly<Record<string, unknown>>
  let found: readonly string[] = []
  let state = ''

  const file = (name: string) => join(shipped.folder, name)
  const template = (name: string, team: string) => {
    const vars = ['cluster_name', 'kubernetes_version'].map((key) => ({ key, value: `\${${key}}` }))
    const forProvider = { source: 'Inline', module: moduleOf(site.endpoint, team), vars }
    const object = {
      apiVersion: WorkspaceTemplate.apiVersion,
      kind: WorkspaceTemplate.kind,
      metadata: { name: 'legacy-eks' },
      spec: { template: { spec: { forProvider } } },
    }
    writeFileSync(file(name), stringify(object))
    return file(name)
  }
  const start = async () => {
    home = await shipped.up('home', [], { env: site.env })
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
  }
  const argsOf = (templateFile: string, ...more: readonly string[]) => {
    const given = ['--state', file('legacy.tfstate'), '--template', templateFile]
    return ['adopt', CLUSTER, ...given, ...more]
  }
  const adopt = (templateFile: string, ...more: readonly string[]) =>
    story.capt(argsOf(templateFile, ...more), { env: { ...shipped.env, ...site.env }, timeoutMs: 240_000 })
  const kubectl = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args)
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`)
    return out
  }
  const apply = () => connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, APPLY)
  const kept = async () => {
    const names: string[] = []
    for (const kind of [SecretKind, LeaseKind, WorkspaceTemplate, WorkspaceTemplateApply, CAPTControlPlane])
      for await (const { metadata } of connection.objects.list<AnyObject>(kind, { namespace: 'default' }))
        names.push(`${kind.kind}/${metadata.name}`)
    return names.sort()
  }

  before(async () => {
    shipped = shippedProgram()
    story = storyOf(shipped, () => home.kubeconfig, steady)
    site = await startExistingCluster(program!, shipped.folder)
    untouched = await site.account()
    const cwd = file('legacy')
    mkdirSync(cwd)
    writeFileSync(join(cwd, 'main.tf'), moduleOf(site.endpoint, 'shop'))
    writeFileSync(
      join(cwd, 'v.auto.tfvars.json'),
      JSON.stringify({ cluster_name: CLUSTER, kubernetes_version: '1.35' }),
    )
    const env = { PATH: process.env['PATH'] ?? '', CHECKPOINT_DISABLE: '1' }
    for (const args of [
      ['init', '-input=false'],
      ['apply', '-auto-approve', '-input=false'],
    ]) {
      const { code, out, err } = await run(terraform!, args, { cwd, env })
      assert.equal(code, 0, `${out}${err}`)
    }
    state = readFileSync(join(cwd, 'terraform.tfstate'), 'utf8')
    writeFileSync(file('legacy.tfstate'), state)
    await start()
    found = await kept()
  })
  after(async () => {
    await connection?.close()
    await shipped?.end()
    await site?.close()
  })

  it('refuses half of what it needs, what is no state of this cluster, and prints without --yes', async () => {
    const half = await shipped.capt(['adopt', CLUSTER, '--state', 'x', '--kubeconfig', home.kubeconfig])
    assert.equal(half.code, 2)
    assert.match(half.err, /--state and --template belong together/)
    writeFileSync(file('other.tfstate'), state.replaceAll(site.endpoint.url, 'https://other.example'))
    const args = ['--state', file('other.tfstate'), '--template', template('same.yaml', 'shop'), '--yes']
    const other = await shipped.capt(['adopt', CLUSTER, ...args, '--kubeconfig', home.kubeconfig], {
      env: { ...shipped.env, ...site.env },
    })
    assert.match(other.err, /CAPT_ADOPT_STATE/)
    const printed = await adopt(template('same.yaml', 'shop'))
    assert.equal(printed.code, 0, printed.err)
    assert.match(printed.out, /workspaceTemplateRef:\n\s+name: legacy-eks/)
    assert.doesNotMatch(printed.out, /policy: Adopted/)
    assert.deepEqual(await kept(), found)
  })

  it('refuses a first plan that is not empty, shows it, and leaves nothing behind', async () => {
    const { code, err } = await adopt(template('changed.yaml', 'other'), '--yes')
    assert.equal(code, 1, err)
    assert.match(err, /CAPT_ADOPT_PLAN/)
    assert.match(err, /Terraform would update terraform_data\.cluster/)
    assert.match(err, /~ .*team|team .*"shop" -> "other"/)
    await waitUntil('the end of the speculative plan', async () => (await kept()).length === found.length, 60_000)
    assert.deepEqual(await kept(), found)
    assert.deepEqual(await site.account(), untouched)
  })

  it('begins nothing when it is killed while it plans, and goes on when it is run again', async () => {
    const args = [...argsOf(template('same.yaml', 'shop'), '--yes'), '--kubeconfig', home.kubeconfig]
    const running = shipped.start(args, { env: site.env })
    await running.untilSaid('planning upon the state')
    await running.stop('SIGKILL')
    const held = await apply()
    assert.ok(held && PAUSED_ANNOTATION in (held.metadata.annotations ?? {}))
    assert.equal(held.spec.retainWorkspaceOnDelete, true)
    story.note('capt adopt --yes is killed while it plans')
    const absent = await story.kubectl(['get', 'captcontrolplane', CLUSTER])
    assert.equal(absent.code, 1)
    assert.match(absent.err, /\(NotFound\): captcontrolplanes\S* "demo" not found/)
    await connection.close()
    await home.stop('SIGKILL')
    await start()
    const again = await adopt(template('same.yaml', 'shop'), '--yes', '--wait', '3m')
    assert.equal(again.code, 0, again.out + again.err)
    assert.match(again.err, /deleting it destroys EKS cluster demo/)
  })

  it('is managed as a whole: its plan is empty, its state as it was, its version in the hand of capt', async () => {
    const plane = (await connection.objects.get<CAPTControlPlane>(CAPTControlPlane, KEY))!
    assert.equal(conditionOf(plane, 'Ready')?.status, 'True')
    assert.equal(plane.spec.policy, undefined)
    await kubectl('get', `captcontrolplane/${CLUSTER}`, `workspacetemplateapply/${APPLY.name}`)
    const planned = await kubectl('get', 'workspacetemplateapply', APPLY.name, '-o', 'jsonpath={.status.plan}{"\\n"}')
    assert.deepEqual(JSON.parse(planned), { add: 0, change: 0, destroy: 0, replace: 0 })
    const made = (await apply())!
    assert.equal(made.spec.retainWorkspaceOnDelete ?? false, false)
    const shown = await shipped.captOk(['state', 'show', APPLY.name, '--raw', '--kubeconfig', home.kubeconfig])
    const idsOf = (text: string) => (JSON.parse(text) as { lineage: string; resources: unknown }).resources
    assert.deepEqual(idsOf(shown), idsOf(state))
    const plan = await shipped.capt([
      'upgrade',
      'plan',
      CLUSTER,
      '--kubernetes',
      '1.36',
      '--kubeconfig',
      home.kubeconfig,
    ])
    assert.match(plan.out, /Kubernetes 1\.35 -> 1\.36/)
    const once = await adopt(template('same.yaml', 'shop'), '--yes')
    assert.deepEqual([once.code, /nothing to do/.test(once.err)], [0, true])
  })

  it('is destroyed with its Cluster, like one that capt made', async () => {
    const gone = await story.capt(['delete', 'cluster', CLUSTER, '--yes', '--wait', '3m'], { timeoutMs: 240_000 })
    assert.equal(gone.code, 0, gone.out + gone.err)
    await waitUntil('the end of everything', async () => {
      const cluster = await connection.objects.get(clusterKind('v1beta2'), KEY)
      return cluster === undefined && (await apply()) === undefined
    })
    // What the killed command planned expires after an hour.
    const left = (await kept()).filter((name) => name.includes(CLUSTER) && !name.includes('-plan-'))
    assert.deepEqual(left, [])
  })

  it('reads as golden/story-adopt-managed.txt holds it', () => story.assertGolden('story-adopt-managed'))
})
