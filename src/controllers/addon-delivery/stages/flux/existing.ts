// Finds an installed Flux and its owner. A foreign Flux is never overwritten, so the workload cluster is read before the
// first delivery and before every change of version.

import { DeploymentKind, type UnknownObject } from '#api'
import { compareVersions, fluxLineOfChart, fluxReleases, parseVersion } from '#catalog'
import type { Objects } from '#kube'
import { readPath } from '../../health/path.ts'
import { FLUX_NAMESPACE, MANAGED_LABEL } from '../../names.ts'
import type { Installed } from '../stage-type.ts'

const CONTROLLERS = ['source-controller', 'helm-controller']

export async function readControllers(objects: Objects): Promise<readonly UnknownObject[]> {
  const labelled = { labelSelector: 'app.kubernetes.io/part-of=flux' }
  const deployments = await Array.fromAsync(objects.list<UnknownObject>(DeploymentKind, labelled))
  for (const name of CONTROLLERS) {
    if (deployments.some((one) => one.metadata.name === name)) continue
    const bare = await objects.get<UnknownObject>(DeploymentKind, { namespace: FLUX_NAMESPACE, name })
    if (bare) deployments.push(bare)
  }
  return deployments
}

export function findFlux(deployments: readonly UnknownObject[], wanted: string | undefined): Installed {
  const controllers = deployments.filter((one) => CONTROLLERS.includes(one.metadata.name))
  const foreign = controllers.filter((one) => one.metadata.labels?.[MANAGED_LABEL] !== 'true' || laterOwnerOf(one))
  const [first] = foreign.length > 0 ? foreign : controllers
  if (!first) return { existing: { is: 'nothing' }, namespace: FLUX_NAMESPACE }
  const namespace = first.metadata.namespace ?? FLUX_NAMESPACE
  const version = versionOf(first)
  if (foreign.length > 0) return { existing: { is: 'foreign', version, how: howOf(first) }, namespace }
  if (version && wanted && compareVersions(version, wanted) > 0)
    return { existing: { is: 'newer', version }, namespace }
  return { existing: { is: 'ours' }, namespace }
}

function chartOf(deployment: UnknownObject): string | undefined {
  const chart = deployment.metadata.labels?.['helm.sh/chart']
  return chart?.startsWith('flux2-') ? chart.slice('flux2-'.length) : undefined
}

/** Who owns a Flux that capt delivered at first. */
function laterOwnerOf({ metadata }: UnknownObject): string | undefined {
  const { labels = {} } = metadata
  const kustomization = labels['kustomize.toolkit.fluxcd.io/name']
  const instance = labels['fluxcd.controlplane.io/name']
  if (instance !== undefined) return `by the Flux Operator, FluxInstance ${instance}`
  return kustomization === undefined ? undefined : `by flux bootstrap, Kustomization ${kustomization}`
}

function howOf(deployment: UnknownObject): string {
  const owner = laterOwnerOf(deployment)
  if (owner !== undefined) return owner
  const chart = chartOf(deployment)
  if (chart) return `chart flux2 ${chart}`
  return deployment.metadata.annotations?.['meta.helm.sh/release-name'] ? 'by Helm' : 'not by capt'
}

/** The label of Flux's own manifests, else the chart, else the version of the controller's image. */
function versionOf(deployment: UnknownObject): string | undefined {
  const chart = chartOf(deployment)
  const line = chart ? fluxLineOfChart(chart) : undefined
  const label = deployment.metadata.labels?.['app.kubernetes.io/version']?.replace(/^v/, '')
  if (label && parseVersion(label)) return label
  if (line) return `${line}.0`
  const image = imageOf(deployment)
  const tag = image?.split('@')[0]?.match(/:v?(\d+\.\d+\.\d+)$/)?.[1]
  const release = fluxReleases.find((one) => one.sourceController === tag || one.helmController === tag)
  return release?.flux
}

function imageOf(deployment: UnknownObject): string | undefined {
  const image = readPath(deployment, 'spec.template.spec.containers[0].image')
  return typeof image === 'string' ? image : undefined
}
