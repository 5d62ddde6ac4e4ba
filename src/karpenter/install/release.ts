// Brings the chart into the cluster by what the cluster uses, and takes it out again: objects of Flux, or helm.
import { CustomResourceDefinitionKind, conditionOf, DeploymentKind, isTrue, type UnknownObject } from '#api'
import { chartTag, chartUrl, fluxChart, KARPENTER_DEFINITIONS, KARPENTER_RELEASE, karpenterChart } from '#catalog'
import { CaptError } from '#lib'
import { getOne, HelmReleaseKind, HelmRepositoryKind, listAll, MANAGED_LABEL, OCIRepositoryKind } from '../kinds.ts'
import type { ReleaseSettings, Resource } from '../plan/resources.ts'
import { awaitOtherHelm, freeRelease } from './pending-release.ts'
import { type Site, waitFor } from './site.ts'

const CRD_CHART = 'karpenter-crd'
const HINT = 'see kubectl describe of the objects named'

export async function bringRelease(
  { desired, of: namespace = '', value }: Resource,
  fluxVersion: string,
  site: Site,
): Promise<void> {
  const { version, values } = desired as ReleaseSettings
  if (value === 'flux') {
    const labels = { [MANAGED_LABEL]: 'made' }
    const objects = fluxChart({ ...karpenterChart(version), fluxVersion, namespace, values, labels })
    const kinds = [OCIRepositoryKind, HelmRepositoryKind, HelmReleaseKind]
    for (const object of objects)
      await site.objects.apply(kinds.find(({ kind }) => kind === object.kind)!, object as never)
    await waitFor(site, `HelmRelease ${namespace}/${KARPENTER_RELEASE}`, 'CAPT_KARPENTER_RELEASE', HINT, () =>
      fluxLack(site, namespace, version),
    )
  } else {
    const helm = helmOf(site)
    const common = { version: chartTag(version), namespace }
    // Definitions first: the controller of a new version reads fields that the old ones lack.
    for (const release of [
      { ...common, name: CRD_CHART, chart: chartUrl(CRD_CHART) },
      { ...common, name: KARPENTER_RELEASE, chart: chartUrl(), values },
    ]) {
      await freeRelease(site, release)
      await helm.upgrade(release)
    }
  }
  await waitFor(site, 'Karpenter', 'CAPT_KARPENTER_RELEASE', HINT, () => controllerLack(site, namespace))
}

function helmOf({ helm }: Site) {
  if (helm) return helm
  throw new CaptError(
    'CAPT_KARPENTER_NO_INSTALLER',
    'this release was brought in by helm, and there is no helm on the PATH',
    {
      hint: 'install helm 3.8 or newer',
    },
  )
}

/** What is missing until Flux has this version in place. */
async function fluxLack({ objects }: Site, namespace: string, version: string): Promise<string | undefined> {
  const release = await getOne(objects, HelmReleaseKind, { namespace, name: KARPENTER_RELEASE })
  if (!release) return 'it does not exist'
  const stalled = conditionOf(release, 'Stalled')
  if (stalled?.status === 'True')
    throw new CaptError('CAPT_KARPENTER_RELEASE', `HelmRelease ${namespace}/${KARPENTER_RELEASE}: ${stalled.message}`, {
      hint: HINT,
    })
  const { status } = release as {
    status?: { history?: readonly { chartVersion?: string }[]; observedGeneration?: number }
  }
  const isCurrent = status?.observedGeneration === release.metadata.generation
  const running = status?.history?.[0]?.chartVersion?.replace(/^v/, '').split('+')[0]
  if (isTrue(release, 'Ready') && isCurrent && running === version) return undefined
  return conditionOf(release, 'Ready')?.message ?? 'Flux has not looked at it yet'
}

async function controllerLack({ objects }: Site, namespace: string): Promise<string | undefined> {
  for (const name of ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh', 'ec2nodeclasses.karpenter.k8s.aws']) {
    const definition = await getOne(objects, CustomResourceDefinitionKind, { name })
    if (!definition || !isTrue(definition, 'Established')) return `definition ${name} is not established`
  }
  const deployment = await getOne(objects, DeploymentKind, { namespace, name: KARPENTER_RELEASE })
  if (!deployment) return `there is no Deployment ${namespace}/${KARPENTER_RELEASE}`
  return isTrue(deployment, 'Available') ? undefined : `Deployment ${namespace}/${KARPENTER_RELEASE} is not available`
}

/** The release, then what Helm never deletes: the definitions. Nodes must be gone before. */
export async function takeRelease(namespace: string, installer: string | undefined, site: Site): Promise<void> {
  const { objects } = site
  const key = { namespace, name: KARPENTER_RELEASE }
  if (installer === 'flux') {
    if (await getOne(objects, HelmReleaseKind, key)) await objects.delete(HelmReleaseKind, key)
    await waitFor(
      site,
      'the end of the HelmRelease',
      'CAPT_KARPENTER_RELEASE',
      'check helm-controller of Flux',
      async () => ((await getOne(objects, HelmReleaseKind, key)) ? 'it is still there' : undefined),
    )
    for (const kind of [OCIRepositoryKind, HelmRepositoryKind])
      if (await getOne(objects, kind, key)) await objects.delete(kind, key)
  } else {
    const helm = helmOf(site)
    for (const name of [KARPENTER_RELEASE, CRD_CHART]) {
      await awaitOtherHelm(site, { name, namespace })
      await helm.uninstall(name, namespace)
    }
  }
  for (const { name, isShared } of KARPENTER_DEFINITIONS)
    if (!isShared && (await getOne(objects, CustomResourceDefinitionKind, { name })))
      await objects.delete(CustomResourceDefinitionKind, { name })
}

/** Says who uses it and leaves it, or removes it. */
export async function removeDefinition(name: string, { objects, report }: Site): Promise<void> {
  const definition = (await getOne(objects, CustomResourceDefinitionKind, { name })) as Definition | undefined
  if (!definition) return
  const { group, names, scope, versions } = definition.spec
  const version = versions.find(({ storage }) => storage)?.name ?? ''
  const kind = { group, version, kind: names.kind, plural: names.plural, namespaced: scope === 'Namespaced' }
  const [user] = await listAll(objects, kind)
  if (user)
    return report(
      `keep definition ${name}: used by ${names.kind} ${user.metadata.namespace ?? ''}/${user.metadata.name}`,
    )
  await objects.delete(CustomResourceDefinitionKind, { name })
}

type Definition = UnknownObject & {
  readonly spec: {
    readonly group: string
    readonly scope: string
    readonly names: { readonly kind: string; readonly plural: string }
    readonly versions: readonly { readonly name: string; readonly storage: boolean }[]
  }
}
