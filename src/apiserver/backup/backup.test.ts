// The file of a backup and the folder that is made from it: whole or refused, and nothing is written on refusal.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { isCaptError } from '#lib'
import { rawApi } from '#testing'
import { openDataFolder } from '../data-folder.ts'
import { startApiServer } from '../server.ts'
import { unpackFiles } from './container.ts'
import { restoreFolder } from './restore-folder.ts'
import { readRestoreMark } from './restore-mark.ts'
import { readBackup, sealBackup } from './sealed-file.ts'

const root = mkdtempSync(join(tmpdir(), 'capt-backup-'))
after(() => rmSync(root, { recursive: true, force: true }))
const KEY = Buffer.alloc(32, 7)
const FACTS = { capt: '1.2.3', madeAt: '2026-01-01T00:00:00Z' }
const MARK = { madeAt: FACTS.madeAt, restoredAt: '2026-01-02T00:00:00Z', isPrepared: false }
const CONTENT = Buffer.from('a content that nobody should be able to read')
const refused = (code: string) => (error: unknown) => {
  assert.ok(isCaptError(error, code), String(error))
  assert.ok(error.hint)
  return true
}

describe('The file of a backup', () => {
  const file = sealBackup(CONTENT, KEY, FACTS)

  it('gives its content back with its key, and reveals only who made it when', () => {
    const { facts, open } = readBackup(file, 'x')
    assert.partialDeepStrictEqual(facts, FACTS)
    assert.deepEqual(open(KEY), CONTENT)
    assert.ok(!file.includes(CONTENT.subarray(0, 12)))
    assert.notDeepEqual(sealBackup(CONTENT, KEY, FACTS), file)
  })

  it('is refused when any byte of it differs', () => {
    for (let at = 0; at < file.length; at++) {
      const other = Buffer.from(file)
      other[at]! ^= 0x04
      assert.throws(() => readBackup(other, 'x').open(KEY), /CaptError/u, `byte ${at}`)
    }
    for (const cut of [0, 1, 50, file.length - 1])
      assert.throws(() => readBackup(file.subarray(0, cut), 'x').open(KEY), /CaptError/u)
  })

  it('distinguishes another key, damage, a newer format and another file', () => {
    assert.throws(() => readBackup(file, 'x').open(Buffer.alloc(32)), refused('CAPT_BACKUP_KEY_WRONG'))
    assert.throws(() => readBackup(file.subarray(0, -1), 'x'), refused('CAPT_BACKUP_DAMAGED'))
    const newer = Buffer.from(file.toString('latin1').replace('"version":1', '"version":2'), 'latin1')
    assert.throws(() => readBackup(newer, 'x'), refused('CAPT_BACKUP_NEWER'))
    assert.throws(() => readBackup(Buffer.from('hello\n'), 'x'), refused('CAPT_BACKUP_UNREADABLE'))
  })
})

async function bytesOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts)
}

async function snapshotOf(dataDir: string): Promise<Buffer> {
  const folder = openDataFolder({ path: dataDir, now: Date.now() })
  try {
    return await bytesOf(await folder.snapshot())
  } finally {
    folder.release()
  }
}

