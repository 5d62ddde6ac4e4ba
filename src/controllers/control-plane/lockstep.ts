// Holds a Kubernetes upgrade that the Flux or Karpenter in the cluster does not support, before anything is written, and
// names the order to follow. Pure.
import { COMPONENT_NAMES, type Stranded, strandedBy } from '#catalog'
import { type Decision, stalled, waiting } from '#runtime'
import type { Observed } from './observe.ts'

export function decideLockstep(observed: Observed, current: string, target: string): Decision<never> | undefined {
  const running = observed.deliveries.flatMap(({ components }) => components)
  const stranded = strandedBy(current, target, running)
  if (stranded.length > 0) {
    const what = stranded.map(({ evidence }) => evidence).join('; ')
    const message = `Kubernetes ${target} would strand what runs in the cluster: ${what}`
    return stalled('AddonsNotReady', message, orderOf(stranded, observed.clusterName, current, target))
  }
  const moving = running.filter(({ isMoving }) => isMoving)
  if (moving.length === 0) return undefined
  const names = moving.map(({ component, version }) => `${COMPONENT_NAMES[component]} ${version}`).join(', ')
  return waiting('AddonsChanging', `Kubernetes ${target} waits until ${names} is seen to work`)
}

/** The steps before the upgrade, as one sentence. */
function orderOf(stranded: readonly Stranded[], cluster: string, current: string, target: string): string {
  const steps = stranded.map(({ name, bridge, isForeign, version }) => {
    if (bridge === undefined)
      return `withdraw ${name} ${version}, because no release supports both ${current} and ${target}`
    return isForeign ? `upgrade ${name} to ${bridge} where it was installed from` : `upgrade ${name} to ${bridge}`
  })
  return `first ${steps.join(', then ')}, then Kubernetes goes to ${target} by itself; capt upgrade plan ${cluster} shows every step`
}
