// How the memory of a manager is read: as its Deployment starts it, when it has done what there is to do.
import { readFileSync } from 'node:fs'
import { until } from '../lab.ts'
import type { World } from '../world.ts'
import { cpuSecondsOf } from './fleet.ts'

type Manager = World['manager']

/** As install.yaml sets it; there are no runs to start in these suites. */
const ENGINE = ['--engine', 'job', '--run-namespace', 'capt-system', '--runner-image', 'capt-runner']
export const ENDPOINTS = [
  ...ENGINE,
  '--health-probe-bind-address',
  '127.0.0.1:0',
  '--metrics-bind-address',
  '127.0.0.1:0',
]
export const AS_DEPLOYED = ['--leader-elect', ...ENDPOINTS]

/** The kernel's figure for the highest resident size of the whole life. */
export function peakMiBOf({ pid }: Manager): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

/** It has done what there is to do: three looks in a row find that it did not use the processor. */
export async function atRest(manager: Manager, what: string): Promise<void> {
  let [last, quiet] = [cpuSecondsOf(manager.pid), 0]
  await until(
    what,
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 1000))
      const now = cpuSecondsOf(manager.pid)
      quiet = now - last < 0.1 ? quiet + 1 : 0
      last = now
      return quiet >= 3
    },
    600,
    manager,
  )
}
