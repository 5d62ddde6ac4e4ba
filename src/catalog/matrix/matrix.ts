// Questions to the version matrix: may these run together, what to install by default, how long is a version supported.
// Pure; the day arrives as data.
import { CaptError } from '#lib'
import { byNewest, compareVersions, isAtLeast, lineOf, parseVersion } from '../version.ts'
import { type EksRow, type MatrixRow, matrix, type SupportRow } from './data.ts'

type Component = 'flux' | 'karpenter'
export type SupportState = 'standard' | 'extended' | 'ended' | 'unreleased' | 'unknown'

/** One thing the matrix forbids. `code` has a page in docs/errors.md. */
export interface MatrixFault {
  readonly code: string
  readonly message: string
  readonly hint: string
}

export interface Pair {
  readonly kubernetes: string
  readonly flux?: string | undefined
  readonly karpenter?: string | undefined
}

export const COMPONENT_NAMES: Readonly<Record<Component, string>> = { flux: 'Flux', karpenter: 'Karpenter' }

export function eksRows(rows: readonly MatrixRow[] = matrix): EksRow[] {
  return rows.filter((row) => row.component === 'eks')
}

export function supportRows(component: Component, rows: readonly MatrixRow[] = matrix): SupportRow[] {
  return rows.filter((row): row is SupportRow => row.component === component)
}

/** The row that speaks of exactly this version: of its line, the one with the newest `from` that is not newer. */
export function rowFor(component: Component, version: string): SupportRow | undefined {
  if (!parseVersion(version)) return undefined
  const line = lineOf(version)
  return supportRows(component)
    .filter((row) => row.line === line && (row.from === undefined || isAtLeast(version, row.from)))
    .sort((a, b) => byNewest(a.from ?? '0.0', b.from ?? '0.0'))[0]
}

export function supports(component: Component, version: string, kubernetes: string): boolean {
  const row = rowFor(component, version)
  if (!row || !parseVersion(kubernetes)) return false
  return coversKubernetes(row, kubernetes)
}

export function coversKubernetes(row: SupportRow, kubernetes: string): boolean {
  const line = lineOf(kubernetes)
  return compareVersions(line, row.kubernetes.min) >= 0 && compareVersions(line, row.kubernetes.max) <= 0
}

/** Installable lines that support this Kubernetes, newest first, each as its newest known patch. */
export function versionsFor(component: Component, kubernetes: string): string[] {
  return supportRows(component)
    .filter((row) => row.installable && coversKubernetes(row, kubernetes))
    .map((row) => row.newest)
    .sort(byNewest)
}

/** Everything the matrix forbids about this combination; empty means it may be written. */
export function checkPair(pair: Pair): MatrixFault[] {
  if (!parseVersion(pair.kubernetes))
    return [fault('CAPT_MATRIX_UNKNOWN', `Kubernetes "${pair.kubernetes}" is not a version`, 'write it like 1.34')]
  const known = eksRows().some((row) => row.line === lineOf(pair.kubernetes))
  const unknown = fault(
    'CAPT_MATRIX_UNKNOWN',
    `Kubernetes ${lineOf(pair.kubernetes)} is not in the version matrix`,
    `choose one of ${eksRows()
      .map((row) => row.line)
      .join(', ')} (capt matrix)`,
  )
  const components = (['flux', 'karpenter'] as const).filter((component) => pair[component] !== undefined)
  return [
    ...(known ? [] : [unknown]),
    ...components.flatMap((component) => checkComponent(component, pair[component]!, pair.kubernetes, known)),
  ]
}

function checkComponent(component: Component, version: string, kubernetes: string, known: boolean): MatrixFault[] {
  const name = COMPONENT_NAMES[component]
  const row = rowFor(component, version)
  const offer = offerFor(component, kubernetes)
  if (!row) return [fault('CAPT_MATRIX_UNKNOWN', `${name} ${version} is not in the version matrix`, offer)]
  const faults: MatrixFault[] = []
  const plain = version.replace(/^v/, '')
  const avoid = row.avoid?.[plain]
  if (avoid) faults.push(fault('CAPT_MATRIX_FORBIDDEN', `${name} ${plain} must not be used (${avoid})`, offer))
  if (!row.installable)
    faults.push(fault('CAPT_MATRIX_FORBIDDEN', `${name} ${plain} is too old to be installed by capt`, offer))
  if (known && !coversKubernetes(row, kubernetes)) {
    const { min, max } = row.kubernetes
    const message = `${name} ${plain} supports Kubernetes ${min} to ${max}, not ${lineOf(kubernetes)}`
    faults.push(fault('CAPT_MATRIX_FORBIDDEN', message, offer))
  }
  return faults
}

function offerFor(component: Component, kubernetes: string): string {
  const [best] = versionsFor(component, kubernetes)
  if (best) return `use ${COMPONENT_NAMES[component]} ${best} for Kubernetes ${lineOf(kubernetes)} (capt matrix)`
  return 'choose a combination from capt matrix'
}

const fault = (code: string, message: string, hint: string): MatrixFault => ({ code, message, hint })

/** What capt installs when nobody chose. `fluxBundles` narrows Flux to the versions that can be delivered here. */
export function defaultVersionsFor(
  kubernetes: string,
  options: { readonly fluxBundles?: readonly string[] } = {},
): { readonly flux: string; readonly karpenter: string } {
  const bundles = options.fluxBundles
  const flux = bundles
    ? bundles.filter((version) => supports('flux', version, kubernetes)).sort(byNewest)[0]
    : versionsFor('flux', kubernetes)[0]
  const karpenter = versionsFor('karpenter', kubernetes)[0]
  if (flux && karpenter) return { flux, karpenter }
  const lacking = flux ? 'Karpenter' : 'Flux'
  throw new CaptError('CAPT_MATRIX_FORBIDDEN', `No ${lacking} version supports Kubernetes ${kubernetes}`, {
    hint: 'choose a Kubernetes version from capt matrix',
  })
}

/** Where an EKS version stands on a day (YYYY-MM-DD). */
export function eksState(kubernetes: string, today: string): SupportState {
  const row = parseVersion(kubernetes) && eksRows().find(({ line }) => line === lineOf(kubernetes))
  if (!row) return 'unknown'
  if (today < row.released) return 'unreleased'
  if (today <= row.standardUntil) return 'standard'
  return today <= row.extendedUntil ? 'extended' : 'ended'
}

/** The EKS version a new cluster should get: the newest in standard support that Flux and Karpenter both support. */
export function defaultKubernetes(): string {
  const row = eksRows().find(({ line, phase }) => {
    return phase === 'current' && versionsFor('flux', line).length > 0 && versionsFor('karpenter', line).length > 0
  })
  if (!row) throw new CaptError('CAPT_MATRIX_FORBIDDEN', 'The version matrix has no current Kubernetes version')
  return row.line
}
