// A manager with nothing of its own to do: real client, informers, queue, loop, metrics over TLS, probes and log, over
// ten kinds. What it weighs is what every manager weighs at least. Reads {server, ca, waste} from its environment.
import type { AnyObject, KindRef } from '#api'
import { connect, fixedCredentials } from '#kube'
import { systemClock } from '#lib'
import { type AnyController, done, runControllers } from '#runtime'
import { jsonLog, prometheusMetrics, selfSigned, serveHealth, serveMetrics, until } from '#server'
import { KINDS } from './fleet.ts'

const { server, ca, wasteMiB } = JSON.parse(process.env['CAPT_BENCH'] ?? '{}') as {
  server: string
  ca: string
  wasteMiB: number
}
/** A page of 4.6 KB objects that is one small string dies young; a large one waits for the next full collection. */
const PAGE_SIZE = 25
const waste = Buffer.alloc(wasteMiB * 2 ** 20, 1)

interface Thing extends AnyObject {
  readonly spec: { readonly clusterName: string; readonly templateRef: { readonly name: string } }
  readonly status?: { readonly ready?: boolean; readonly conditions?: readonly unknown[] }
}

/** What a controller reads of an object of another kind: who it belongs to, what it refers to, how it is. */
function project(object: AnyObject): AnyObject {
  const { metadata, spec, status } = object as Thing
  const { annotations: _, ...rest } = metadata
  const { clusterName, templateRef } = spec
  const kept = { ...object, metadata: rest, spec: { clusterName, templateRef } }
  return Object.assign(kept, { status: { ready: status?.ready, conditions: status?.conditions } })
}

function aController(kind: KindRef): AnyController {
  return {
    name: kind.kind.toLowerCase(),
    kind,
    summary: false,
    wakes: [],
    indexes: [
      {
        kind,
        name: 'template',
        values: (object) => [`${object.metadata.namespace}/${(object as Thing).spec.templateRef.name}`],
      },
    ],
    async observe({ cache }, object) {
      const { spec } = object as unknown as Thing
      return cache.get(kind, { namespace: object.metadata.namespace!, name: spec.clusterName })
    },
    decide: () => done,
    act: async () => undefined,
    status: () => ({}),
  }
}

const clock = systemClock
const log = jsonLog({ level: 'info' })
const metrics = prometheusMetrics()
const connection = connect(
  {
    server,
    ca,
    namespace: 'default',
    credentials: fixedCredentials({ token: 'bench' }),
    origin: 'bench',
  },
  { pageSize: PAGE_SIZE },
)
for (const kind of KINDS) connection.informers.register(kind, { project })
const running = runControllers({
  controllers: KINDS.map(aController),
  objects: connection.objects,
  informers: connection.informers,
  events: { emit: () => undefined },
  clock,
  log,
  metrics,
})
const review = async () => 'allowed' as const
const secure = await serveMetrics({
  metrics,
  review,
  certificate: selfSigned(['localhost'], ['127.0.0.1'], clock),
  clock,
  log,
  port: 0,
})
const caches = until('caches', running.synced(), 'still filling')
const health = await serveHealth({ live: [], ready: [caches], clock, port: 0 })
await running.synced()
const objects = () => connection.informers.counts().reduce((sum, { objects: count }) => sum + count, 0)
console.log(
  JSON.stringify({ metricsPort: secure.port, healthPort: health.port, objects: objects(), waste: waste.length }),
)
process.stdin.resume().on('end', () => process.exit(0))
