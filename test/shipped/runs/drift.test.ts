// Drift detection by the shipped program with Terraform and a provider whose resources the test changes behind its back: found,
// ignored, corrected, upstream moved, unknowable, and nothing of a secret in what is stored.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { CoreEventKind, LeaseKind, type Secret, SecretKind, WorkspaceTemplateApply } from '#api'
import { connect, loadKubeconfig } from '#kube'
import { anApply } from '#testing'
import { NOTE_PROVIDER, type NoteProvider, startNoteProvider } from '../../support/engine/note-provider.ts'
import { planted } from '../../support/secrets/planted.ts'
import { findTool, RUN_TOOL, TOOL_OF_TEMPLATE } from '../../support/tools.ts'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const skip = findTool(RUN_TOOL) ? false : `${RUN_TOOL} is not installed`
const SECRET = planted('drift')
const THEIRS = planted('drift-theirs')

/** `upstream` floats: it reads a file that is not an input. */
const moduleOf = (file: string) => `${NOTE_PROVIDER}
data "terraform_remote_state" "upstream" {
  backend = "local"
  config  = { path = ${JSON.stringify(file)} }
}
resource "note_page" "own" {
  name   = "own"
  text   = "ours"
  secret = "${SECRET}"
}
resource "note_page" "lenient" {
  name = "lenient"
  text = "ours"
  lifecycle { ignore_changes = [text] }
}
resource "note_page" "follower" {
  name = "follower"
  text = data.terraform_remote_state.upstream.outputs.image
}`

