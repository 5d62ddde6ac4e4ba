// make demo on a machine without Terraform: the story with simulated runs, and nothing left behind.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { assertStory, structureOfLines } from '../support/demo-story.ts'
import { assertGolden } from '../support/golden/file.ts'
import { run } from '../support/tools.ts'

/** What is under way, which only a slow run prints. */
const PROGRESS = /^ {2}\d\S* +(?:waiting |.{15} simulated )/
const bin = join(import.meta.dirname, '../../bin/capt')

// Side by side: most of a demo is waiting.
describe('capt demo', { concurrency: true }, () => {
  const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, NO_COLOR: '1' }
  const capt = (...args: readonly string[]) => run(bin, args, { env, timeoutMs: 400_000 })

  it('shows the story without Terraform, and says what is simulated and left out', async () => {
    const { code, out, err } = await capt('demo', '--engine', 'simulated')
    assertStory(code, out, err, true)
    assert.match(out, /^capt demo: .* Terraform runs are simulated[\s\S]*needs Terraform and is left out/)
    const lines = out.split('\n').filter((line) => !PROGRESS.test(line))
    assertGolden('demo', `${structureOfLines(lines).join('\n')}\n`)
  })

  it('stays with --keep, with its page and a kubeconfig, until Ctrl-C', { timeout: 400_000 }, async (t) => {
    const demo = spawn(bin, ['demo', '--keep', '--engine', 'simulated'], { env: { ...process.env, ...env } })
    t.after(() => demo.kill('SIGTERM'))
    const ended = once(demo, 'close')
    let shown = ''
    const kept = new Promise<void>((resolve) => {
      demo.stdout.on('data', (piece: Buffer) => {
        shown += piece.toString()
        if (/^ {2}kubectl .*\n/m.test(shown)) resolve()
      })
    })
    await Promise.race([kept, ended])
    const [, page = '', token = ''] = /^ {2}page +(http:\S+)\/#token=(\S+)$/m.exec(shown) ?? []
    const [, kubeconfig = ''] = /^ {2}kubectl +kubectl --kubeconfig (\S+) /m.exec(shown) ?? assert.fail(shown)
    const ask = async (headers: Record<string, string>) => {
      const { status, body } = await fetch(`${page}/api/stream`, { headers })
      await body?.cancel()
      return status
    }
    assert.deepEqual([await ask({}), await ask({ authorization: `Bearer ${token}` })], [401, 200])
    assert.match((await capt('--kubeconfig', kubeconfig, 'get', 'clusters')).out, /^demo +True +Provisioned/m)
    demo.kill('SIGINT')
    assert.deepEqual(await ended, [130, null])
    assert.match(shown, /Left behind: 0 files, 0 processes\.\n$/)
    assert.ok(!existsSync(dirname(kubeconfig)))
  })

  it('refuses to record into a folder that does not exist, before it starts anything', async () => {
    const { code, out, err } = await capt('demo', '--record', 'no/such/folder.svg')
    assert.equal(code, 2, err)
    assert.equal(out, '')
    assert.match(err, /--record no\/such\/folder\.svg: its folder does not exist/)
  })
})
