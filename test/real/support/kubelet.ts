// A kubelet for the runs of one namespace on a real API server, whose controller of Jobs makes the pods: each process gets
// what its pod mounts, the built program and Terraform, and nothing else.
import { dirname } from 'node:path'
import { findTerraform } from '#engine'
import { createClient } from '#kube'
import { type ClusterActor, startClusterActor } from '../../support/engine/cluster-actor.ts'
import { accessOf } from './api.ts'
import type { Kube } from './lab.ts'
import { programIn } from './world.ts'

const AT_ONCE = ['--force', '--grace-period=0', '--wait=false', '--ignore-not-found']

/** `programs`: folders of what the image has beside Terraform. */
export async function startKubelet(
  kube: Kube,
  namespace: string,
  folder: string,
  programs: readonly string[] = [],
): Promise<ClusterActor> {
  const { binary } = await findTerraform()
  const objects = createClient(accessOf(kube, 'actors'), { fieldManager: 'kubelet' })
  const actor = startClusterActor({
    objects,
    namespace,
    program: [process.execPath, programIn(folder)],
    path: [dirname(binary), ...programs, '/usr/bin', '/bin'].join(':'),
    removePod: (name) => kube.kubectl(['delete', 'pod', name, '-n', namespace, ...AT_ONCE]),
  })
  return {
    ...actor,
    async stop() {
      await actor.stop()
      await objects.close()
    },
  }
}
