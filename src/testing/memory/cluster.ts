// An API server without a server: Objects and Informers over memory, with a ledger of requests and planned faults.
// Cached objects are frozen, so a controller that changes one fails its test.
import { type AnyObject, groupKindOf, type Key, type KindRef, keyOf, keyText } from '#api'
import { type Informers, isKubeError, KubeError, type KubeErrorReason, type Objects } from '#kube'
import { createMemoryInformers, type MemoryInformers } from './informers.ts'
import { createMemoryStorage, type MemoryStorage, type StorageOptions } from './storage.ts'

export type MemoryVerb = 'get' | 'list' | 'create' | 'replace' | 'patch' | 'apply' | 'delete'

interface MemoryRequest {
  readonly verb: MemoryVerb
  /** `Secret`, without group or version. */
  readonly kind: string
  /** `namespace/name`; the namespace or nothing for a list. */
  readonly key: string
  readonly subresource?: string
}

export interface MemoryClusterOptions extends StorageOptions {
  /** `sync`: every change reaches the cache at once. `manual`: changes of others wait for `flush()`. */
  readonly delivery?: 'sync' | 'manual'
  readonly objects?: readonly (readonly [KindRef, AnyObject])[]
}

interface MemoryConnection {
  readonly objects: Objects
  readonly informers: Informers
  close(): Promise<void>
}

/** Its own connection is what the code under test uses. */
export interface MemoryCluster extends MemoryConnection {
  /** One more client of the same server, with a cache of its own; same ledger, same faults. */
  connect(): MemoryConnection & { readonly others: Objects }
  /** Another client: not in the ledger, no planned faults, and the cache learns of its writes by the watch alone. */
  readonly others: Objects
  readonly storage: MemoryStorage
  readonly requests: MemoryRequest[]
  readonly writes: readonly MemoryRequest[]
  /** Puts an object there as it is, status included. */
  seed<T extends AnyObject>(kind: KindRef, object: T): T
  peek<T extends AnyObject>(kind: KindRef, key: Key): T | undefined
  /** Hands waiting watch events to the informers. */
  flush(): void
  /** The next matching request fails; `carriedOut` does the work first and loses the answer. */
  failNext(verb: MemoryVerb | '*', kind: KindRef | '*', error: KubeErrorReason | Error, plan?: FaultPlan): void
}

interface FaultPlan {
  readonly times?: number
  readonly carriedOut?: boolean
}

interface Fault extends FaultPlan {
  readonly verb: MemoryVerb | '*'
  readonly kind: string
  readonly error: Error
  left: number
}

export function memoryCluster(options: MemoryClusterOptions = {}): MemoryCluster {
  const storage = createMemoryStorage(options)
  const caches: MemoryInformers[] = []
  const requests: MemoryRequest[] = []
  const faults: Fault[] = []
  for (const [kind, object] of options.objects ?? []) storage.seed(kind, object)

  function takeFault(verb: MemoryVerb, kind: KindRef): Fault | undefined {
    const at = faults.findIndex(
      (fault) =>
        (fault.verb === '*' || fault.verb === verb) && (fault.kind === '*' || fault.kind === groupKindOf(kind)),
    )
    const fault = faults[at]
    if (fault && --fault.left <= 0) faults.splice(at, 1)
    return fault
  }

  async function ask<T>(verb: MemoryVerb, kind: KindRef, key: string, work: () => T, subresource?: string): Promise<T> {
    requests.push({ verb, kind: kind.kind, key, ...(subresource ? { subresource } : {}) })
    const fault = takeFault(verb, kind)
    if (fault && !fault.carriedOut) throw fault.error
    const answer = work()
    if (fault) throw fault.error
    return answer
  }

  const others = overStorage(storage, async (_verb, _kind, _key, work) => work())
  function open(): MemoryConnection {
    const informers = createMemoryInformers(storage, options.delivery ?? 'sync')
    caches.push(informers)
    return { objects: overStorage(storage, ask, informers.written), informers, close: () => informers.stop() }
  }

  return {
    ...open(),
    connect: () => ({ ...open(), others }),
    others,
    storage,
    requests,
    get writes() {
      return requests.filter(({ verb }) => verb !== 'get' && verb !== 'list')
    },
    seed: (kind, object) => storage.seed(kind, object) as never,
    peek: (kind, key) => storage.get(kind, key) as never,
    flush() {
      for (const informers of caches) informers.flush()
    },
    failNext(verb, kind, error, plan = {}) {
      const thrown = typeof error === 'string' ? new KubeError(error, `planned fault: ${error}`) : error
      const of = kind === '*' ? '*' : groupKindOf(kind)
      faults.push({ ...plan, verb, kind: of, error: thrown, left: plan.times ?? 1 })
    },
  }
}

type Ask = <T>(verb: MemoryVerb, kind: KindRef, key: string, work: () => T, subresource?: string) => Promise<T>
type OnWritten = (kind: KindRef, key: Key, object: AnyObject | undefined, goneUid?: string) => void

function overStorage(storage: MemoryStorage, ask: Ask, onWritten: OnWritten = () => {}): Objects {
  async function write(
    verb: MemoryVerb,
    kind: KindRef,
    key: Key,
    work: () => AnyObject,
    how: { dryRun?: boolean; subresource?: string } = {},
  ) {
    const answer = await ask(verb, kind, keyText(key), work, how.subresource)
    if (!how.dryRun) onWritten(kind, keyOf(answer), answer)
    return answer as never
  }
  return {
    get: (kind, key) => ask('get', kind, keyText(key), () => storage.get(kind, key)) as never,
    async *list(kind, query = {}) {
      const found = await ask('list', kind, query.namespace ?? '', () => storage.list(kind, query))
      for (const object of found) yield object as never
    },
    create: (kind, object, how) => write('create', kind, keyOf(object), () => storage.create(kind, object, how), how),
    replace: (kind, object, how) =>
      write('replace', kind, keyOf(object), () => storage.replace(kind, object, how), how),
    patch: (kind, key, patch, how) => write('patch', kind, key, () => storage.patch(kind, key, patch, how), how),
    apply: (kind, object, how) => write('apply', kind, keyOf(object), () => storage.apply(kind, object, how), how),
    async delete(kind, key, how) {
      try {
        const uid = storage.get(kind, key)?.metadata.uid
        const left = await ask('delete', kind, keyText(key), () => storage.delete(kind, key, how))
        onWritten(kind, key, left, uid)
      } catch (error) {
        if (!isKubeError(error, 'NotFound')) throw error
      }
    },
  }
}
