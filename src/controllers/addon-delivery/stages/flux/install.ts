// Flux as capt delivers it: source-controller and helm-controller of one release, nothing else. The CRDs come from the
// catalogue; everything around them is written here. Rendering is pure and stable: same options, same text.
import { type FluxRelease, fluxRelease } from '#catalog'
import type { JsonObject } from '#lib'
import type { Manifest } from '../../manifests/manifests.ts'
import { FLUX_NAMESPACE, MANAGED_LABEL } from '../../names.ts'
import { FLUX_CONTROLLERS, type FluxController, fluxQuota, fluxRbac, inFlux } from './rbac.ts'

interface FluxOptions {
  readonly networkPolicy: boolean
  readonly tolerations?: readonly JsonObject[] | undefined
  readonly imageRegistry?: string | undefined
  readonly imageDigests?: Readonly<Record<string, string>> | undefined
}

const DEFAULT_REGISTRY = 'ghcr.io/fluxcd'

export function renderFlux(
  version: string,
  definitions: readonly JsonObject[],
  options: FluxOptions,
): readonly Manifest[] {
  const release = fluxRelease(version)
  const labels = {
    'app.kubernetes.io/instance': FLUX_NAMESPACE,
    'app.kubernetes.io/part-of': 'flux',
    'app.kubernetes.io/version': `v${version}`,
    [MANAGED_LABEL]: 'true',
  }
  const objects = [
    namespace(),
    ...definitions.map((one) => one as unknown as Manifest),
    fluxQuota(),
    ...FLUX_CONTROLLERS.map(serviceAccount),
    ...fluxRbac(),
    sourceService(),
    ...FLUX_CONTROLLERS.map((name) => deployment(name, release, labels, options)),
    ...(options.networkPolicy ? networkPolicies() : []),
  ]
  return objects.map((object) => withLabels(object, { ...componentLabel(object), ...labels }))
}

function withLabels(object: Manifest, labels: Readonly<Record<string, string>>): Manifest {
  const own = (object.metadata['labels'] ?? {}) as JsonObject
  return { ...object, metadata: { ...object.metadata, labels: { ...labels, ...own } } }
}

function componentLabel(object: Manifest): Record<string, string> {
  const { name } = object.metadata
  const component = name.endsWith('.helm.toolkit.fluxcd.io')
    ? 'helm-controller'
    : name.endsWith('.source.toolkit.fluxcd.io')
      ? 'source-controller'
      : FLUX_CONTROLLERS.find((controller) => controller === name)
  return component ? { 'app.kubernetes.io/component': component } : {}
}

function namespace(): Manifest {
  const labels = {
    'pod-security.kubernetes.io/warn': 'restricted',
    'pod-security.kubernetes.io/warn-version': 'latest',
  }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: FLUX_NAMESPACE, labels } }
}

function serviceAccount(name: FluxController): Manifest {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: inFlux(name) }
}

/** helm-controller downloads charts from here. */
function sourceService(): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: inFlux('source-controller'),
    spec: {
      type: 'ClusterIP',
      selector: { app: 'source-controller' },
      ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 'http' }],
    },
  }
}

const VOLUMES: Record<FluxController, readonly { readonly name: string; readonly path: string }[]> = {
  'source-controller': [
    { name: 'data', path: '/data' },
    { name: 'tmp', path: '/tmp' },
  ],
  'helm-controller': [{ name: 'temp', path: '/tmp' }],
}

function deployment(
  name: FluxController,
  release: FluxRelease,
  labels: Record<string, string>,
  options: FluxOptions,
): Manifest {
  const isSource = name === 'source-controller'
  const volumes = VOLUMES[name]
  const container = {
    name: 'manager',
    image: imageOf(name, release, options),
    imagePullPolicy: 'IfNotPresent',
    // Without notification-controller there is nobody to send events to: --events-addr stays empty.
    args: [
      '--events-addr=',
      '--watch-all-namespaces=true',
      '--log-level=info',
      '--log-encoding=json',
      '--enable-leader-election',
      ...(isSource
        ? ['--storage-path=/data', '--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.cluster.local.']
        : []),
    ],
    env: [
      { name: 'RUNTIME_NAMESPACE', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } } },
      {
        name: 'GOMEMLIMIT',
        valueFrom: { resourceFieldRef: { containerName: 'manager', resource: 'limits.memory', divisor: '0' } },
      },
      ...(isSource ? [{ name: 'TUF_ROOT', value: '/tmp/.sigstore' }] : []),
    ],
    ports: [
      ...(isSource ? [{ name: 'http', containerPort: 9090, protocol: 'TCP' }] : []),
      { name: 'http-prom', containerPort: 8080, protocol: 'TCP' },
      { name: 'healthz', containerPort: 9440, protocol: 'TCP' },
    ],
    livenessProbe: { httpGet: { path: '/healthz', port: 'healthz' } },
    readinessProbe: { httpGet: isSource ? { path: '/', port: 'http' } : { path: '/readyz', port: 'healthz' } },
    resources: { requests: { cpu: isSource ? '50m' : '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '1Gi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    volumeMounts: volumes.map((volume) => ({ name: volume.name, mountPath: volume.path })),
  }
  const podLabels = { app: name, 'app.kubernetes.io/component': name, ...labels }
  const annotations = { 'prometheus.io/port': '8080', 'prometheus.io/scrape': 'true' }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...inFlux(name), labels: { 'control-plane': 'controller' } },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      ...(isSource ? { strategy: { type: 'Recreate' } } : {}),
      template: {
        metadata: { labels: podLabels, annotations },
        spec: {
          serviceAccountName: name,
          priorityClassName: 'system-cluster-critical',
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          terminationGracePeriodSeconds: isSource ? 10 : 600,
          ...(isSource ? { securityContext: { fsGroup: 1337 } } : {}),
          ...(options.tolerations?.length ? { tolerations: options.tolerations } : {}),
          containers: [container],
          volumes: volumes.map((volume) => ({ name: volume.name, emptyDir: {} })),
        },
      },
    },
  }
}

function imageOf(name: FluxController, release: FluxRelease, options: FluxOptions): string {
  const version = name === 'source-controller' ? release.sourceController : release.helmController
  const digest = options.imageDigests?.[name]
  return `${options.imageRegistry ?? DEFAULT_REGISTRY}/${name}:v${version}${digest ? `@${digest}` : ''}`
}

/** Inside the namespace everything, from outside only the metrics port; out to anywhere. */
function networkPolicies(): readonly Manifest[] {
  const policy = (name: string, spec: JsonObject): Manifest => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: inFlux(name),
    spec: { podSelector: {}, ...spec },
  })
  return [
    policy('allow-egress', {
      policyTypes: ['Ingress', 'Egress'],
      egress: [{}],
      ingress: [{ from: [{ podSelector: {} }] }],
    }),
    policy('allow-scraping', {
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ namespaceSelector: {} }], ports: [{ port: 8080, protocol: 'TCP' }] }],
    }),
  ]
}
