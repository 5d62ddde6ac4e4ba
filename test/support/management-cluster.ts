// A management cluster without capt: the embedded API with the kinds of a release, what core Cluster API does, and simulated
// workload clusters. The manager under test comes from elsewhere, over HTTP.
import { type ApiServer, type Converters, startApiServer } from '#apiserver'
import {
  clusterController,
  clusterDefinition,
  convertCluster,
  convertMachinePool,
  convertResourceSet,
  convertResourceSetBinding,
  machinePoolController,
  machinePoolDefinition,
  resourceSetBindingController,
  resourceSetController,
  resourceSetDefinitions,
} from '#core'
import { connect, createEvents, fixedCredentials, type Objects, readKubeconfigText } from '#kube'
import { systemClock } from '#lib'
import { createSimulation, type RealmAccess, type RealmConnection, type Simulation } from '#simulation'
import { startManager } from '../../src/app/manager.ts'

export interface ManagementCluster {
  readonly server: ApiServer
  readonly objects: Objects
  close(): Promise<void>
}

const CONVERTERS = {
  'cluster.x-k8s.io/Cluster': convertCluster,
  'cluster.x-k8s.io/MachinePool': convertMachinePool,
  'addons.cluster.x-k8s.io/ClusterResourceSet': convertResourceSet,
  'addons.cluster.x-k8s.io/ClusterResourceSetBinding': convertResourceSetBinding,
} as unknown as Converters

export async function startManagementCluster(
  dataDir: string,
  definitions: Parameters<typeof startApiServer>[0]['crds'],
): Promise<ManagementCluster> {
  const server = await startApiServer({
    dataDir,
    crds: [...(definitions ?? []), clusterDefinition(), machinePoolDefinition(), ...resourceSetDefinitions()],
    converters: CONVERTERS,
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
            const { url, caPem, token } = server.realm(path)
            return { server: url, caPem, token }
          },
          remove: async (path) => server.removeRealm(path),
        },
        connect: async (access) => connectRealm(access),
        clusterApi: 'v1beta2',
        clock: systemClock,
        log,
      })
      return [
        ...simulation.controllers,
        clusterController({ reach }),
        machinePoolController(),
        resourceSetController({
          connect: async (cluster) => {
            const workload = await workloads.open(cluster)
            if (!workload) throw new Error(`${cluster.namespace}/${cluster.name} has no kubeconfig yet`)
            return workload.objects
          },
        }),
        resourceSetBindingController(),
      ]
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

function connectRealm({ server, caPem: ca, token }: RealmAccess): RealmConnection {
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
