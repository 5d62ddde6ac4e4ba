// What every command refuses before it connects anywhere: surplus arguments and values that an option does not have.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { COMMANDS } from '../../src/cli/index.ts'
import { mostPositionals } from '../../src/cli/run.ts'
import { capt } from '../support/cli-io.ts'

/** These take a list. */
const LISTS = ['__complete', 'delete', 'describe', 'explain', 'get', 'karpenter convert', 'move', 'withdraw']

describe('surplus arguments', () => {
  it('are counted by the usage that help shows', () => {
    const cases: readonly (readonly [string | undefined, number])[] = [
      [undefined, 0],
      ['NAME', 1],
      ['KIND NAME', 2],
      ['KIND [NAME]', 2],
      ['[KIND] NAME', 2],
      ['list|show|restore NAME', 2],
      ['[CLUSTER | KIND NAME]', 2],
      ['KIND NAME...', Number.POSITIVE_INFINITY],
    ]
    for (const [usage, most] of cases) assert.equal(mostPositionals(usage), most, usage)
  })

  for (const entry of COMMANDS) {
    it(`are refused by capt ${entry.name}`, async () => {
      const { command } = await entry.load()
      const most = mostPositionals(command.positionals)
      assert.equal(most === Number.POSITIVE_INFINITY, LISTS.includes(entry.name))
      if (most === Number.POSITIVE_INFINITY) return
      const full = [...entry.name.split(' '), ...Array.from({ length: most }, (_, i) => `word-${i}`)]
      const { code, stdout, stderr } = await capt([...full, 'surplus'])
      assert.deepEqual(
        { code, stdout, stderr },
        {
          code: 2,
          stdout: '',
          stderr: `error: Unexpected argument 'surplus'  CAPT_USAGE\n  hint capt ${entry.name} --help\n`,
        },
      )
    })
  }
})

describe('--engine', () => {
  const refused = (by: { code: number; stderr: string }, engines = 'job, local, terraform, tofu, simulated') => {
    assert.equal(by.code, 2)
    assert.ok(
      by.stderr.startsWith(`error: --engine cannot be "banana"  CAPT_USAGE\n  hint one of: ${engines};`),
      by.stderr,
    )
  }
  for (const name of ['up', 'demo'])
    it(`is refused by capt ${name} when there is no such engine`, async () =>
      refused(await capt([name, '--engine', 'banana']), 'terraform, tofu, simulated'))

  it('is refused by capt manager when there is no such engine', async () =>
    refused(await capt(['manager', '--engine', 'banana'])))

  it('is refused wherever the manager reads it from', async () => {
    refused(await capt(['manager'], { env: { CAPT_ENGINE: 'banana' } }))
    const folder = mkdtempSync(join(tmpdir(), 'capt-engine-'))
    try {
      writeFileSync(join(folder, 'capt.yaml'), 'engine: banana\n')
      refused(await capt(['manager', '--config', 'capt.yaml'], { cwd: folder }))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