describe('drift detection of the shipped program', { skip }, () => {
  let shipped: Shipped
  let home: UpHome
  let provider: NoteProvider
  let connection: ReturnType<typeof connect>
  let asked = 0
  before(async () => {
    provider = await startNoteProvider()
    shipped = shippedProgram()
    home = await shipped.up()
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    publish('image-1')
    await write({ interval: '12h' })
    await until('the first apply', ({ status }) => status?.phase === 'Applied')
  })
  after(async () => {
    await connection?.close()
    await shipped?.end()
    await provider?.close()
  })

  const at = () => ['--kubeconfig', home.kubeconfig]
  const upstream = () => join(shipped.folder, 'upstream.tfstate')
  const publish = (image: string) => {
    const outputs = { image: { value: image, type: 'string' } }
    writeFileSync(upstream(), JSON.stringify({ version: 4, serial: 1, lineage: 'u', outputs, resources: [] }))
  }
  const set = (name: string, text: string) => provider.pages.set(name, { ...provider.pages.get(name)!, text })

  function manifest(driftDetection: object | undefined, more: object = {}): string {
    const api = 'infrastructure.cluster.x-k8s.io/v1beta1'
    const env = [{ name: 'TF_REATTACH_PROVIDERS', value: provider.reattach }]
    const forProvider = { source: 'Inline', module: moduleOf(upstream()), env }
    const metadata = { name: 'notes' }
    const spec = { templateRef: metadata, ...(driftDetection ? { driftDetection } : {}), ...more }
    const items = [
      {
        apiVersion: api,
        kind: 'WorkspaceTemplate',
        metadata,
        spec: { template: { spec: { forProvider, ...TOOL_OF_TEMPLATE } } },
      },
      { apiVersion: api, kind: 'WorkspaceTemplateApply', metadata, spec },
    ]
    const file = join(shipped.folder, 'notes.json')
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    return file
  }
  const write = (driftDetection: object | undefined, more?: object) =>
    shipped.captOk(['apply', '-f', manifest(driftDetection, more), ...at()])

  async function until(what: string, test: (apply: WorkspaceTemplateApply) => boolean) {
    let last: WorkspaceTemplateApply | undefined
    const key = { namespace: 'default', name: 'notes' }
    await waitUntil(
      what,
      async () => {
        last = await connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key)
        return last !== undefined && test(last)
      },
      120_000,
      () => JSON.stringify(last?.status),
    )
    return last!
  }
  /** Asks for a check and waits for its answer. */
  async function check(): Promise<WorkspaceTemplateApply> {
    const request = String(++asked)
    const body = { metadata: { annotations: { 'capt.appthrust.com/check-drift': request } } }
    const key = { namespace: 'default', name: 'notes' }
    await connection.objects.patch(WorkspaceTemplateApply, key, { type: 'merge', body })
    return until(`the answer to request ${request}`, ({ status }) => {
      const { drift } = status ?? {}
      return drift?.request === request && drift.result !== undefined
    })
  }
  const drifted = ({ status }: WorkspaceTemplateApply) => status?.conditions?.find(({ type }) => type === 'Drifted')
  const describeApply = () => shipped.captOk(['describe', 'wtapply', 'notes', ...at()])

  it('refuses an interval of zero or below ten minutes, and a name that checks use', async () => {
    const { code, err } = await shipped.capt(['apply', '-f', manifest({ interval: '9m59s' }), ...at()])
    assert.equal(code, 1)
    assert.match(err, /driftDetection\.interval.*at least 10m/)
    const create = (name: string, interval: string) =>
      connection.objects.create(
        WorkspaceTemplateApply,
        anApply({ driftDetection: { interval, mode: 'Report' } }, { name }),
      )
    for (const interval of ['0s', '0h', '1s', 'often', ''])
      await assert.rejects(create('x', interval), /driftDetection\.interval/, interval)
    await assert.rejects(create('notes.capt-drift', '10m'), /metadata\.name must not end in \.capt-drift/)
  })

  it('finds nothing where nobody changed anything, and writes no state', async () => {
    const { status } = await check()
    assert.partialDeepStrictEqual(status?.drift, { mode: 'Report', result: 'InSync', drifted: 0, ignored: 0 })
    assert.match(await describeApply(), /3 resources, no drift/)
  })

  it('finds what somebody changed, names it, and leaves it alone', async () => {
    const before = await until('any state', () => true)
    provider.pages.set('own', { name: 'own', text: 'theirs', secret: THEIRS })
    set('lenient', 'theirs')
    const found = await check()
    assert.partialDeepStrictEqual(found.status?.drift, {
      result: 'Drifted',
      drifted: 1,
      upstream: 0,
      pending: 0,
      ignored: 1,
      changes: [{ address: 'note_page.own', action: 'update', cause: 'Drift' }],
    })
    assert.match(drifted(found)?.message ?? '', /note_page\.own.*capt retry notes/)
    assert.equal(drifted(found)?.status, 'True')
    assert.equal(found.status?.phase, 'Applied')
    assert.deepEqual([found.status?.state, found.status?.run], [before.status?.state, before.status?.run])
    assert.match(await describeApply(), /3 resources, 1 drifted/)
    const plan = await shipped.captOk(['plan', 'notes', ...at()])
    assert.match(plan, /Changed outside of Terraform.*# note_page\.own has changed/s)
    assert.match(plan, /~ text += "ours" -> "theirs"/)
    assert.match(plan, /What an apply would do:.*note_page\.own will be updated in-place/s)
    assert.ok(!plan.includes(THEIRS) && !plan.includes(SECRET))
    assert.equal(provider.pages.get('own')?.text, 'theirs')
  })

  it('corrects what somebody changed with mode Correct, and nothing else', async () => {
    await write({ interval: '12h', mode: 'Correct' })
    await waitUntil('the correction', () => provider.pages.get('own')?.text === 'ours')
    const done = await until(
      'its end',
      ({ status }) => status?.drift?.result === undefined && status?.phase === 'Applied',
    )
    assert.deepEqual(provider.pages.get('own'), { name: 'own', text: 'ours', secret: SECRET })
    assert.equal(provider.pages.get('lenient')?.text, 'theirs', 'what is ignored stays')
    assert.equal(drifted(done)?.reason, 'NotChecked')
    assert.equal((await check()).status?.drift?.result, 'InSync')
  })

  it('waits with a correction where plans are approved, and leaves the drift when that is denied', async () => {
    set('own', 'theirs')
    await write({ interval: '12h', mode: 'Correct' }, { approval: 'Manual' })
    await check()
    const ready = ({ status }: WorkspaceTemplateApply) => status?.conditions?.find(({ type }) => type === 'Ready')
    await until('the plan', (apply) => ready(apply)?.reason === 'ApprovalRequired')
    assert.equal(provider.pages.get('own')?.text, 'theirs')
    await shipped.captOk(['approve', 'notes', '--deny', ...at()])
    const denied = await until('the denial', (apply) => ready(apply)?.status === 'True')
    assert.deepEqual([drifted(denied)?.reason, provider.pages.get('own')?.text], ['Drifted', 'theirs'])
    set('own', 'ours')
    await write({ interval: '12h', mode: 'Correct' }, { approval: 'Auto' })
  })

  const retry = async () => {
    await shipped.captOk(['retry', 'notes', ...at()])
    await until('the run that was asked for', ({ status }) => status?.drift?.result === undefined)
  }
  const texts = () => ['follower', 'own'].map((name) => provider.pages.get(name)?.text)

  it('does not apply what moved upstream until somebody asks for it', async () => {
    publish('image-2')
    const moved = await check()
    const sources = ['data.terraform_remote_state.upstream']
    assert.partialDeepStrictEqual(moved.status?.drift, { result: 'UpstreamMoved', upstream: 1, sources })
    assert.match(drifted(moved)?.message ?? '', /note_page\.follower.*capt retry notes/)
    assert.deepEqual(texts(), ['image-1', 'ours'])
    await retry()
    assert.deepEqual(texts(), ['image-2', 'ours'])
  })

  it('does not correct drift together with what moved upstream, also when that moved after the check', async () => {
    await write({ interval: '12h' })
    set('own', 'theirs')
    assert.equal((await check()).status?.drift?.result, 'Drifted')
    publish('image-3')
    await write({ interval: '12h', mode: 'Correct' })
    const refused = await until('the end of the correction', ({ status }) => status?.run?.phase === 'Cancelled')
    assert.deepEqual([texts(), refused.status?.phase], [['image-2', 'theirs'], 'Applied'])
    assert.match(
      await shipped.captOk(['logs', 'notes', ...at()]),
      /not corrected: the plan also changes note_page\.follower/,
    )
    const both = await check()
    assert.partialDeepStrictEqual(both.status?.drift, { result: 'Drifted', drifted: 1, upstream: 1 })
    assert.match(drifted(both)?.message ?? '', /not corrected/)
    assert.deepEqual(texts(), ['image-2', 'theirs'])
    await retry()
    assert.deepEqual(texts(), ['image-3', 'ours'])
  })

  it('says that it is unknown when the plan fails, and the apply stays ready', async () => {
    provider.failure = 'the notebook is closed'
    const unknown = await check()
    provider.failure = undefined
    assert.equal(unknown.status?.drift?.result, 'CannotTell')
    assert.equal(drifted(unknown)?.status, 'Unknown')
    assert.match(drifted(unknown)?.message ?? '', /the notebook is closed/)
    assert.equal(unknown.status?.phase, 'Applied')
    assert.match(await describeApply(), /drift unknown/)
  })

  it('emits a Warning for each answer that needs a person', async () => {
    const reasons = new Set<string | undefined>()
    for await (const event of connection.objects.list(CoreEventKind, { namespace: 'default' }))
      reasons.add((event as unknown as { readonly reason?: string }).reason)
    for (const reason of ['Drifted', 'UpstreamMoved', 'CannotTell']) assert.ok(reasons.has(reason), reason)
  })

  it('stores no secret, of ours or of theirs, outside the state', async () => {
    let searched = 0
    for await (const { metadata, data = {} } of connection.objects.list<Secret>(SecretKind, { namespace: 'default' })) {
      if (!metadata.name.startsWith('capt-run-')) continue
      for (const [key, value] of Object.entries(data)) {
        const bytes = Buffer.from(value, 'base64')
        const text = (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString('utf8')
        for (const secret of [SECRET, THEIRS]) assert.ok(!text.includes(secret), `${metadata.name} ${key}`)
        searched++
      }
    }
    assert.ok(searched >= 4, `${searched}`)
  })

  /** Secrets and Leases of the checks. */
  async function kept(): Promise<readonly string[]> {
    const names: string[] = []
    for (const kind of [SecretKind, LeaseKind])
      for await (const { metadata } of connection.objects.list(kind, { namespace: 'default' }))
        names.push(metadata.name)
    return names.filter((name) => name.includes('capt-drift'))
  }

  it('leaves nothing behind when it is turned off, or when the apply is deleted', async () => {
    assert.ok((await kept()).length > 0)
    await write(undefined)
    await until('the end of the checks', ({ status }) => status?.drift === undefined)
    assert.deepEqual(await kept(), [])
    await write({ interval: '12h' })
    await check()
    assert.ok((await kept()).length > 0)
    await shipped.captOk(['delete', 'wtapply', 'notes', '--yes', ...at()])
    const gone = async () => (await shipped.capt(['get', 'wtapply', 'notes', ...at()])).code !== 0
    await waitUntil('the end of the apply', gone)
    assert.deepEqual([await kept(), provider.pages.size], [[], 0])
  })
})
