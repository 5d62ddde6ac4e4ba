// Watches objects as a bystander and remembers what became true, when, and in which order: for promises about order and
// about conditions that must not flap.
import type { AnyObject, KindRef } from '#api'
import { connect } from '#kube'
import { accessOf } from './api.ts'
import type { Kube } from './lab.ts'
import type { Loose } from './loose.ts'

export interface Change {
  readonly at: number
  /** `AddonDelivery demo` */
  readonly what: string
  /** `made`, `deleting`, `gone`, or `Ready=True Applied` for a condition. */
  readonly fact: string
  /** The version of the store that made it so: in order also between kinds, whose watches do not wait for each other. */
  readonly version: number
}

export interface Recorder {
  readonly changes: readonly Change[]
  /** Place in the order of things of the first change like this; throws when it never came. */
  when(what: string, fact: string | RegExp): number
  has(what: string, fact: string | RegExp): boolean
  /** Conditions that became true more than once since `from`, as `what type: True, False, True`. */
  flaps(from?: number): readonly string[]
  stop(): Promise<void>
}

export interface RecordOptions {
  /** Labels whose values are facts too, as `label karpenter.sh/enabled=true`. */
  readonly labels?: readonly string[]
}

export async function record(kube: Kube, kinds: readonly KindRef[], options: RecordOptions = {}): Promise<Recorder> {
  const connection = connect(accessOf(kube))
  const changes: Change[] = []
  const seen = new Map<string, Map<string, string>>()

  function look(what: string, object: Loose): void {
    const say = (...facts: [string, string]) => record(...facts, object)
    const facts = seen.get(what) ?? new Map<string, string>()
    if (!seen.has(what)) {
      seen.set(what, facts)
      say(what, 'made')
    }
    if (object['metadata'].deletionTimestamp && !facts.has('deleting')) {
      facts.set('deleting', 'yes')
      say(what, 'deleting')
    }
    for (const label of options.labels ?? []) {
      const value = object['metadata'].labels?.[label] ?? ''
      if (value === (facts.get(`label ${label}`) ?? '')) continue
      facts.set(`label ${label}`, value)
      say(what, `label ${label}=${value}`)
    }
    const status = object['status'] ?? {}
    for (const { name, state, message = '' } of status.teardown?.steps ?? []) {
      if (facts.get(`step ${name}`) === state) continue
      facts.set(`step ${name}`, state)
      say(what, `step ${name}=${state} ${message}`)
    }
    for (const { type, status: word, reason = '' } of [
      ...(status.conditions ?? []),
      ...(status.v1beta2?.conditions ?? []),
    ]) {
      if (facts.get(type) === word) continue
      facts.set(type, word)
      say(what, `${type}=${word} ${reason}`)
    }
  }

  const record = (what: string, fact: string, object: Loose) =>
    changes.push({ at: Date.now(), what, fact, version: Number(object['metadata'].resourceVersion) })
  const find = (what: string, fact: string | RegExp) =>
    changes.find(
      (change) => change.what === what && (typeof fact === 'string' ? change.fact === fact : fact.test(change.fact)),
    )

  for (const kind of kinds) {
    connection.informers.register(kind)
    connection.informers.onChange(kind, ({ type, object }) => {
      const what = `${object.kind} ${object.metadata.name}`
      look(what, object as AnyObject as Loose)
      if (type !== 'deleted') return
      seen.delete(what)
      record(what, 'gone', object as AnyObject as Loose)
    })
  }
  connection.informers.start()
  await connection.informers.synced()

  return {
    changes,
    when(what, fact) {
      const found = find(what, fact)
      if (!found) throw new Error(`never seen: ${what} ${fact}\n${describe(changes)}`)
      return found.version
    },
    has: (what, fact) => find(what, fact) !== undefined,
    flaps(from = 0) {
      const series = new Map<string, string[]>()
      for (const { what, fact } of changes.slice(from)) {
        const [, type, status] = /^(\w+)=(\w+)/.exec(fact) ?? []
        if (!type || !status) continue
        const name = `${what} ${type}`
        series.set(name, [...(series.get(name) ?? []), status])
      }
      return [...series]
        .filter(([, statuses]) => statuses.filter((status) => status === 'True').length > 1)
        .map(([name, statuses]) => `${name}: ${statuses.join(', ')}`)
    },
    stop: () => connection.close(),
  }
}

export function describe(changes: readonly Change[]): string {
  const start = changes[0]?.at ?? 0
  return changes.map(({ at, what, fact }) => `${((at - start) / 1000).toFixed(1)} ${what} ${fact}`).join('\n')
}
