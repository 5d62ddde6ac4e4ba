// A thousand clusters out of one: what etcd holds of a cluster is put there again under other names and uids. Names are of
// one length, so that also what is stored in binary form stays whole. The API server shows the copies like any object.
import { suffixOf } from '#engine'
import type { Kube } from '../lab.ts'

interface Pair {
  readonly key: string
  readonly value: string
}

const PUTS_AT_ONCE = 100
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const bytes = (text: string): string => Buffer.from(text, 'latin1').toString('base64')
const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('latin1')

export interface Original {
  readonly namespace: string
  readonly name: string
  /** Its applies: what is kept for them is named by a hash of their names. */
  readonly applies: readonly string[]
  /** Folders of the registry in which its objects are, owners before what they own. */
  readonly folders: readonly string[]
}

/** How many objects were put. */
export async function copyCluster(kube: Kube, original: Original, names: readonly string[]): Promise<number> {
  const { namespace, name } = original
  const pairs: Pair[] = []
  for (const folder of original.folders) {
    const prefix = `/registry/${folder}/${namespace}/`
    const found = (await pairsUnder(kube, prefix)).filter(({ key }) => key.slice(prefix.length).includes(name))
    pairs.push(...found)
  }
  const uids = new Set(pairs.flatMap(({ value }) => value.match(UID) ?? []))
  let puts: Pair[] = []
  for (const [i, copy] of names.entries()) {
    const words: (readonly [string, string])[] = [
      ...original.applies.map((apply) => {
        const other = apply.replace(name, copy)
        return [suffixOf({ namespace, name: apply }), suffixOf({ namespace, name: other })] as const
      }),
      [name, copy],
      ...[...uids].map((uid) => [uid, `${uid.slice(0, -6)}${(i + 1).toString(16).padStart(6, '0')}`] as const),
    ]
    const rename = (text: string) => words.reduce((all, [from, to]) => all.replaceAll(from, to), text)
    for (const { key, value } of pairs) {
      puts.push({ key: rename(key), value: rename(value) })
      if (puts.length === PUTS_AT_ONCE) {
        await put(kube, puts)
        puts = []
      }
    }
  }
  if (puts.length > 0) await put(kube, puts)
  return pairs.length * names.length
}

async function pairsUnder(kube: Kube, prefix: string): Promise<readonly Pair[]> {
  const end = `${prefix.slice(0, -1)}0`
  const { kvs = [] } = (await ask(kube, 'range', { key: bytes(prefix), range_end: bytes(end) })) as { kvs?: Pair[] }
  return kvs.map(({ key, value }) => ({ key: textOf(key), value: textOf(value) }))
}

async function put(kube: Kube, pairs: readonly Pair[]): Promise<void> {
  const success = pairs.map(({ key, value }) => ({ request_put: { key: bytes(key), value: bytes(value) } }))
  await ask(kube, 'txn', { success })
}

async function ask(kube: Kube, verb: string, body: object): Promise<unknown> {
  const answer = await fetch(`${kube.etcd}/v3/kv/${verb}`, { method: 'POST', body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`etcd refused: ${await answer.text()}`)
  return await answer.json()
}
