// Reads the Kubernetes side of a survey. Nothing is changed.
import {
  type ConfigMap,
  ConfigMapKind,
  CustomResourceDefinitionKind,
  conditionOf,
  DeploymentKind,
  LeaseKind,
  NamespaceKind,
  NodeKind,
  type UnknownObject,
} from '#api'
import { KARPENTER_DEFINITIONS, KARPENTER_RELEASE, type PlacementNode } from '#catalog'
import type { Objects } from '#kube'
import { readJournal } from '../journal.ts'
import {
  DaemonSetKind,
  EC2NodeClassKind,
  FLUX_NAMESPACE,
  getOne,
  HelmReleaseKind,
  isSelfManaged,
  listAll,
  NodeClaimKind,
  NodePoolKind,
  OCIRepositoryKind,
  readinessOf,
  StatefulSetKind,
} from '../kinds.ts'
import { type ClusterSurvey, type FoundDeployment, type FoundPool, type FoundWorkload, OLDEST_FLUX } from './survey.ts'

const ADVISED = /(^|-)(karpenter|coredns|metrics-server|prometheus|grafana)(-|$)/

export async function readKubernetesSide(objects: Objects): Promise<ClusterSurvey> {
  const deployments = await listAll(objects, DeploymentKind)
  const daemonSets = await listAll(objects, DaemonSetKind)
  const statefulSets = await listAll(objects, StatefulSetKind)
  const allDefinitions = await listAll(objects, CustomResourceDefinitionKind)
  const namespaces = (await listAll(objects, NamespaceKind)).map(({ metadata }) => metadata.name)
  const definitions = allDefinitions.filter(({ metadata }) => /\.karpenter\.(sh|k8s\.aws)$/.test(metadata.name))
  const pools = (await listAll(objects, NodePoolKind)).filter(isSelfManaged)
  const classes = await listAll(objects, EC2NodeClassKind)
  const found = deployments.map(toDeployment)
  const karpenter = deployments
    .filter((one) => labelOf(one, 'app.kubernetes.io/name') === 'karpenter')
    .map(toDeployment)
  const kept = await readJournal(objects)
  const namespace = kept?.journal.namespace ?? karpenter[0]?.namespace ?? 'kube-system'
  return {
    nodes: (await listAll(objects, NodeKind)).filter(({ metadata }) => !metadata.deletionTimestamp).map(toNode),
    karpenter,
    autoscalers: found.filter(({ name }) => /(^|-)cluster-autoscaler($|-)/.test(name)),
    terminationHandlers: [...deployments, ...daemonSets]
      .filter(({ metadata }) => metadata.name.includes('node-termination-handler'))
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    flux: fluxOf(deployments),
    fluxTraces: [
      ...namespaces.filter((name) => name === FLUX_NAMESPACE).map((name) => `namespace ${name}`),
      ...allDefinitions.map(({ metadata }) => metadata.name).filter((name) => name.endsWith('.toolkit.fluxcd.io')),
    ],
    definitions: definitions.map((one) => ({
      name: one.metadata.name,
      storedVersions: (one as { status?: { storedVersions?: readonly string[] } }).status?.storedVersions ?? [],
    })),
    sharedDefinitions: KARPENTER_DEFINITIONS.filter(({ isShared }) => isShared)
      .map(({ name }) => name)
      .filter((name) => allDefinitions.some(({ metadata }) => metadata.name === name)),
    namespaces,
    hasPodIdentityAgent: daemonSets.some(({ metadata }) => metadata.name === 'eks-pod-identity-agent'),
    mapRoles: await mapRolesOf(objects),
    hasRelease: (await getOne(objects, HelmReleaseKind, { namespace, name: KARPENTER_RELEASE })) !== undefined,
    nodePools: pools.map(toPool),
    claims: (await listAll(objects, NodeClaimKind)).filter(isSelfManaged).map(({ metadata }) => metadata.name),
    hasCni: daemonSets.some(({ metadata }) => metadata.name === 'aws-node'),
    hasDns: found.some(({ name }) => name === 'coredns'),
    chartRange: rangeOf(await getOne(objects, OCIRepositoryKind, { namespace, name: KARPENTER_RELEASE })),
    nodeClasses: classes.map((one) => ({ ...readinessOf(one), aliases: aliasesOf(one) })),
    advised: [
      ...deployments.map((one) => toWorkload(one, 'Deployment')),
      ...statefulSets.map((one) => toWorkload(one, 'StatefulSet')),
    ].filter(({ name }) => ADVISED.test(name)),
    journal: kept?.journal,
    stateSuffixes: await stateSuffixesOf(objects),
  }
}

