// A drift check that is interrupted: by the end of `capt up`, by the end of every process at once, and by a move to another
// home. The state is never written by it, nothing of it stays behind, and the answer comes later.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type AnyObject, CLUSTER_NAME_LABEL, LeaseKind, type Secret, SecretKind, WorkspaceTemplateApply } from '#api'
import { stateName, suffixOf } from '#engine'
import { connect, loadKubeconfig, type Objects } from '#kube'
import { NOTE_PROVIDER, type NoteProvider, startNoteProvider } from '../../support/engine/note-provider.ts'
import { findTool, RUN_TOOL, TOOL_OF_TEMPLATE } from '../../support/tools.ts'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const skip = findTool(RUN_TOOL) ? false : `${RUN_TOOL} is not installed`
const KEY = { namespace: 'default', name: 'notes' }
type Kept = AnyObject & { readonly spec?: { readonly holderIdentity?: string } }
const MODULE = `${NOTE_PROVIDER}
resource "note_page" "own" {
  name = "own"
  text = "ours"
}`

describe('a drift check that is interrupted', { skip }, () => {
  let shipped: Shipped
  let here: UpHome
  let there: UpHome
  let provider: NoteProvider
  let asked = 0
  before(async () => {
    provider = await startNoteProvider()
    shipped = shippedProgram()
    ;[here, there] = await Promise.all([shipped.up('here'), shipped.up('there')])
    const file = join(shipped.folder, 'notes.json')
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests(provider.reattach) }))
    await shipped.captOk(['apply', '-f', file, '--kubeconfig', here.kubeconfig])
    await until(here, 'the first apply', ({ status }) => status?.phase === 'Applied')
  })
  after(async () => {
    await shipped?.end()
    await provider?.close()
  })

  async function ask<T>(home: UpHome, work: (objects: Objects) => Promise<T>): Promise<T> {
    const connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    try {
      return await work(connection.objects)
    } finally {
      await connection.close()
    }
  }
  async function until(home: UpHome, what: string, test: (apply: WorkspaceTemplateApply) => boolean): Promise<void> {
    let last: WorkspaceTemplateApply | undefined
    const look = async () => {
      last = await ask(home, (objects) => objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, KEY))
      return last !== undefined && test(last)
    }
    await waitUntil(what, look, 120_000, () => JSON.stringify(last))
  }
  /** Everything in the Secret of the state. */
  const stateOf = (home: UpHome) =>
    ask(home, async (objects) => {
      const name = stateName(suffixOf(KEY))
      return (await objects.get<Secret>(SecretKind, { namespace: KEY.namespace, name }))?.data
    })
  /** Secrets and Leases of the apply and of its checks. */
  const keptIn = (home: UpHome) =>
    ask(home, async (objects) => {
      const kept: Kept[] = []
      for (const kind of [SecretKind, LeaseKind])
        for await (const one of objects.list<Kept>(kind, { namespace: KEY.namespace })) kept.push(one)
      return kept.filter(({ metadata }) => metadata.name.includes('notes'))
    })
  /** Asks for a check and waits until Terraform reads from the provider, which does not answer. */
  async function beginCheck(): Promise<void> {
    provider.hold()
    const body = { metadata: { annotations: { 'capt.appthrust.com/check-drift': String(++asked) } } }
    await ask(here, (objects) => objects.patch(WorkspaceTemplateApply, KEY, { type: 'merge', body }))
    await waitUntil('the check', () => provider.held > 0, 120_000, here.err)
  }
  const isAnswered = ({ status }: WorkspaceTemplateApply) =>
    status?.drift?.request === String(asked) && status.drift.result === 'InSync'
  async function assertNothingRuns(home: UpHome): Promise<void> {
    await waitUntil('the end of the runner', () => shipped.runners().length === 0)
    const isHeld = async () => (await keptIn(home)).some(({ spec }) => spec?.holderIdentity)
    await waitUntil('every lock to be released', async () => !(await isHeld()))
  }

  for (const signal of ['SIGTERM', 'SIGKILL'] as const)
    it(`answers when capt up is back after ${signal}`, async () => {
      const before = await stateOf(here)
      await beginCheck()
      await here.stop(signal)
      assert.equal(shipped.runners().length, 1)
      provider.release()
      here = await shipped.up('here')
      await until(here, 'the answer', isAnswered)
      await assertNothingRuns(here)
      assert.deepEqual(await stateOf(here), before)
    })

  it('is repeated when every process was killed at once', async () => {
    const before = await stateOf(here)
    await beginCheck()
    const others = new Set([there.pid])
    for (const pid of shipped.processes()) if (!others.has(pid)) process.kill(pid, 'SIGKILL')
    await here.ended
    await waitUntil('the end of the killed runner', () => shipped.runners().length === 0)
    provider.release()
    here = await shipped.up('here')
    await until(here, 'the answer', isAnswered)
    await assertNothingRuns(here)
    assert.deepEqual(await stateOf(here), before)
  })

  it('ends when its cluster is moved, and is repeated where that goes', async () => {
    const before = await stateOf(here)
    await beginCheck()
    await shipped.captOk([
      'move',
      'shop',
      '--to-kubeconfig',
      there.kubeconfig,
      '--yes',
      '--kubeconfig',
      here.kubeconfig,
    ])
    assert.deepEqual(shipped.runners(), [])
    await waitUntil('nothing to be left', async () => (await keptIn(here)).length === 0, 60_000)
    await until(there, 'the answer', isAnswered)
    await assertNothingRuns(there)
    assert.deepEqual(await stateOf(there), before)
    assert.deepEqual([...provider.pages.keys()], ['own'])
  })
})

function manifests(reattach: string): readonly object[] {
  const apiVersion = 'infrastructure.cluster.x-k8s.io/v1beta1'
  const env = [{ name: 'TF_REATTACH_PROVIDERS', value: reattach }]
  const template = { spec: { forProvider: { source: 'Inline', module: MODULE, env }, ...TOOL_OF_TEMPLATE } }
  const labels = { [CLUSTER_NAME_LABEL]: 'shop' }
  const spec = { templateRef: { name: 'notes' }, driftDetection: { interval: '12h' } }
  return [
    { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata: { name: 'shop' }, spec: { paused: false } },
    { apiVersion, kind: 'WorkspaceTemplate', metadata: { name: 'notes' }, spec: { template } },
    { apiVersion, kind: 'WorkspaceTemplateApply', metadata: { name: 'notes', labels }, spec },
  ]
}
