// Rows in, rows out: every object of every realm, one global version counter, one transaction per write.
// A write is durable before it is announced; subscribers are called synchronously, in version order.
import type { DatabaseSync } from 'node:sqlite'
import { CaptError, parseJson } from '#lib'
import type { ApiObject } from '../object.ts'
import { type Cipher, isSecretCollection, noCipher } from './cipher.ts'
import { copyDatabase, diskFull, isDiskFull, toCaptError } from './database.ts'
import { secretPlace, tokenPlace } from './seal-database.ts'
import { prepareAll } from './statements.ts'

/** Where objects of one kind live, whatever version they are read in. */
export interface Collection {
  readonly group: string
  readonly resource: string
}

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly version: number
  readonly collection: Collection
  /** The new state; for DELETED the last state, carrying the version of the deletion. Not to be changed. */
  readonly object: ApiObject
  readonly text: string
  readonly previous?: { readonly object: ApiObject; readonly text: string }
}

export interface Row {
  readonly namespace: string
  readonly name: string
  readonly version: number
  readonly text: string
}

export interface Position {
  readonly namespace: string
  readonly name: string
}

interface ScanOptions {
  readonly namespace?: string | undefined
  /** Rows strictly after this one. */
  readonly after?: Position | undefined
}

/** Rows are read in chunks, so that a reader may write between two rows. */
const SCAN_CHUNK = 256

export interface RealmStore {
  readonly path: string
  /** The version of the latest write anywhere. */
  version(): number
  read(collection: Collection, namespace: string, name: string): ApiObject | undefined
  findByUid(uid: string): { collection: Collection; object: ApiObject } | undefined
  scan(collection: Collection, options?: ScanOptions): Iterable<Row>
  count(collection: Collection, options?: ScanOptions): number
  /** Objects with an owner reference to this uid. */
  dependents(uid: string): readonly { collection: Collection; object: ApiObject }[]
  /** Uids that owner references name. */
  ownerUids(): readonly string[]
  collectionsIn(namespace: string): readonly Collection[]
  /** Sets metadata.resourceVersion, stores and announces. */
  insert(collection: Collection, object: ApiObject): ApiObject
  replace(collection: Collection, object: ApiObject, previous: ApiObject): ApiObject
  remove(collection: Collection, object: ApiObject): ApiObject
  subscribe(listener: (change: Change) => void): () => void
}

export interface Store {
  realm(path: string): RealmStore
  /** `token`: the text that tokens/rotation.ts reads and writes. */
  realms(): readonly { path: string; token: string }[]
  addRealm(path: string, token: string, now: number): void
  setToken(path: string, token: string): void
  removeRealm(path: string): void
  /** A consistent copy of the database in a file of its own; writes go on meanwhile. */
  copyTo(file: string): Promise<void>
  close(): void
}

