// The MachineDeployment of docs/machines.md with what it refers to, as people apply it.
import { join } from 'node:path'
import type { ClusterApiVersion } from '#api'
import type { Loose } from '../loose.ts'
import { manifestBlocks } from '../manifest-blocks.ts'

const ROOT = join(import.meta.dirname, '../../../..')

/** For this Kubernetes, in the version of Cluster API that is served. Core scales up no MachineSet of another version than the topology has. */
export function machinesOfPage(kubernetes: string, version: ClusterApiVersion): Loose[] {
  const block = manifestBlocks(ROOT).find(
    ({ at, objects }) => at.startsWith('docs/machines.md:') && objects[0]?.kind === 'MachineDeployment',
  )
  const objects = structuredClone(block!.objects) as unknown as Loose[]
  const [deployment] = objects
  const { spec } = deployment!['spec'].template
  spec.version = kubernetes
  if (version === 'v1beta2') return objects
  deployment!['apiVersion'] = `cluster.x-k8s.io/${version}`
  const former = ({ apiGroup, kind, name }: Loose) => ({ apiVersion: `${apiGroup}/v1beta1`, kind, name })
  spec.bootstrap.configRef = former(spec.bootstrap.configRef)
  spec.infrastructureRef = former(spec.infrastructureRef)
  return objects
}
