// The steps of an upgrade in order: what a minor version of Kubernetes would strand moves first, then Kubernetes, then what
// follows it by itself. Pure.
import {
  COMPONENT_NAMES,
  checkPair,
  compareVersions,
  defaultKubernetes,
  defaultVersionsFor,
  eksRows,
  evidenceOf,
  fluxVersions,
  lineOf,
  parseVersion,
  type RunningComponent,
  strandedBy,
} from '#catalog'
import { CaptError, isCaptError } from '#lib'
import { followingImage, imageStep } from './node-image.ts'
import type { ClusterState, ComponentState } from './state.ts'

export interface Step {
  readonly what: 'kubernetes' | 'node-image' | RunningComponent['component']
  readonly name: string
  readonly from: string
  readonly to: string
  /** Who does it: this command, the controllers without being asked, or a person. */
  readonly by: 'capt' | 'itself' | 'person'
  readonly how: string
  readonly evidence: string
  /** Of a component. */
  readonly component?: ComponentState
}

export interface UpgradePlan {
  readonly cluster: string
  readonly from: string
  readonly to: string
  readonly steps: readonly Step[]
}

/** `target` and `image` are what was asked for; without a target it is the newest version that everything supports. */
export function planUpgrade(state: ClusterState, target: string | undefined, image?: string): UpgradePlan {
  const to = readTarget(state, target)
  const steps: Step[] = []
  let components = state.components
  const follow = (kubernetes: string) => {
    const moved = followers(components, kubernetes)
    steps.push(...moved)
    components = components.map((one) => replace(one, moved))
  }
  follow(state.kubernetes)
  for (const [from, next] of hops(state.kubernetes, to)) {
    const first = before(components, from, next)
    steps.push(...first)
    components = components.map((one) => replace(one, first)).map((one) => pin(one, first))
    steps.push(kubernetesStep(state, from, next))
    follow(next)
    if (image === undefined) steps.push(...followingImage(state.nodeImage, next))
  }
  // Last, because an image exists for some versions of Kubernetes alone.
  const last = to === state.kubernetes || image !== undefined ? imageStep(state.nodeImage, image) : undefined
  if (last) steps.push(last)
  return { cluster: state.cluster.name, from: state.kubernetes, to, steps }
}

function readTarget({ kubernetes, cluster }: ClusterState, target: string | undefined): string {
  const to = target === undefined ? newestFrom(kubernetes) : parseVersion(target) && lineOf(target)
  if (to === undefined)
    throw new CaptError('CAPT_UPGRADE_REFUSED', `"${target}" is not a Kubernetes version`, {
      hint: 'write it like 1.35',
    })
  const [fault] = checkPair({ kubernetes: to })
  if (fault && to !== kubernetes) throw new CaptError('CAPT_UPGRADE_REFUSED', fault.message, { hint: fault.hint })
  if (compareVersions(to, kubernetes) < 0)
    throw new CaptError(
      'CAPT_UPGRADE_REFUSED',
      `Cluster ${cluster.name} runs Kubernetes ${kubernetes}: EKS does not go back`,
      {
        hint: `capt upgrade plan ${cluster.name} shows where it can go`,
      },
    )
  return to
}

/** A cluster that is ahead of the default stays where it is. */
function newestFrom(kubernetes: string): string {
  const best = defaultKubernetes()
  return compareVersions(best, kubernetes) < 0 ? kubernetes : best
}

/** EKS goes one minor version at a time. */
function hops(from: string, to: string): readonly (readonly [string, string])[] {
  const lines = eksRows()
    .map(({ line }) => line)
    .filter((line) => compareVersions(line, from) > 0 && compareVersions(line, to) <= 0)
    .sort(compareVersions)
  return lines.map((line, index) => [index === 0 ? from : lines[index - 1]!, line])
}

function before(components: readonly ComponentState[], from: string, to: string): readonly Step[] {
  return components.flatMap((component) =>
    strandedBy(from, to, [component]).map(({ name, bridge, evidence }): Step => {
      const base = { what: component.component, name, from: component.version, evidence, component }
      const { delivery, stage } = component
      if (bridge === undefined)
        return {
          ...base,
          to: 'none',
          by: 'person',
          how: `no release supports both ${from} and ${to}: withdraw it first`,
        }
      if (component.isForeign)
        return { ...base, to: bridge, by: 'person', how: 'capt did not install it: upgrade it where it came from' }
      const how = `spec.overrides[stage=${stage}].version of AddonDelivery ${delivery.name}`
      return { ...base, to: bridge, by: 'capt', how }
    }),
  )
}

function kubernetesStep({ controlPlane, cluster, hasTopology }: ClusterState, from: string, to: string): Step {
  const how = hasTopology
    ? `spec.topology.version of Cluster ${cluster.name}`
    : `spec.version of CAPTControlPlane ${controlPlane.name}`
  const evidence = `one minor version; the EKS add-ons that nobody pinned move in the same run, and none goes back`
  return { what: 'kubernetes', name: 'Kubernetes', from, to, by: 'capt', how, evidence }
}

/** What nobody pinned is brought to the default of the Kubernetes version that runs. */
function followers(components: readonly ComponentState[], kubernetes: string): readonly Step[] {
  const defaults = defaultsFor(kubernetes)
  return components.flatMap((component): readonly Step[] => {
    const to = defaults?.[component.component]
    if (component.isPinned || to === undefined || compareVersions(to, component.version) === 0) return []
    const what = component.component
    return [
      {
        what,
        name: COMPONENT_NAMES[what],
        from: component.version,
        to,
        by: 'itself',
        how: `follows Kubernetes ${kubernetes}, because no version is chosen`,
        evidence: evidenceOf(what, to),
        component,
      },
    ]
  })
}

function defaultsFor(kubernetes: string) {
  try {
    return defaultVersionsFor(kubernetes, { fluxBundles: fluxVersions })
  } catch (error) {
    if (isCaptError(error)) return undefined
    throw error
  }
}

const stepOf = (one: ComponentState, steps: readonly Step[]) =>
  steps.find(({ component }) => component?.stage === one.stage && component.delivery.name === one.delivery.name)

const replace = (one: ComponentState, steps: readonly Step[]): ComponentState => {
  const to = stepOf(one, steps)?.to
  return to === undefined || to === 'none' ? one : { ...one, version: to }
}

const pin = (one: ComponentState, steps: readonly Step[]): ComponentState =>
  stepOf(one, steps) ? { ...one, isPinned: true } : one