export function openStore(database: DatabaseSync, file: string, cipher: Cipher = noCipher): Store {
  const sql = prepareAll(database)
  let version = (sql.version.get() as { version: number }).version
  const views = new Map<string, RealmStore>()

  function commit(work: (version: number) => void): number {
    const next = version + 1
    try {
      sql.begin.run()
      work(next)
      sql.setVersion.run(next)
      sql.commit.run()
    } catch (error) {
      if (database.isTransaction) sql.rollback.run()
      throw isDiskFull(error) ? diskFull(file, error) : error
    }
    version = next
    return next
  }

  function writeOwners(realm: string, object: ApiObject): void {
    const uid = object.metadata.uid!
    sql.dropOwners.run(realm, uid)
    for (const owner of object.metadata.ownerReferences ?? []) sql.addOwner.run(realm, owner.uid, uid)
  }

  function openRealm(path: string): RealmStore {
    const opened = (
      collection: Collection,
      { namespace, name, body }: Omit<StoredRow, 'grp' | 'resource' | 'version'>,
    ) => (isSecretCollection(collection) ? cipher.open(body, secretPlace(path, namespace, name)) : body)
    const sealed = (collection: Collection, { metadata }: ApiObject, text: string) =>
      isSecretCollection(collection)
        ? cipher.seal(text, secretPlace(path, metadata.namespace ?? '', metadata.name))
        : text
    const toFound = (row: StoredRow) => {
      const collection = toCollection(row)
      return { collection, object: parseJson(opened(collection, row)) as ApiObject }
    }
    const listeners = new Set<(change: Change) => void>()
    const announce = (change: Change) => {
      for (const listener of listeners) listener(change)
    }
    const place = (collection: Collection, namespace: string, name: string) =>
      [path, collection.group, collection.resource, namespace, name] as const
    const keyed = (collection: Collection, object: ApiObject) =>
      place(collection, object.metadata.namespace ?? '', object.metadata.name)

    return {
      path,
      version: () => version,
      read(collection, namespace, name) {
        const row = sql.read.get(...place(collection, namespace, name)) as { body: string } | undefined
        return row && (parseJson(opened(collection, { namespace, name, body: row.body })) as ApiObject)
      },
      findByUid(uid) {
        return (sql.byUid.all(path, uid) as unknown as StoredRow[]).map(toFound)[0]
      },
      *scan(collection, options = {}) {
        const place = [path, collection.group, collection.resource] as const
        let after = options.after ?? { namespace: '', name: '' }
        for (;;) {
          const rows = (options.namespace === undefined
            ? sql.scanAll.all(...place, after.namespace, after.name, SCAN_CHUNK)
            : sql.scanOne.all(...place, options.namespace, after.name, SCAN_CHUNK)) as unknown as StoredRow[]
          for (const row of rows) {
            yield { namespace: row.namespace, name: row.name, version: row.version, text: opened(collection, row) }
          }
          const last = rows.at(-1)
          if (!last || rows.length < SCAN_CHUNK) return
          after = last
        }
      },
      count(collection, options = {}) {
        const { namespace, after } = options
        const place = [path, collection.group, collection.resource] as const
        const row =
          namespace === undefined
            ? sql.countAll.get(...place, after?.namespace ?? '', after?.name ?? '')
            : sql.countOne.get(...place, namespace, after?.name ?? '')
        return (row as { n: number }).n
      },
      dependents: (uid) => (sql.dependents.all(path, uid) as unknown as StoredRow[]).map(toFound),
      ownerUids: () => (sql.ownerUids.all(path) as { owner: string }[]).map((row) => row.owner),
      collectionsIn: (namespace) =>
        (sql.collectionsIn.all(path, namespace) as unknown as StoredRow[]).map(toCollection),
      insert(collection, object) {
        let text = ''
        const at = commit((next) => {
          object.metadata.resourceVersion = `${next}`
          text = JSON.stringify(object)
          sql.insert.run(...keyed(collection, object), object.metadata.uid!, next, sealed(collection, object, text))
          writeOwners(path, object)
        })
        announce({ type: 'ADDED', version: at, collection, object, text })
        return object
      },
      replace(collection, object, previous) {
        let text = ''
        const at = commit((next) => {
          object.metadata.resourceVersion = `${next}`
          text = JSON.stringify(object)
          sql.update.run(next, sealed(collection, object, text), ...keyed(collection, object))
          writeOwners(path, object)
        })
        const before = { object: previous, text: JSON.stringify(previous) }
        announce({ type: 'MODIFIED', version: at, collection, object, text, previous: before })
        return object
      },
      remove(collection, object) {
        const last: ApiObject = { ...object, metadata: { ...object.metadata } }
        const at = commit((next) => {
          last.metadata.resourceVersion = `${next}`
          sql.delete.run(...keyed(collection, object))
          sql.dropOwners.run(path, object.metadata.uid!)
        })
        const before = { object, text: JSON.stringify(object) }
        const text = JSON.stringify(last)
        announce({ type: 'DELETED', version: at, collection, object: last, text, previous: before })
        return last
      },
      subscribe(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    }
  }

  return {
    realm(path) {
      const view = views.get(path) ?? openRealm(path)
      views.set(path, view)
      return view
    },
    realms: () =>
      (sql.realms.all() as { path: string; token: string }[]).map(({ path, token }) => ({
        path,
        token: cipher.open(token, tokenPlace(path)),
      })),
    addRealm(path, token, now) {
      commit(() => sql.addRealm.run(path, cipher.seal(token, tokenPlace(path)), now))
    },
    setToken(path, token) {
      commit(() => sql.setToken.run(cipher.seal(token, tokenPlace(path)), path))
    },
    removeRealm(path) {
      views.delete(path)
      commit(() => {
        sql.clearOwners.run(path)
        sql.clearObjects.run(path)
        sql.dropRealm.run(path)
      })
    },
    copyTo: (to) => copyDatabase(database, to),
    close() {
      try {
        database.close()
      } catch (error) {
        const fault = toCaptError(error, file)
        if (!(fault instanceof CaptError && /not open/.test(fault.message))) throw fault
      }
    },
  }
}

interface StoredRow {
  readonly grp: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly version: number
  readonly body: string
}
const toCollection = (row: StoredRow): Collection => ({ group: row.grp, resource: row.resource })
