// kill -9 between any two requests: whatever was acknowledged is there after the next start, and nothing else changed.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { items, MERGE, type RawApi, rawApi } from '#testing'

const CONFIGS = '/api/v1/namespaces/default/configmaps'
const KILLS = 10
/** Numbers that look random and are the same in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % sides
  }
}

describe('a server that is killed', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'capt-kill-'))
  let child: ChildProcess | undefined
  after(() => {
    child?.kill('SIGKILL')
    rmSync(dataDir, { recursive: true, force: true })
  })

  const start = async (): Promise<RawApi> => {
    const script = join(import.meta.dirname, '../../support/apiserver/child.ts')
    child = spawn(process.execPath, [script, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(child.stdout!, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer]
    return rawApi(JSON.parse(line.toString()) as Parameters<typeof rawApi>[0])
  }
  const kill = async () => {
    const gone = once(child!, 'exit')
    child!.kill('SIGKILL')
    await gone
  }

  it(`${KILLS} times between requests has lost nothing that it acknowledged`, async () => {
    const roll = dice(42)
    const acknowledged = new Map<string, string>()
    /** The one object a request was on its way for when the kill came: it may be in either state. */
    let doubtful: { name: string; before: string | undefined; after: string | undefined } | undefined
    for (let round = 0; round <= KILLS; round++) {
      const api = await start()
      const found = new Map(
        items((await api.call('GET', CONFIGS)).body).map((item) => [
          `${item['metadata']?.['name']}`,
          `${item['data']?.['v']}`,
        ]),
      )
      if (doubtful) {
        const { name, before, after: changed } = doubtful
        const now = found.get(name)
        assert.ok(now === before || now === changed, `${name} is ${now}, neither ${before} nor ${changed}`)
        if (now === undefined) acknowledged.delete(name)
        else acknowledged.set(name, now)
      }
      assert.deepEqual([...found].sort(), [...acknowledged].sort(), `after kill ${round}`)
      if (round === KILLS) {
        api.close()
        break
      }
      const write = async (name: string, value: string) => {
        const exists = acknowledged.has(name)
        if (!exists) return api.call('POST', CONFIGS, { metadata: { name }, data: { v: value } })
        if (value === '') return api.call('DELETE', `${CONFIGS}/${name}`)
        return api.call('PATCH', `${CONFIGS}/${name}`, { data: { v: value } }, { type: MERGE })
      }
      for (let i = 0, count = 1 + roll(12); i < count; i++) {
        const name = `c${roll(6)}`
        const value = acknowledged.has(name) && roll(4) === 0 ? '' : `${round}-${i}`
        const { code } = await write(name, value)
        assert.ok(code === 200 || code === 201)
        if (value === '') acknowledged.delete(name)
        else acknowledged.set(name, value)
      }
      const name = `c${roll(6)}`
      const before = acknowledged.get(name)
      doubtful = { name, before, after: `${round}-last` }
      const flying = write(name, `${round}-last`).then(
        () => {},
        () => {},
      )
      if (roll(2) === 0) await new Promise((resolve) => setTimeout(resolve, roll(6)))
      await kill()
      await flying
      api.close()
    }
    await kill()
    assert.ok(acknowledged.size > 0)
  })
})
