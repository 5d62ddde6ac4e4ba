// What capt manager posts about runs and deletions, by the shipped program with Terraform and kubectl: a run that fails, a plan to
// approve, drift, and a deletion that is stuck. Each is one Event, one count and one post, tried again after a 500, without a secret.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import { ALL_KINDS, CAPTCluster, toCustomResourceDefinition, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { NOTE_PROVIDER, type NoteProvider, startNoteProvider } from '../../support/engine/note-provider.ts'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { leaksIn, planted } from '../../support/secrets/planted.ts'
import { findTool } from '../../support/tools.ts'
import { freePort, kubectlPath, type Running, type Shipped, shippedProgram, waitUntil } from '../support.ts'
import { type Posted, startWebhookSink, type WebhookSink } from './webhook-sink.ts'

const skip = (!findTool('terraform') || !kubectlPath) && 'terraform or kubectl is not installed'
const SECRET = planted('notice')
const { apiVersion } = WorkspaceTemplateApply

const says = (text: string) => `echo 'token=\\"${SECRET}\\": ${text}' >&2; exit 1`
const FAILING = `variable "is_broken" { default = true }
resource "terraform_data" "x" {
  provisioner "local-exec" { command = var.is_broken ? "${says('the disk is full')}" : "true" }
}`
const ASKING = `variable "password" { sensitive = true }
resource "terraform_data" "x" { input = var.password }`
const STUCK = `resource "terraform_data" "vpc" {
  provisioner "local-exec" {
    when    = destroy
    command = "${says('AccessDenied: not authorized to perform ec2:DeleteVpc')}"
  }
}
output "vpc_id" { value = "vpc-1" }`
const DRIFTING = `${NOTE_PROVIDER}
resource "note_page" "own" {
  name   = "own"
  text   = "ours"
  secret = "${SECRET}"
}`

const MESSAGES = 'jsonpath={range .items[*]}{.reason}: {.message}{"\\n"}{end}'
const inTenant = <T extends { readonly metadata: object }>(object: T) => ({
  ...object,
  metadata: { ...object.metadata, namespace: 'tenant' },
})
const typeOf = ({ capt }: Posted): string => capt.type
const templateOf = (name: string, module: string, forProvider: object = {}) => ({
  apiVersion,
  kind: WorkspaceTemplate.kind,
  metadata: { name },
  spec: { template: { spec: { forProvider: { source: 'Inline', module, ...forProvider } } } },
})
const applyOf = (name: string, spec: object = {}) => ({
  apiVersion,
  kind: WorkspaceTemplateApply.kind,
  metadata: { name },
  spec: { templateRef: { name }, ...spec },
})

