// What a change of the Kubernetes version does to the Flux and the Karpenter that run: which of them the new version would
// strand, and which release is the way across. Pure.
import { byNewest, compareVersions, parseVersion } from '../version.ts'
import { COMPONENT_NAMES, coversKubernetes, rowFor, supportRows, versionsFor } from './matrix.ts'

export interface RunningComponent {
  readonly component: 'flux' | 'karpenter'
  readonly version: string
  /** Installed by others: capt does not change it. */
  readonly isForeign?: boolean
}

/** A component that does not support the Kubernetes version that is asked for. */
export interface Stranded extends RunningComponent {
  readonly name: string
  /** Newest release that supports both Kubernetes versions; undefined when there is none. */
  readonly bridge: string | undefined
  readonly evidence: string
}

export function strandedBy(from: string, to: string, running: readonly RunningComponent[]): readonly Stranded[] {
  return running.flatMap((one) => {
    const { component, version } = one
    const row = rowFor(component, version)
    if (row ? coversKubernetes(row, to) : isBeyond(component, version)) return []
    const bridge = bridgeOf(component, from, to)
    return [{ ...one, name: COMPONENT_NAMES[component], bridge, evidence: evidenceOf(component, version) }]
  })
}

/** Newest release that supports both versions of Kubernetes. */
function bridgeOf(component: RunningComponent['component'], from: string, to: string): string | undefined {
  const after = new Set(versionsFor(component, to))
  return versionsFor(component, from).find((version) => after.has(version))
}

/** What the matrix says about a release, with its source. */
export function evidenceOf(component: RunningComponent['component'], version: string): string {
  const name = `${COMPONENT_NAMES[component]} ${version.replace(/^v/, '')}`
  const row = rowFor(component, version)
  if (!row) return `${name} is not in the version matrix`
  const { min, max } = row.kubernetes
  return `${name} supports Kubernetes ${min} to ${max} (${row.source}, ${row.checked})`
}

/** Newer than all that the matrix knows: it was published after the matrix was, and is given the benefit of the doubt. */
function isBeyond(component: RunningComponent['component'], version: string): boolean {
  if (!parseVersion(version)) return true
  const [newest] = supportRows(component)
    .map(({ newest }) => newest)
    .sort(byNewest)
  return newest === undefined || compareVersions(version, newest) > 0
}
