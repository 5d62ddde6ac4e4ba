// A management cluster without capt: the embedded API with the kinds of a release, what core Cluster API does, and simulated
// workload clusters. The manager under test comes from elsewhere, over HTTP.
import { type ApiServer, type Converters, startApiServer } from '#apiserver'
import { CORE_CONVERTERS, coreControllers, coreDefinitions } from '#core'
import { connect, createEvents, fixedCredentials, type Objects, readKubeconfigText } from '#kube'
import { systemClock } from '#lib'
import { createSimulation, type RealmConnection, type Simulation } from '#simulation'
import { startManager } from '../../src/app/manager.ts'

export interface ManagementCluster {
  readonly server: ApiServer
  readonly objects: Objects
  close(): Promise<void>
}

export async function startManagementCluster(
  dataDir: string,
  definitions: Parameters<typeof startApiServer>[0]['crds'],
): Promise<ManagementCluster> {
  const server = await startApiServer({
    dataDir,
    crds: [...(definitions ?? []), ...coreDefinitions()],
    converters: CORE_CONVERTERS as unknown as Converters,
  })
  await server.ready()
  let simulation: Simulation | undefined
  const core = await startManager({
    access: await readKubeconfigText(server.kubeconfig(), { origin: 'the management cluster' }),
    controllers: [],
    workDir: dataDir,
    logLevel: 'error',
    logTo: { write: () => undefined },
    env: { POD_NAMESPACE: 'default' },
    watchSecrets: true,
    namespace: 'capt-system',
    extra: ({ workloads, reach, log }) => {
      simulation = createSimulation({
        realms: {
          ensure: async (path) => {
            const { url, ...realm } = server.realm(path)
            return { server: url, ...realm }
          },
          remove: async (path) => server.removeRealm(path),
        },
        connect: async (path) => connectRealm(server.realm(path)),
        clusterApi: 'v1beta2',
        clock: systemClock,
        log,
      })
      return [...simulation.controllers, ...coreControllers({ reach, workloads })]
    },
  })
  await core.connection.informers.synced()
  return {
    server,
    objects: core.connection.objects,
    async close() {
      await core.stop()
      await simulation?.stop()
      await server.close()
    },
  }
}

function connectRealm({
  url: server,
  caPem: ca,
  token,
}: {
  url: string
  caPem: string
  token: string
}): RealmConnection {
  const credentials = fixedCredentials({ token })
  const open = () => connect({ server, ca, namespace: 'default', credentials, origin: 'the workload' })
  const main = open()
  const all = [main]
  return {
    objects: main.objects,
    events: createEvents(main.objects, { clock: systemClock, controller: 'test/simulation', instance: 'test' }),
    informers() {
      const connection = open()
      all.push(connection)
      return connection.informers
    },
    async close() {
      for (const connection of all) await connection.close()
    },
  }
}