describe('notices of capt manager', { skip }, () => {
  let folder: string
  let shipped: Shipped
  let server: ApiServer
  let provider: NoteProvider
  let sink: WebhookSink
  let manager: Running
  let story: Story
  let metricsPort: number

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'capt-management-'))
    shipped = shippedProgram()
    server = await startApiServer({
      dataDir: join(folder, 'home'),
      crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), ...resourceSetDefinitions()],
      converters: { 'cluster.x-k8s.io/Cluster': convertCluster } as never,
    })
    const kubeconfig = join(shipped.folder, 'mgmt.yaml')
    writeFileSync(kubeconfig, server.kubeconfig())
    provider = await startNoteProvider()
    sink = await startWebhookSink()
    metricsPort = await freePort()
    story = storyOf(
      shipped,
      () => kubeconfig,
      (said) => said.replace(/\b[0-9a-f]{16}\b/g, 'HASH'),
    )
    await quietly('create', 'namespace', 'tenant')
    await secret('default', 'fallback', sink.url)
    await secret('tenant', 'capt-notification', sink.url.replace('http:', 'https:'))
    story.note('Secret default/fallback names a webhook; the one of namespace tenant is at a private address')
    const flags = ['--kubeconfig', 'mgmt.yaml', '--health-probe-bind-address', '0']
    const more = ['--notification-secret', 'default/fallback', '--metrics-bind-address', `127.0.0.1:${metricsPort}`]
    manager = shipped.start(['manager', ...flags, ...more])
  })
  after(async () => {
    await shipped?.end()
    await server?.close()
    await provider?.close()
    sink?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const quietly = async (...args: readonly string[]) => {
    const { code, out, err } = await shipped.kubectl('mgmt.yaml', args)
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`)
    return out
  }
  const secret = (namespace: string, name: string, url: string) => {
    const literals = [`--from-literal=url=${url}`, `--from-literal=signingKey=${sink.signingKey}`]
    return quietly('create', 'secret', 'generic', name, '-n', namespace, ...literals)
  }
  const kubectl = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args, { timeoutMs: 130_000 })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}\n${manager.err().slice(-3000)}`)
    return out
  }
  const apply = async (file: string, ...objects: readonly object[]) => {
    writeFileSync(join(shipped.folder, file), objects.map((object) => stringify(object)).join('---\n'))
    await kubectl('apply', '-f', file)
  }
  const until = (field: string, ...objects: readonly string[]) =>
    kubectl('wait', `--for=jsonpath={.status.${field}`, ...objects, '--timeout=120s')
  const warnings = (kind: string, name: string) => {
    const about = `type=Warning,involvedObject.kind=${kind},involvedObject.name=${name}`
    return kubectl('get', 'events', '--field-selector', about, '-o', MESSAGES)
  }
  /** Waits for the notices of an object, which are all that there are about it. */
  const posted = async (name: string, ...types: readonly string[]) => {
    const own = () => sink.posts.filter(({ capt }) => capt.object.name === name)
    await waitUntil(`${types} of ${name}`, () => own().length >= types.length)
    const begun = sink.begun.filter(({ capt }) => capt.object.name === name && capt.namespace === 'default')
    assert.deepEqual([own().map(typeOf), begun.map(typeOf)], [types, types])
    const last = own().at(-1)!
    story.note(`posted about ${name}: ${types.join(', ')}; the last one: ${last.text}`)
    return last
  }
  const check = async (request: string, result: string) => {
    await kubectl('annotate', 'wtapply', 'drifting', '--overwrite', `capt.appthrust.com/check-drift=${request}`)
    await until(`drift.request}=${request}`, 'wtapply/drifting')
    await until(`drift.result}=${result}`, 'wtapply/drifting')
  }
  /** What the manager counts, and of that the notices that were sent. */
  const counted = async () => {
    const metrics = await scrape(metricsPort, /token: (\S+)/.exec(server.kubeconfig())![1]!)
    const lines = metrics.matchAll(/^capt_notifications_total\{type="(\w+)",result="sent"\} (\d+)$/gm)
    return { metrics, sent: Object.fromEntries([...lines].map(([, type, count]) => [type, Number(count)])) }
  }
  const setPage = (text: string) => provider.pages.set('own', { name: 'own', text, secret: SECRET })

  it('are one for each run that fails, plan to approve, drift and deletion that is stuck', async () => {
    const cluster = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster' }
    const infrastructureRef = { apiGroup: CAPTCluster.group, kind: CAPTCluster.kind, name: 'stuck' }
    // The finalizer of Cluster API, whose part the test plays.
    const metadata = { name: 'stuck', finalizers: ['cluster.cluster.x-k8s.io'] }
    await apply('cluster.yaml', templateOf('stuck', STUCK), { ...cluster, metadata, spec: { infrastructureRef } })
    const uid = await quietly('get', 'cluster', 'stuck', '-o', 'jsonpath={.metadata.uid}')
    const env = [{ name: 'TF_REATTACH_PROVIDERS', value: provider.reattach }]
    await apply(
      'all.yaml',
      {
        apiVersion,
        kind: CAPTCluster.kind,
        metadata: { name: 'stuck', ownerReferences: [{ ...cluster, name: 'stuck', uid }] },
        spec: { region: 'eu-west-1', vpcTemplateRef: { name: 'stuck' } },
      },
      templateOf('drifting', DRIFTING, { env }),
      applyOf('drifting', { driftDetection: { interval: '12h' } }),
      templateOf('failing', FAILING),
      applyOf('failing'),
      templateOf('asking', ASKING),
      applyOf('asking', { approval: 'Manual', values: { password: SECRET } }),
      inTenant(templateOf('failing', FAILING)),
      inTenant(applyOf('failing')),
    )
    await until('phase}=Applied', 'wtapply/stuck-vpc', 'wtapply/drifting')
    await kubectl('delete', 'cluster/stuck', 'captcluster/stuck', '--wait=false')
    setPage('theirs')
    await check('1', 'Drifted')
    for (const [name, kind, type] of [
      ['failing', 'WorkspaceTemplateApply', 'RunFailed'],
      ['asking', 'WorkspaceTemplateApply', 'ApprovalNeeded'],
      ['drifting', 'WorkspaceTemplateApply', 'DriftDetected'],
      ['stuck', 'CAPTCluster', 'DeletionStuck'],
    ] as const) {
      const { capt } = await posted(name, type)
      assert.equal(await warnings(kind, name), `${capt.reason}: ${capt.message}\n`, 'one Event, with the same words')
    }
    const { metrics, sent } = await counted()
    assert.deepEqual(sent, { RunFailed: 1, ApprovalNeeded: 1, DriftDetected: 1, DeletionStuck: 1 })
    for (const fact of ['plans_awaiting_approval', 'drift_resources', 'drift_workspaces{result="Drifted"}'])
      assert.ok(metrics.includes(`\ncapt_${fact} 1\n`), fact)
    assert.match(metrics, /^capt_runs_total\{verb="destroy",result="failed"\} 1$/m)
  })

  it('report what is over, and drift that comes back', async () => {
    await kubectl('patch', 'wtapply', 'failing', '--type', 'merge', '-p', '{"spec":{"values":{"is_broken":false}}}')
    setPage('ours')
    await check('2', 'InSync')
    await posted('drifting', 'DriftDetected', 'Recovered')
    setPage('theirs')
    await check('3', 'Drifted')
    await posted('drifting', 'DriftDetected', 'Recovered', 'DriftDetected')
    await posted('failing', 'RunFailed', 'Recovered')
  })

  it('are none when a person denies a plan, and do not go to a private address that a tenant names', async () => {
    assert.equal((await story.capt(['approve', 'asking', '--deny'])).code, 0)
    await until('phase}=Stalled', 'wtapply/asking')
    const failed = ['get', 'events', '-n', 'tenant', '--field-selector', 'reason=NotificationFailed', '-o', MESSAGES]
    await waitUntil('the Event of the tenant', async () => (await quietly(...failed)) !== '')
    assert.match(await kubectl(...failed), /The notice RunFailed was not delivered: the sink is in a private network/)
    await posted('asking', 'ApprovalNeeded')
    assert.deepEqual([...new Set(sink.posts.map(({ capt }) => capt.namespace))], ['default'])
  })

  it('hold no secret, and neither do events and metrics', async () => {
    const { metrics, sent } = await counted()
    const types = Object.groupBy(sink.posts, ({ capt }) => capt.type)
    assert.deepEqual(sent, Object.fromEntries(Object.entries(types).map(([type, posts]) => [type, posts?.length])))
    const events = await quietly('get', 'events', '-A', '-o', 'yaml')
    assert.match(events, /token=…redacted…/)
    assert.deepEqual(leaksIn(JSON.stringify([sink.begun, sink.posts]) + events + metrics), [])
    assert.equal(await manager.stop(), 0, manager.err())
  })

  it('read as golden/story-notices.txt holds them', () => story.assertGolden('story-notices'))
})

async function scrape(port: number, token: string): Promise<string> {
  const options = { rejectUnauthorized: false, headers: { authorization: `Bearer ${token}` } }
  const asked = request(`https://127.0.0.1:${port}/metrics`, options).end()
  const [answer] = (await once(asked, 'response')) as [Readable]
  return await text(answer)
}
