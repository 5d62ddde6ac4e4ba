// Makes the Nodes of CAPTMachines in their workload cluster, as the embedded home does.
import { CAPTMachine } from '#api'
import { connect, createEvents } from '#kube'
import { silentLog, systemClock } from '#lib'
import { type AnyController, runControllers } from '#runtime'
import { machineActor } from '../../../src/simulation/machines.ts'
import { accessOf } from './api.ts'
import type { Kube } from './lab.ts'

/** Returns how to end it. */
export function playMachines(management: Kube, workload: Kube): () => Promise<void> {
  const [home, there] = [management, workload].map((kube) => connect(accessOf(kube, 'actors'))) as [
    Connected,
    Connected,
  ]
  home.informers.register(CAPTMachine)
  const actor = machineActor({ clock: systemClock, objectsOf: async () => there.objects })
  const running = runControllers({
    controllers: [actor as unknown as AnyController],
    objects: home.objects,
    informers: home.informers,
    events: createEvents(home.objects, { controller: 'capt.appthrust.com/simulation', instance: 'lab' }),
    clock: systemClock,
    log: silentLog,
  })
  return async () => {
    await running.stop()
    await home.close()
    await there.close()
  }
}

type Connected = ReturnType<typeof connect>