/** By the locks that Terraform makes beside its states: the states themselves hold secrets, and are not read. */
async function stateSuffixesOf(objects: Objects): Promise<ClusterSurvey['stateSuffixes']> {
  const locks = await listAll(objects, LeaseKind, { labelSelector: 'tfstate=true' })
  return locks.map((lock) => ({
    namespace: lock.metadata.namespace ?? '',
    suffix: labelOf(lock, 'tfstateSecretSuffix') ?? '',
  }))
}

async function mapRolesOf(objects: Objects): Promise<string | undefined> {
  const map = await objects.get<ConfigMap>(ConfigMapKind, { namespace: 'kube-system', name: 'aws-auth' })
  return map && (map.data?.['mapRoles'] ?? '')
}

const labelOf = ({ metadata }: UnknownObject, key: string): string | undefined => metadata.labels?.[key]

interface Deployment {
  readonly spec?: {
    readonly replicas?: number
    readonly template?: { readonly spec?: FoundWorkload['placement'] }
  }
  readonly status?: { readonly availableReplicas?: number }
}

function toDeployment(object: UnknownObject): FoundDeployment {
  const { spec, status } = object as Deployment
  const fluxOwner = fluxOwnerOf(object)
  return {
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name,
    version: labelOf(object, 'app.kubernetes.io/version')?.replace(/^v/, ''),
    replicas: spec?.replicas ?? 1,
    available: status?.availableReplicas ?? 0,
    ...(fluxOwner === undefined ? {} : { fluxOwner }),
  }
}

function fluxOwnerOf(object: UnknownObject): string | undefined {
  for (const [group, kind] of [
    ['helm', 'HelmRelease'],
    ['kustomize', 'Kustomization'],
  ]) {
    const name = labelOf(object, `${group}.toolkit.fluxcd.io/name`)
    if (name !== undefined) return `${kind} ${labelOf(object, `${group}.toolkit.fluxcd.io/namespace`) ?? ''}/${name}`
  }
  return undefined
}

function toWorkload(object: UnknownObject, kind: FoundWorkload['kind']): FoundWorkload {
  const { nodeSelector, affinity, tolerations } = (object as Deployment).spec?.template?.spec ?? {}
  const { namespace = '', name, ownerReferences = [] } = object.metadata
  const owner = ownerReferences.find(({ controller }) => controller)
  const writer = owner ? `${owner.kind} ${namespace}/${owner.name}` : fluxOwnerOf(object)
  return {
    namespace,
    name,
    kind,
    ...(writer === undefined ? {} : { writer }),
    placement: {
      ...(nodeSelector ? { nodeSelector } : {}),
      ...(affinity ? { affinity } : {}),
      ...(tolerations ? { tolerations } : {}),
    },
  }
}

function toNode(object: UnknownObject): PlacementNode {
  const { spec } = object as { spec?: { taints?: PlacementNode['taints'] } }
  return {
    name: object.metadata.name,
    labels: object.metadata.labels ?? {},
    ...(spec?.taints ? { taints: spec.taints } : {}),
  }
}

function fluxOf(deployments: readonly UnknownObject[]): ClusterSurvey['flux'] {
  const controllers = ['source-controller', 'helm-controller'].map((name) =>
    deployments.find(({ metadata }) => metadata.name === name),
  )
  const [source, helm] = controllers
  if (!source || !helm) return undefined
  const version = labelOf(helm, 'app.kubernetes.io/version')?.replace(/^v/, '')
  const isRunning = [source, helm].every((one) => toDeployment(one).available > 0)
  return { version: version && /^2\.\d+/.test(version) ? version : OLDEST_FLUX, isRunning }
}

function aliasesOf(object: UnknownObject): readonly string[] {
  const { spec } = object as { spec?: { amiSelectorTerms?: readonly { alias?: string }[] } }
  return (spec?.amiSelectorTerms ?? []).flatMap(({ alias }) => (alias ? [alias] : []))
}

interface Requirement {
  readonly key: string
  readonly values?: readonly string[]
}

function toPool(object: UnknownObject): FoundPool {
  const { template } = (object['spec'] ?? {}) as {
    template?: {
      metadata?: { labels?: Record<string, string> }
      spec?: { expireAfter?: string; requirements?: readonly Requirement[]; taints?: PlacementNode['taints'] }
    }
  }
  const valuesOf = (key: string) => template?.spec?.requirements?.find((one) => one.key === key)?.values ?? []
  return {
    ...readinessOf(object),
    expireAfter: template?.spec?.expireAfter,
    usesSpot: valuesOf('karpenter.sh/capacity-type').includes('spot'),
    instanceTypes: valuesOf('node.kubernetes.io/instance-type'),
    isRegistering: conditionOf(object, 'NodeRegistrationHealthy')?.status !== 'False',
    labels: template?.metadata?.labels ?? {},
    taints: template?.spec?.taints ?? [],
  }
}

function rangeOf(source: UnknownObject | undefined): string | undefined {
  const { ref } = (source?.['spec'] ?? {}) as { ref?: { semver?: string } }
  return ref?.semver
}
