// The step that removes a chart: its HelmRelease, its source, the Secrets of its registry, and what the chart made.
import {
  type AnyObject,
  ConfigMapKind,
  DeploymentKind,
  type Key,
  type KindRef,
  kindRef,
  SecretKind,
  ServiceKind,
} from '#api'
import { FLUX_FINALIZER } from '#catalog'
import type { Objects } from '#kube'
import { HelmReleaseKind, HelmRepositoryKind, OCIRepositoryKind } from '../health/read.ts'
import { MANAGED_LABEL } from '../names.ts'
import { accessSecretNames } from '../stages/registry-access.ts'
import type { StepDraft } from '../stages/stage-type.ts'
import { isFluxAlive, one, things, toObserved } from './objects.ts'
import type { ObservedStep, Step, Thing } from './observed.ts'

/** What runs goes last: as long as one of these exists, the rest is listed. */
const WORKLOAD_KINDS = [DeploymentKind, kindRef('apps/v1', 'DaemonSet'), kindRef('apps/v1', 'StatefulSet')]

/** What charts make beside them. Listed only when nobody uninstalled a release; no volumes, whose data must stay. */
const CHART_KINDS = [
  // First: an admission webhook or an API without pods behind it blocks requests of others.
  kindRef('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', false),
  kindRef('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', false),
  kindRef('apiregistration.k8s.io/v1', 'APIService', false),
  ServiceKind,
  SecretKind,
  ConfigMapKind,
  kindRef('v1', 'ServiceAccount'),
  kindRef('autoscaling/v2', 'HorizontalPodAutoscaler'),
  kindRef('networking.k8s.io/v1', 'Ingress'),
  kindRef('networking.k8s.io/v1', 'NetworkPolicy'),
  kindRef('policy/v1', 'PodDisruptionBudget'),
  kindRef('rbac.authorization.k8s.io/v1', 'Role'),
  kindRef('rbac.authorization.k8s.io/v1', 'RoleBinding'),
  kindRef('rbac.authorization.k8s.io/v1', 'ClusterRole', false),
  kindRef('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', false),
  kindRef('monitoring.coreos.com/v1', 'ServiceMonitor'),
]

/** Of the release with this name; helm-controller uninstalls it. */
export const release = (key: Key): StepDraft => ({
  type: 'release',
  finalizers: [FLUX_FINALIZER],
  observe: (objects, step) => observeRelease(step, key, objects),
})

/** The HelmRelease, then its sources, then what the chart made: a dead helm-controller uninstalls nothing. */
async function observeRelease(step: Step, key: Key, objects: Objects): Promise<ObservedStep> {
  const kinds = [HelmReleaseKind, OCIRepositoryKind, HelmRepositoryKind]
  const left = [
    ...(await Promise.all(kinds.map((kind) => one(objects, kind, key)))).flat(),
    ...(await registrySecrets(objects, key)),
  ]
  // The source must outlive the release that was made from it.
  const first = left.filter((thing) => thing.kind === HelmReleaseKind)
  if (left.length > 0)
    return {
      step,
      left: first.length > 0 ? first : left,
      inUse: [],
      isControllerAlive: await isFluxAlive(objects),
    }
  const workloads = await madeByRelease(objects, key, WORKLOAD_KINDS)
  if (workloads.length === 0) return toObserved(step, [])
  const others = [...(await madeByRelease(objects, key, CHART_KINDS)), ...(await historyOf(objects, key))]
  return toObserved(step, others.length > 0 ? others : workloads)
}

/** What capt delivered for the registry of the chart. */
async function registrySecrets(objects: Objects, { namespace, name }: Key): Promise<readonly Thing[]> {
  const names = accessSecretNames(name)
  const isOne = ({ metadata }: AnyObject) => metadata.namespace === namespace && names.includes(metadata.name)
  return await things(objects, SecretKind, isOne, { labelSelector: `${MANAGED_LABEL}=true` })
}

/** Helm marks all of it. What the chart asks Helm to keep is kept. */
async function madeByRelease(objects: Objects, key: Key, kinds: readonly KindRef[]): Promise<readonly Thing[]> {
  const isOfRelease = ({ metadata: { annotations, labels, namespace } }: AnyObject) =>
    (annotations?.['meta.helm.sh/release-name'] ?? labels?.['app.kubernetes.io/instance']) === key.name &&
    (annotations?.['meta.helm.sh/release-namespace'] ?? namespace ?? key.namespace) === key.namespace &&
    annotations?.['helm.sh/resource-policy'] !== 'keep'
  const options = { labelSelector: 'app.kubernetes.io/managed-by=Helm' }
  return (await Promise.all(kinds.map((kind) => things(objects, kind, isOfRelease, options)))).flat()
}

/** Secrets in which Helm keeps its revisions. */
async function historyOf(objects: Objects, { namespace, name }: Key): Promise<readonly Thing[]> {
  const isOne = ({ metadata }: AnyObject) => metadata.namespace === namespace
  return await things(objects, SecretKind, isOne, { labelSelector: `owner=helm,name=${name}` })
}
