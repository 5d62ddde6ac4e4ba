// Every SQL statement of the store, in one place. `realm` comes first in each key: realms never see each other.
import type { DatabaseSync } from 'node:sqlite'

const IN_COLLECTION = 'realm = ? AND grp = ? AND resource = ?'
const ONE = `${IN_COLLECTION} AND namespace = ? AND name = ?`

/**
 * Prepared once per database; SQLite keeps the plans. Without statistics it prefers the primary key and reads every object
 * of the realm to find one uid, so the indexes are named.
 */
export function prepareAll(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text)
  return {
    begin: sql('BEGIN IMMEDIATE'),
    commit: sql('COMMIT'),
    rollback: sql('ROLLBACK'),
    version: sql('SELECT version FROM counter'),
    setVersion: sql('UPDATE counter SET version = ?'),
    read: sql(`SELECT body FROM objects WHERE ${ONE}`),
    byUid: sql(
      'SELECT grp, resource, namespace, name, body FROM objects INDEXED BY objects_by_uid WHERE realm = ? AND uid = ?',
    ),
    scanAll: sql(
      `SELECT namespace, name, version, body FROM objects WHERE ${IN_COLLECTION} AND (namespace, name) > (?, ?) ORDER BY namespace, name LIMIT ?`,
    ),
    scanOne: sql(
      `SELECT namespace, name, version, body FROM objects WHERE ${IN_COLLECTION} AND namespace = ? AND name > ? ORDER BY name LIMIT ?`,
    ),
    countAll: sql(`SELECT count(*) AS n FROM objects WHERE ${IN_COLLECTION} AND (namespace, name) > (?, ?)`),
    countOne: sql(`SELECT count(*) AS n FROM objects WHERE ${IN_COLLECTION} AND namespace = ? AND name > ?`),
    dependents: sql(
      'SELECT o.grp, o.resource, o.namespace, o.name, o.body FROM owners w JOIN objects o INDEXED BY objects_by_uid ON o.realm = w.realm AND o.uid = w.dependent WHERE w.realm = ? AND w.owner = ?',
    ),
    ownerUids: sql('SELECT DISTINCT owner FROM owners WHERE realm = ?'),
    collectionsIn: sql(
      'SELECT DISTINCT grp, resource FROM objects INDEXED BY objects_by_namespace WHERE realm = ? AND namespace = ?',
    ),
    insert: sql(
      'INSERT INTO objects (realm, grp, resource, namespace, name, uid, version, body) VALUES (?,?,?,?,?,?,?,?)',
    ),
    update: sql(`UPDATE objects SET version = ?, body = ? WHERE ${ONE}`),
    delete: sql(`DELETE FROM objects WHERE ${ONE}`),
    dropOwners: sql('DELETE FROM owners WHERE realm = ? AND dependent = ?'),
    addOwner: sql('INSERT OR IGNORE INTO owners (realm, owner, dependent) VALUES (?,?,?)'),
    realms: sql('SELECT path, token FROM realms ORDER BY path'),
    addRealm: sql('INSERT INTO realms (path, token, created) VALUES (?,?,?)'),
    setToken: sql('UPDATE realms SET token = ? WHERE path = ?'),
    dropRealm: sql('DELETE FROM realms WHERE path = ?'),
    clearObjects: sql('DELETE FROM objects WHERE realm = ?'),
    clearOwners: sql('DELETE FROM owners WHERE realm = ?'),
  }
}
