// Brings Flux into a cluster that has none, and removes it when nobody else uses it. Every object of it carries a label, by
// which the removal selects it in whatever version it is.
import {
  CustomResourceDefinitionKind,
  DeploymentKind,
  isTrue,
  type KindRef,
  NamespaceKind,
  type UnknownObject,
} from '#api'
import {
  FLUX_NAMESPACE,
  FluxUserKinds,
  getOne,
  HelmReleaseKind,
  kindRefOf,
  listAll,
  MANAGED_LABEL,
  OCIRepositoryKind,
} from '../kinds.ts'
import { type Site, waitFor } from './site.ts'

const LABEL = 'flux'
const CODE = 'CAPT_KARPENTER_FLUX'
const HINT = 'see kubectl -n flux-system describe pods'
const CONTROLLERS = ['source-controller', 'helm-controller']

export async function bringFlux(version: string, site: Site): Promise<void> {
  const manifests = await site.fluxManifests(version)
  const isEarly = ({ kind }: UnknownObject) => kind === 'Namespace' || kind === 'CustomResourceDefinition'
  for (const object of manifests.filter(isEarly)) await applyOne(object, site)
  await waitFor(site, 'the definitions of Flux', CODE, HINT, () => definitionsLack(site))
  for (const object of manifests.filter((one) => !isEarly(one))) await applyOne(object, site)
  await waitFor(site, `Flux ${version}`, CODE, HINT, () => controllersLack(version, site))
}

async function applyOne(object: UnknownObject, { objects }: Site): Promise<void> {
  const labels = { ...object.metadata.labels, [MANAGED_LABEL]: LABEL }
  await objects.apply(kindRefOf(object), { ...object, metadata: { ...object.metadata, labels } } as never)
}

async function definitionsLack({ objects }: Site): Promise<string | undefined> {
  for (const { plural, group } of [HelmReleaseKind, OCIRepositoryKind]) {
    const name = `${plural}.${group}`
    const definition = await getOne(objects, CustomResourceDefinitionKind, { name })
    if (!definition || !isTrue(definition, 'Established')) return `definition ${name} is not established`
  }
  return undefined
}

async function controllersLack(version: string, { objects }: Site): Promise<string | undefined> {
  for (const name of CONTROLLERS) {
    const found = await getOne(objects, DeploymentKind, { namespace: FLUX_NAMESPACE, name })
    const isCurrent = found?.metadata.labels?.['app.kubernetes.io/version'] === `v${version}`
    if (!found || !isCurrent || !isTrue(found, 'Available'))
      return `Deployment ${FLUX_NAMESPACE}/${name} is not available`
  }
  return undefined
}

/** What somebody else has Flux do, without the release and the source of Karpenter. */
export async function fluxUsers({ objects }: Site): Promise<readonly string[]> {
  const users: string[] = []
  for (const kind of FluxUserKinds)
    for (const { metadata } of await listAll(objects, kind))
      if (metadata.labels?.[MANAGED_LABEL] === undefined)
        users.push(`${kind.kind} ${metadata.namespace}/${metadata.name}`)
  // Controllers that capt does not bring, such as kustomize-controller, were added by somebody.
  for (const { metadata } of await listAll(objects, DeploymentKind, { namespace: FLUX_NAMESPACE }))
    if (metadata.labels?.[MANAGED_LABEL] !== LABEL) users.push(`Deployment ${metadata.namespace}/${metadata.name}`)
  return users.sort()
}

/** Controllers before their rights, definitions when nothing is left of their kinds, the namespace last. */
const REMOVED: readonly KindRef[] = [
  DeploymentKind,
  ...(
    [
      ['networking.k8s.io/v1', 'NetworkPolicy', true],
      ['v1', 'Service', true],
      ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', false],
      ['rbac.authorization.k8s.io/v1', 'ClusterRole', false],
      ['v1', 'ServiceAccount', true],
      ['v1', 'ResourceQuota', true],
    ] as const
  ).map(([apiVersion, kind, namespaced]) => kindRefOf({ apiVersion, kind }, namespaced)),
  CustomResourceDefinitionKind,
  NamespaceKind,
]

/** Says who uses it and leaves it, or removes every object that carries the label. */
export async function removeFlux(site: Site): Promise<void> {
  const users = await fluxUsers(site)
  if (users.length > 0) return site.report(`keep Flux in ${FLUX_NAMESPACE}: used by ${users.join(', ')}`)
  for (const kind of REMOVED)
    for (const { metadata } of await listAll(site.objects, kind, { labelSelector: `${MANAGED_LABEL}=${LABEL}` })) {
      const { name, namespace } = metadata
      await site.objects.delete(kind, namespace === undefined ? { name } : { namespace, name })
    }
}
