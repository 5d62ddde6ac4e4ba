// An EKS cluster that exists before capt comes: its account in moto, and the embedded API with a simulated workload, in which
// Flux runs unless the test asks for a cluster without.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Secret, SecretKind } from '#api'
import type { Objects } from '#kube'
import { type EmbeddedWorld, embeddedWorld } from '../addons/embedded.ts'
import { type EksEndpoint, startEksEndpoint } from './eks-endpoint.ts'
import { CLUSTER, type ExistingAccount, startExistingAccount } from './existing-account.ts'
import { bringDeployment, bringFlux } from './existing-workload.ts'
import type { MotoProgram } from './moto.ts'

export { CLUSTER, REGION } from './existing-account.ts'

export interface ExistingCluster extends ExistingAccount {
  readonly world: EmbeddedWorld
  /** Objects of the workload. */
  readonly objects: Objects
  /** The API endpoint that EKS names. */
  readonly endpoint: EksEndpoint
  close(): Promise<void>
}

export async function startExistingCluster(
  program: MotoProgram,
  folder: string,
  { hasFlux = true, hasAutoscaler = true, name = CLUSTER } = {},
): Promise<ExistingCluster> {
  const [account, world] = await Promise.all([startExistingAccount(program, name), embeddedWorld()])
  // EKS allows longer names than the home in which the workload is simulated.
  await world.addCluster(CLUSTER, {}, {})
  const secret = (await world.objects.get<Secret>(SecretKind, { namespace: 'default', name: `${CLUSTER}-kubeconfig` }))!
  const file = join(folder, 'workload-kubeconfig')
  writeFileSync(file, Buffer.from(secret.data!['value']!, 'base64'))
  const endpoint: EksEndpoint = await startEksEndpoint(file)
  account.moto.standIn.api = { url: endpoint.url, caData: endpoint.caData }
  const objects = await world.workload(CLUSTER)
  if (hasFlux) await bringFlux(objects)
  if (hasAutoscaler) await bringDeployment(objects, 'kube-system', 'cluster-autoscaler')
  return {
    ...account,
    world,
    objects,
    endpoint,
    async close() {
      await endpoint.close()
      await world.close()
      await account.moto.stop()
    },
  }
}
