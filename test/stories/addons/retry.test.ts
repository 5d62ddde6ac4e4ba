// capt retry for add-ons, as a call: what it prints, what it changes, and what a delivery then does.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { RETRY_ANNOTATION, WorkspaceTemplateApply } from '#api'
import { anApply } from '#testing'
import type { Io } from '../../../src/cli/command.ts'
import { command as retry } from '../../../src/cli/commands/terraform/retry.ts'
import { readArguments, report } from '../../../src/cli/run.ts'
import { type AddonsWorld, addonsWorld, conditionStatus } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

async function call(line: string): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const out: string[] = []
  const err: string[] = []
  const { others: objects } = world.home
  const io: Io = {
    stdout: { write: (text) => void out.push(text), isTerminal: false, columns: 120 },
    stderr: { write: (text) => void err.push(text), isTerminal: false, columns: 120 },
    stdin: (async function* () {})(),
    env: {},
    cwd: '/',
    clock: world.clock,
    signal: new AbortController().signal,
    colour: false,
    connect: async () => ({
      objects,
      namespace: 'default',
      server: 'home',
      raw: async () => ({ status: 200, body: JSON.stringify({ versions: [{ version: 'v1beta2' }] }) }),
      close: async () => undefined,
    }),
  }
  const code = await Promise.resolve()
    .then(() => retry.run(readArguments(retry, ['retry', ...line.split(' ')]), io))
    .catch((error: unknown) => report(error, io))
  return { code, out: out.join(''), err: err.join('') }
}

const asked = () => world.delivery('demo')?.metadata.annotations?.[RETRY_ANNOTATION]

describe('capt retry for add-ons', () => {
  it('lets a delivery that has given up begin again at once', async () => {
    world = await addonsWorld()
    await world.addCluster('demo', { faults: { karpenter: 'crash' } })
    await world.until('capt gives up', () => world.stage('demo', 'karpenter')?.state === 'Failed', 12_000)
    await world.setFault('demo', {})
    const { code, out } = await call('addondelivery demo')
    assert.equal(code, 0)
    assert.equal(out, 'Asked for another try of default/demo; capt describe cluster demo shows it\n')
    await world.until('ready', () => conditionStatus(world.delivery('demo'), 'Ready') === 'True', 60)
    assert.equal(world.delivery('demo')?.status?.handledRetry, asked())
  })

  it('knows every word for a delivery and for an apply, and a kind before a slash', async () => {
    world = await addonsWorld()
    await world.addCluster('demo', { labels: {} })
    await world.until('there is a delivery', () => world.delivery('demo'))
    const words = ['adeliv demo', 'AddonDelivery demo', 'addondeliveries demo', 'adeliv/demo']
    for (const [i, line] of words.entries()) {
      await world.clock.advance(1000)
      assert.equal((await call(line)).code, 0, line)
      assert.equal(asked(), new Date(world.clock.now()).toISOString(), `${i} ${line}`)
    }
    const apply = anApply()
    await world.home.others.create(WorkspaceTemplateApply, apply)
    for (const line of [apply.metadata.name, `wtapply ${apply.metadata.name}`, `wtapply/${apply.metadata.name}`])
      assert.match((await call(line)).out, /^Asked for another run of default\//, line)
  })

  it('says clearly what it cannot do, and changes nothing then', async () => {
    world = await addonsWorld()
    await world.addCluster('demo', { labels: {} })
    await world.until('there is a delivery', () => world.delivery('demo'))
    for (const [line, code, text] of [
      ['adeliv nobody', 1, /There is no AddonDelivery "nobody" in namespace default/],
      ['pod demo', 2, /capt does not know the kind "pod"/],
      ['cluster demo', 2, /retry does not work on Cluster/],
      ['adeliv demo --clear-suspects', 2, /--clear-suspects is about Terraform runs/],
      ['adeliv demo more', 2, /Unexpected argument 'more'/],
      ['adeliv/', 2, /a kind and one name/],
    ] as const) {
      const answer = await call(line)
      assert.equal(answer.code, code, line)
      assert.match(answer.err, text, line)
    }
    assert.equal(asked(), undefined)
  })
})