describe('A data folder', () => {
  const CONFIGS = '/api/v1/namespaces/default/configmaps'

  it('is copied at one moment while objects are written, and serves the same after a restore', async () => {
    const dataDir = join(root, 'busy')
    const server = await startApiServer({ dataDir })
    const api = rawApi(server)
    let written = 0
    let isOver = false
    const write = async () => {
      // The second of a pair is written after the first: no copy has the second alone.
      for (; !isOver; written++)
        for (const half of ['a', 'b'])
          await api.call('POST', CONFIGS, { metadata: { name: `${half}-${written}` }, data: { x: 'y'.repeat(20_000) } })
    }
    const writing = write()
    while (written < 20) await new Promise(setImmediate)
    const answer = await fetchSnapshot(server)
    isOver = true
    await writing
    api.close()
    await server.close()
    assert.deepEqual(
      readdirSync(dataDir).filter((name) => name.startsWith('.')),
      [],
    )
    const restored = join(root, 'restored', 'deep')
    restoreFolder(restored, answer, 'x', MARK)
    assert.deepEqual(readRestoreMark(restored), MARK)
    for (const name of readdirSync(restored)) assert.equal(statSync(join(restored, name)).mode & 0o777, 0o600, name)
    const again = await startApiServer({ dataDir: restored, port: 0 })
    try {
      assert.equal(again.token, server.token)
      assert.equal(again.caPem, server.caPem)
      const other = rawApi(again)
      const { body } = await other.call('GET', CONFIGS)
      other.close()
      const names = new Set((body['items'] as unknown as { metadata: { name: string } }[]).map((o) => o.metadata.name))
      assert.ok(names.size >= 40)
      for (const name of names) if (name.startsWith('b-')) assert.ok(names.has(name.replace('b-', 'a-')), name)
    } finally {
      await again.close()
    }
  })

  it('answers a snapshot to nobody without its token', async () => {
    const server = await startApiServer({ dataDir: join(root, 'guarded') })
    const realm = server.realm('/workloads/default/demo')
    const call = async (access: { url: string; token: string; caPem: string }, path: string) => {
      const api = rawApi(access)
      const { code } = await api.call('GET', path)
      api.close()
      return code
    }
    assert.equal(await call({ ...server, token: 'wrong' }, '/snapshot'), 401)
    assert.equal(await call({ ...server, token: realm.token }, '/snapshot'), 401)
    assert.equal(await call(realm, '/snapshot'), 404)
    await server.close()
  })

  it('leaves no copy behind when its process was killed while it made one', async () => {
    const dataDir = join(root, 'killed')
    mkdirSync(join(dataDir, '.snapshot-x'), { recursive: true })
    openDataFolder({ path: dataDir, now: Date.now() }).release()
    assert.equal(existsSync(join(dataDir, '.snapshot-x')), false)
  })

  it('has no key in its backup when the key comes from a command', async () => {
    const dataDir = join(root, 'commanded')
    const keyCommand = `echo ${KEY.toString('base64')}`
    const folder = openDataFolder({ path: dataDir, now: Date.now(), keyCommand })
    const content = await bytesOf(await folder.snapshot())
    folder.release()
    assert.deepEqual([...unpackFiles(content)!.keys()], ['authority.json', 'objects.db'])
  })
})

describe('A restore', () => {
  it('writes nothing over what is there, from content that is not ours, or from a newer database', async () => {
    const source = join(root, 'source')
    openDataFolder({ path: source, now: Date.now() }).release()
    const content = await snapshotOf(source)
    const target = join(root, 'target')
    const untouched = (code: string, bytes: Buffer) => {
      assert.throws(() => restoreFolder(join(target, 'deep'), bytes, 'x', MARK), refused(code))
      assert.equal(existsSync(target), false)
    }
    untouched('CAPT_BACKUP_DAMAGED', content.subarray(0, -1))
    untouched(
      'CAPT_BACKUP_DAMAGED',
      Buffer.from('{"files":[{"name":"../x","bytes":0},{"name":"objects.db","bytes":0}]}\n'),
    )
    untouched('CAPT_BACKUP_DAMAGED', Buffer.from('{"files":[{"name":"port","bytes":0}]}\n'))
    const database = new DatabaseSync(join(source, 'objects.db'))
    database.exec('PRAGMA user_version = 99')
    database.close()
    const bytes = readFileSync(join(source, 'objects.db'))
    const line = `${JSON.stringify({ files: [{ name: 'objects.db', bytes: bytes.length }] })}\n`
    untouched('CAPT_DATA_NEWER', Buffer.concat([Buffer.from(line), bytes]))

    mkdirSync(target)
    writeFileSync(join(target, 'mine'), 'x')
    assert.throws(() => restoreFolder(target, content, 'x', MARK), refused('CAPT_RESTORE_TARGET'))
    assert.deepEqual(readdirSync(target), ['mine'])
    assert.throws(() => restoreFolder(source, content, 'x', MARK), /has a home in it/)
    rmSync(join(target, 'mine'))
    restoreFolder(target, content, 'x', MARK)
    assert.deepEqual(readdirSync(target), ['authority.json', 'encryption.key', 'objects.db', 'restored.json'])
  })

  it('with a damaged mark is not started', () => {
    const folder = join(root, 'mark')
    mkdirSync(folder)
    writeFileSync(join(folder, 'restored.json'), '{}')
    assert.throws(() => readRestoreMark(folder), refused('CAPT_DATA_CORRUPT'))
  })
})

/** The bytes of an answer, which the client of the tests would read as text. */
async function fetchSnapshot({ url, token, caPem }: { url: string; token: string; caPem: string }): Promise<Buffer> {
  const { request } = await import('node:https')
  return await new Promise((resolve, reject) => {
    const call = request(`${url}/snapshot`, { ca: caPem, headers: { authorization: `Bearer ${token}` } }, (answer) => {
      bytesOf(answer).then(resolve, reject)
    })
    call.on('error', reject)
    call.end()
  })
}
