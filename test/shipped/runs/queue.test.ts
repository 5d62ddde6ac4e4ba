// The queue of runs and the choice of the program, as a user of `capt up` sees them.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { findTool } from '../../support/tools.ts'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const skip = findTool('terraform') ? false : 'terraform is not installed'
/** One more than runs of one identity that may last: one of them waits on any machine. */
const RUNS = 5

describe('runs of an embedded home', { skip }, () => {
  let shipped: Shipped
  let home: UpHome
  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up('queue')
  })
  after(() => shipped.end())

  const capt = (...args: readonly string[]) => shipped.captOk([...args, '--kubeconfig', home.kubeconfig])
  const apply = async (name: string, objects: readonly object[]) => {
    const path = join(shipped.folder, `${name}.json`)
    writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
    await capt('apply', '-f', path)
  }
  const anObject = (kind: string, name: string, spec: object) => ({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind,
    metadata: { name, namespace: 'default' },
    spec,
  })
  const aTemplate = (name: string, module: string, more: object = {}) =>
    anObject('WorkspaceTemplate', name, {
      template: { spec: { forProvider: { source: 'Inline', module }, ...more } },
    })
  const anApply = (name: string, template: string) =>
    anObject('WorkspaceTemplateApply', name, { templateRef: { name: template } })
  const runs = async () => {
    const { items } = JSON.parse(await capt('get', 'runs', '-o', 'json')) as {
      readonly items: readonly {
        readonly apply: string
        readonly phase: string
        readonly queue?: { readonly position: number; readonly reason: string; readonly since: string }
      }[]
    }
    return items
  }

  it('wait in a queue that capt get runs shows with position, age and reason, and all end', async () => {
    const hold = join(shipped.folder, 'hold')
    writeFileSync(hold, '')
    const module = `resource "terraform_data" "x" {
  provisioner "local-exec" {
    command = "while test -f ${hold}; do sleep 0.2; done"
  }
}`
    const names = Array.from({ length: RUNS }, (_, i) => `slow-${i}`)
    await apply('slow', [aTemplate('slow', module), ...names.map((name) => anApply(name, 'slow'))])
    await waitUntil('a queue', async () => (await runs()).some(({ queue }) => queue !== undefined), 120_000, home.err)
    const waiting = (await runs()).filter(({ phase }) => phase === 'Queued')
    assert.ok(waiting.length >= 1 && waiting.length < RUNS)
    for (const { queue } of waiting) assert.match(queue?.reason ?? '', /^(AllSlotsTaken|IdentityLimit)$/)
    const text = await capt('get', 'runs')
    assert.match(text, /^NAME +VERB +PHASE +POSITION +AGE +REASON$/m)
    assert.match(text, /^slow-\d +apply +Queued +1 +\d+s +(AllSlotsTaken|IdentityLimit)$/m)
    rmSync(hold)
    const ended = async () => (await runs()).every(({ phase }) => phase === 'Succeeded')
    await waitUntil('the end of all runs', ended, 180_000, home.err)
    assert.equal((await runs()).length, RUNS)
  })

  it('never begin with a program or version that the template excludes', async () => {
    const template = aTemplate('old', 'output "x" { value = 1 }', { tool: { name: 'terraform', version: '< 1.0' } })
    await apply('old', [template, anApply('old', 'old')])
    const conditions = async () => await capt('get', 'wtapply', 'old', '-o', 'yaml')
    const isStalled = async () => (await conditions()).includes('ToolMismatch')
    await waitUntil('the refusal', isStalled, 60_000, home.err)
    assert.match(await conditions(), /the template asks for terraform < 1\.0, installed is terraform \d+\.\d+\.\d+/)
    assert.ok(!(await runs()).some(({ apply: name }) => name === 'old'), 'nothing was run')
  })
})
