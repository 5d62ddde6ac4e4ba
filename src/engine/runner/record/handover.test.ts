import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'

const MODULE = new URL('./handover.ts', import.meta.url).href
const script = (patienceMs: number) => `
  const { readHandover } = await import(${JSON.stringify(MODULE)})
  console.log(JSON.stringify((await readHandover(${patienceMs})) ?? 'nothing'))
`

function listen(patienceMs: number) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script(patienceMs)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, said: said.trim() }))
  return { child, ended }
}

describe('a runner that waits for the word of its manager', () => {
  it('takes it when it is whole', async () => {
    const { child, ended } = listen(60_000)
    child.stdin.end('{"isLocked":true}')
    assert.deepEqual(await ended, { code: 0, signal: null, said: '{"isLocked":true}' })
  })

  it('goes on alone when the manager died in the middle of it', async () => {
    const { child, ended } = listen(60_000)
    child.stdin.end('{"isLoc')
    assert.deepEqual(await ended, { code: 0, signal: null, said: '"nothing"' })
  })

  it('ends when the manager is stopped and says no more', async () => {
    const { child, ended } = listen(300)
    child.stdin.write('{"isLoc')
    assert.deepEqual(await ended, { code: null, signal: 'SIGKILL', said: '' })
    child.stdin.destroy()
  })
})
