// What "Flux works" means, in levels: CRDs, Deployments, the artifact service, and a source that was really fetched.
import type { AddonStage } from '#api'
import { FLUX_FINALIZER } from '#catalog'
import { parseDuration } from '#lib'
import type { Check } from '../../health/read.ts'
import type { Manifest } from '../../manifests/manifests.ts'
import { FLUX_NAMESPACE, MANAGED_LABEL } from '../../names.ts'
import { accessFields } from '../registry-access.ts'
import type { ChartProbe } from '../render/rendered.ts'

type FluxSpec = NonNullable<AddonStage['flux']>

const FLUX_DEFINITIONS = [
  'helmreleases.helm.toolkit.fluxcd.io',
  'helmcharts.source.toolkit.fluxcd.io',
  'helmrepositories.source.toolkit.fluxcd.io',
  'ocirepositories.source.toolkit.fluxcd.io',
] as const

export function fluxChecks(): readonly Check[] {
  return [
    ...FLUX_DEFINITIONS.map((name): Check => ({ type: 'CRDEstablished', name })),
    { type: 'DeploymentAvailable', name: 'source-controller', namespace: FLUX_NAMESPACE },
    { type: 'DeploymentAvailable', name: 'helm-controller', namespace: FLUX_NAMESPACE },
    { type: 'ServiceHasEndpoints', name: 'source-controller', namespace: FLUX_NAMESPACE },
  ]
}

export const PROBE = 'capt-probe'

/** A source of its own, so that "Flux can reach the registry" is known before anything depends on it. */
export function renderProbe(probe: ChartProbe): readonly Manifest[] {
  return [
    {
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: 'OCIRepository',
      metadata: {
        name: PROBE,
        namespace: FLUX_NAMESPACE,
        labels: { [MANAGED_LABEL]: 'true' },
        finalizers: [FLUX_FINALIZER],
      },
      spec: { interval: '1h', url: probe.url, ref: { tag: probe.tag }, ...accessFields(probe.access, PROBE) },
    },
  ]
}

export const READINESS_JOB = 'fluxcd-readiness-check'

/** The readiness Job of the older proposal with rights, a deadline and a selector that matches. */
export function renderReadinessJob(
  job: NonNullable<FluxSpec['readinessJob']>,
  tolerations: FluxSpec['tolerations'],
): readonly Manifest[] {
  const seconds = Math.max(1, Math.ceil(parseDuration(job.deadline) / 1000))
  const metadata = { name: READINESS_JOB, namespace: FLUX_NAMESPACE, labels: { [MANAGED_LABEL]: 'true' } }
  const rbac = 'rbac.authorization.k8s.io'
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list', 'watch'] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: READINESS_JOB },
      subjects: [{ kind: 'ServiceAccount', name: READINESS_JOB, namespace: FLUX_NAMESPACE }],
    },
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata,
      spec: {
        backoffLimit: 2,
        activeDeadlineSeconds: seconds + 60,
        template: {
          metadata: { labels: { app: READINESS_JOB } },
          spec: {
            restartPolicy: 'Never',
            serviceAccountName: READINESS_JOB,
            ...(tolerations?.length ? { tolerations } : {}),
            containers: [
              {
                name: 'kubectl',
                image: job.image,
                args: [
                  'wait',
                  'deployment',
                  `--namespace=${FLUX_NAMESPACE}`,
                  '--selector=app.kubernetes.io/part-of=flux',
                  '--for=condition=Available',
                  `--timeout=${seconds}s`,
                ],
                securityContext: {
                  allowPrivilegeEscalation: false,
                  capabilities: { drop: ['ALL'] },
                  runAsNonRoot: true,
                  runAsUser: 65532,
                  seccompProfile: { type: 'RuntimeDefault' },
                },
              },
            ],
          },
        },
      },
    },
  ]
}
