// One isolated API: its kinds, its objects, its history and the background work that keeps promises about them.
// The management API is the realm at the root; simulated workload clusters are realms below it.
import { randomBytes } from 'node:crypto'
import type { Clock } from '#lib'
import { type Collector, createCollector } from './collect/collector.ts'
import type { CompileSchema, Converters } from './kinds/custom.ts'
import { createRegistry, NAMESPACES } from './kinds/registry.ts'
import type { ApiObject } from './object.ts'
import type { VersionedStore } from './read/list.ts'
import { createHistory, type HistoryLimits } from './store/history.ts'
import type { RealmStore } from './store/store.ts'
import type { RealmTokens } from './tokens/realm-tokens.ts'
import type { World, WriteRequest } from './write/context.ts'
import { create } from './write/create.ts'
import { replace } from './write/update.ts'

interface RealmOptions {
  readonly store: RealmStore
  readonly tokens: RealmTokens
  readonly clock: Clock
  readonly compile: CompileSchema
  readonly converters?: Converters
  readonly history?: HistoryLimits
  log(message: string, error: unknown): void
}

export interface RealmState extends VersionedStore {
  readonly path: string
  readonly tokens: RealmTokens
  readonly world: World
  readonly collector: Collector
  /** How to end the watches that are open. */
  readonly streams: Set<() => void>
}

const NAMESPACE_NAMES = ['default', 'kube-node-lease', 'kube-public', 'kube-system']
/** Letters that spell no words; the same alphabet kube-apiserver uses for generated names. */
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789'

export function openRealm(options: RealmOptions): RealmState {
  const { store, tokens, clock, compile, converters } = options
  const history = createHistory(store, options.history)
  const registry = createRegistry({ store, clock, compile, converters })
  const world: World = { store, registry, clock, suffix: randomSuffix }
  furnish(world)
  const collector = createCollector(world, options.log)
  return { path: store.path, tokens, store, history, world, collector, streams: new Set() }
}

function randomSuffix(): string {
  return [...randomBytes(5)].map((byte) => SUFFIX_LETTERS[byte % SUFFIX_LETTERS.length]).join('')
}

/** What every cluster has from its first moment. */
function furnish(world: World): void {
  for (const name of NAMESPACE_NAMES) {
    if (world.store.read(NAMESPACES, '', name)) continue
    create(systemRequest(world, '', 'v1', 'namespaces', ''), { metadata: { name } })
  }
  const services = systemRequest(world, '', 'v1', 'services', 'default')
  if (world.store.read(services.type.collection, 'default', 'kubernetes')) return
  create(services, {
    metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }] },
  })
}

/** A write by the server itself. */
function systemRequest(world: World, group: string, version: string, plural: string, namespace: string): WriteRequest {
  const served = world.registry.find(group, version, plural)
  if (!served) throw new Error(`${plural}.${group} is not served`)
  return {
    ...served,
    world,
    namespace,
    dryRun: false,
    fieldManager: 'capt-apiserver',
    fieldValidation: 'Ignore',
    warn: () => {},
  }
}

/** Creates the definition, or brings the stored one up to date. Unchanged definitions write nothing. */
export function installCrd({ world }: RealmState, crd: ApiObject): void {
  const request = systemRequest(world, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions', '')
  const old = world.store.read(request.type.collection, '', crd.metadata.name)
  if (!old) {
    create(request, structuredClone(crd))
    return
  }
  const { labels, annotations } = crd.metadata
  const metadata = {
    ...old.metadata,
    labels: { ...old.metadata.labels, ...labels },
    annotations: { ...old.metadata.annotations, ...annotations },
  }
  replace(request, crd.metadata.name, { ...structuredClone(crd), metadata })
}
