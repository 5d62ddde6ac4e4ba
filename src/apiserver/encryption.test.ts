// Secrets at rest: no byte of a Secret or a token is readable in the database, its journal or its free pages, and a folder
// without its key stays closed.
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { isCaptError } from '#lib'
import { rawApi } from '#testing'
import { type ApiServer, startApiServer } from './server.ts'
import { createCipher } from './store/cipher.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const CANARY = 'canary-7b1f0d9a'
const KEY = Buffer.alloc(32, 7).toString('base64')

const folder = mkdtempSync(join(tmpdir(), 'capt-encryption-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let serial = 0
const newDir = () => join(folder, `home-${serial++}`)

const secret = (name: string) => ({
  metadata: { name, labels: { canary: 'x' } },
  stringData: { password: CANARY },
})

async function withServer<T>(options: Parameters<typeof startApiServer>[0], use: (server: ApiServer) => Promise<T>) {
  const server = await startApiServer(options)
  try {
    return await use(server)
  } finally {
    await server.close()
  }
}

/** Everything that the canary may look like, in every file of the folder. */
function readable(dataDir: string, words: readonly string[]): readonly string[] {
  const files = readdirSync(dataDir).filter((file) => file.startsWith('objects.db'))
  const forms = words.flatMap((word) => [
    word,
    Buffer.from(word).toString('base64').slice(0, -4),
    Buffer.from(word).toString('hex'),
  ])
  return files.flatMap((file) => {
    const bytes = readFileSync(join(dataDir, file))
    return forms.filter((form) => bytes.includes(form)).map((form) => `${file}: ${form}`)
  })
}

const refused = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(isCaptError(error, code), `${error}`)
  assert.match(error.message, message)
  return true
}

describe('a data folder', () => {
  it('holds no readable Secret or token, while it runs and afterwards, and serves them after a restart', async () => {
    const dataDir = newDir()
    const read = (server: ApiServer) => rawApi(server)
    const tokens = await withServer({ dataDir }, async (server) => {
      const api = read(server)
      for (const name of ['a', 'b', 'c']) assert.equal((await api.call('POST', SECRETS, secret(name))).code, 201)
      await api.call(
        'PATCH',
        `${SECRETS}/a`,
        { metadata: { annotations: { note: 'x' } } },
        { type: 'application/merge-patch+json' },
      )
      await api.call('DELETE', `${SECRETS}/c`)
      const realm = server.realm('/workloads/default/demo')
      assert.deepEqual(readable(dataDir, [CANARY, server.token, realm.token]), [])
      api.close()
      return [server.token, realm.token]
    })
    assert.deepEqual(readable(dataDir, [CANARY, ...tokens]), [])
    const key = join(dataDir, 'encryption.key')
    assert.equal(statSync(key).mode & 0o777, 0o600)
    assert.equal(Buffer.from(readFileSync(key, 'utf8'), 'base64').length, 32)
    await withServer({ dataDir }, async (server) => {
      assert.deepEqual([server.token, server.realm('/workloads/default/demo').token], tokens)
      const api = read(server)
      const { body } = await api.call('GET', `${SECRETS}/a`)
      assert.equal(body['data']?.['password'], Buffer.from(CANARY).toString('base64'))
      const list = await api.call('GET', `${SECRETS}?labelSelector=canary%3Dx`)
      assert.equal((list.body['items'] as unknown as unknown[]).length, 2)
      api.close()
    })
  })

  it('of an earlier capt is encrypted when it is opened, free pages included', async () => {
    const dataDir = newDir()
    const token = await withServer({ dataDir }, async (server) => {
      const api = rawApi(server)
      await api.call('POST', SECRETS, secret('old'))
      await api.call('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'c' }, data: { a: 'b' } })
      api.close()
      return server.token
    })
    toFirstLayout(dataDir)
    assert.notDeepEqual(readable(dataDir, [CANARY, token]), [])
    rmSync(join(dataDir, 'encryption.key'))
    await withServer({ dataDir }, async (server) => {
      assert.equal(server.token, token)
      const api = rawApi(server)
      const { body } = await api.call('GET', `${SECRETS}/old`)
      assert.equal(body['data']?.['password'], Buffer.from(CANARY).toString('base64'))
      assert.equal((await api.call('GET', '/api/v1/namespaces/default/configmaps/c')).body['data']?.['a'], 'b')
      assert.deepEqual(readable(dataDir, [CANARY, token]), [])
      api.close()
    })
    assert.deepEqual(readable(dataDir, [CANARY, token]), [])
  })

  it('stays closed without its key, and with another', async () => {
    const dataDir = newDir()
    await withServer({ dataDir }, async () => {})
    const before = readFileSync(join(dataDir, 'objects.db'))
    const key = join(dataDir, 'encryption.key')
    renameSync(key, `${key}.away`)
    await assert.rejects(
      startApiServer({ dataDir }),
      refused('CAPT_DATA_KEY_MISSING', /is encrypted and its key is not in .*encryption\.key/),
    )
    assert.equal(existsSync(key), false)
    writeFileSync(key, `${KEY}\n`, { mode: 0o600 })
    await assert.rejects(
      startApiServer({ dataDir }),
      refused('CAPT_DATA_KEY_WRONG', /The key from .*encryption\.key does not open .*objects\.db/),
    )
    writeFileSync(key, 'too short', { mode: 0o600 })
    await assert.rejects(startApiServer({ dataDir }), refused('CAPT_DATA_KEY_UNUSABLE', /32 bytes in base64 or hex/))
    assert.deepEqual(readFileSync(join(dataDir, 'objects.db')), before)
    renameSync(`${key}.away`, key)
    await withServer({ dataDir }, async () => {})
  })

  it('takes its key from a command, and writes it nowhere', async () => {
    const dataDir = newDir()
    const file = join(folder, 'held-elsewhere')
    writeFileSync(file, KEY)
    const keyCommand = `cat ${file}`
    await withServer({ dataDir, keyCommand }, async (server) => {
      const api = rawApi(server)
      await api.call('POST', SECRETS, secret('a'))
      api.close()
    })
    assert.equal(existsSync(join(dataDir, 'encryption.key')), false)
    assert.deepEqual(readable(dataDir, [CANARY, KEY]), [])
    await withServer({ dataDir, keyCommand }, async (server) => {
      const api = rawApi(server)
      assert.equal((await api.call('GET', `${SECRETS}/a`)).code, 200)
      api.close()
    })
    await assert.rejects(startApiServer({ dataDir }), refused('CAPT_DATA_KEY_MISSING', /encryption\.key/))
    await assert.rejects(
      startApiServer({ dataDir, keyCommand: 'exit 3' }),
      refused('CAPT_DATA_KEY_UNUSABLE', /failed with exit code 3/),
    )
    await assert.rejects(
      startApiServer({ dataDir, keyCommand: 'echo hello' }),
      refused('CAPT_DATA_KEY_UNUSABLE', /no key of 32 bytes/),
    )
  })
})

describe('the cipher', () => {
  const cipher = createCipher(Buffer.from(KEY, 'base64'))
  it('gives the same text another form every time, and opens it only where it belongs', () => {
    const sealed = cipher.seal('text', ['', 'secrets', 'default', 'a'])
    assert.notEqual(sealed, cipher.seal('text', ['', 'secrets', 'default', 'a']))
    assert.equal(cipher.open(sealed, ['', 'secrets', 'default', 'a']), 'text')
    assert.throws(() => cipher.open(sealed, ['', 'secrets', 'default', 'b']), /cannot be opened/)
    const flipped = `${sealed.slice(0, -6)}${sealed.at(-6) === 'A' ? 'B' : 'A'}${sealed.slice(-5)}`
    assert.throws(() => cipher.open(flipped, ['', 'secrets', 'default', 'a']), /cannot be opened/)
    assert.throws(
      () => createCipher(Buffer.alloc(32)).open(sealed, ['', 'secrets', 'default', 'a']),
      /cannot be opened/,
    )
  })
})

/** The database as capt wrote it before it encrypted anything, with a deleted Secret in its free pages. */
function toFirstLayout(dataDir: string): void {
  const cipher = createCipher(Buffer.from(readFileSync(join(dataDir, 'encryption.key'), 'utf8'), 'base64'))
  const database = new DatabaseSync(join(dataDir, 'objects.db'))
  const rows = database.prepare("SELECT realm, namespace, name, body FROM objects WHERE resource = 'secrets'").all()
  for (const { realm, namespace, name, body } of rows as Record<string, string>[])
    database
      .prepare("UPDATE objects SET body = ? WHERE realm = ? AND resource = 'secrets' AND namespace = ? AND name = ?")
      .run(cipher.open(body!, [realm!, 'secrets', namespace!, name!]), realm!, namespace!, name!)
  for (const { path, token } of database.prepare('SELECT path, token FROM realms').all() as Record<string, string>[])
    database.prepare('UPDATE realms SET token = ? WHERE path = ?').run(cipher.open(token!, [path!, 'token']), path!)
  database.exec('PRAGMA secure_delete = OFF')
  const insert = database.prepare("INSERT INTO objects VALUES ('', '', 'secrets', 'default', ?, ?, 1, ?)")
  for (let i = 0; i < 50; i++) insert.run(`gone-${i}`, `gone-${i}`, JSON.stringify({ data: CANARY.repeat(200) }))
  database.exec("DELETE FROM objects WHERE name LIKE 'gone-%'; DROP TABLE sealing; PRAGMA user_version = 1")
  database.close()
}
