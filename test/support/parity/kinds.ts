// Every built-in kind that is served: made without being kept, so that no controller touches it; shown as rows; and the
// parts that some kinds have besides themselves (status, scale, eviction, binding).
import { MERGE, STRATEGIC, TABLE } from '#testing'
import { CORE, DEPLOYMENTS, NAMESPACE, PODS } from './names.ts'
import { drop, get, patch, post, put, type Step, settle } from './step.ts'

const containers = [{ name: 'c', image: 'busybox' }]
const template = { metadata: { labels: { app: 'x' } }, spec: { containers } }
const selector = { matchLabels: { app: 'x' } }
const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' }
const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'me' }]
const webhook = {
  name: 'a.example.com',
  clientConfig: { url: 'https://example.com/hook' },
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
}
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const involvedObject = { kind: 'ConfigMap', namespace: NAMESPACE, name: 'a' }

/** Address, and what is sent besides the name. */
const MADE: readonly (readonly [string, object])[] = [
  ['v1/serviceaccounts', {}],
  ['v1/secrets', { type: 'kubernetes.io/basic-auth', stringData: { username: 'u' } }],
  ['v1/configmaps', { binaryData: { b: 'AAEC' }, immutable: true }],
  ['v1/pods', { spec: { containers } }],
  ['v1/services', { spec: { ports: [{ port: 80 }], selector: { app: 'x' } } }],
  ['v1/endpoints', { subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }] }],
  ['v1/persistentvolumeclaims', { spec: claim }],
  ['v1/resourcequotas', { spec: { hard: { pods: '10' } } }],
  ['v1/limitranges', { spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] } }],
  ['v1/replicationcontrollers', { spec: { selector: { app: 'x' }, template } }],
  ['v1/podtemplates', { template }],
  ['v1/events', { involvedObject, reason: 'Tried', message: 'words', type: 'Normal' }],
  [
    'events.k8s.io/v1/events',
    {
      eventTime: '2024-01-01T00:00:00.000000Z',
      reportingController: 'example.com/c',
      reportingInstance: 'i',
      action: 'Try',
      reason: 'Tried',
      type: 'Normal',
      regarding: involvedObject,
      note: 'words',
    },
  ],
  ['coordination.k8s.io/v1/leases', { spec: { holderIdentity: 'me', leaseDurationSeconds: 5, leaseTransitions: 1 } }],
  ['apps/v1/deployments', { spec: { selector, template } }],
  ['apps/v1/replicasets', { spec: { selector, template } }],
  ['apps/v1/statefulsets', { spec: { selector, template, serviceName: 'x' } }],
  ['apps/v1/daemonsets', { spec: { selector, template } }],
  ['apps/v1/controllerrevisions', { revision: 1, data: { a: 1 } }],
  ['batch/v1/jobs', { spec: { template: { spec: { containers, restartPolicy: 'Never' } } } }],
  [
    'batch/v1/cronjobs',
    {
      spec: {
        schedule: '* * * * *',
        jobTemplate: { spec: { template: { spec: { containers, restartPolicy: 'Never' } } } },
      },
    },
  ],
  [
    'autoscaling/v2/horizontalpodautoscalers',
    { spec: { scaleTargetRef: { kind: 'Deployment', name: 'x', apiVersion: 'apps/v1' }, maxReplicas: 3 } },
  ],
  ['networking.k8s.io/v1/networkpolicies', { spec: { podSelector: {}, policyTypes: ['Ingress'] } }],
  ['networking.k8s.io/v1/ingresses', { spec: { defaultBackend: { service: { name: 'x', port: { number: 80 } } } } }],
  ['networking.k8s.io/v1/ingressclasses', { spec: { controller: 'example.com/c' } }],
  ['policy/v1/poddisruptionbudgets', { spec: { minAvailable: 1, selector } }],
  ['discovery.k8s.io/v1/endpointslices', { addressType: 'IPv4', endpoints: [{ addresses: ['192.0.2.1'] }] }],
  ['storage.k8s.io/v1/storageclasses', { provisioner: 'example.com/p' }],
  ['storage.k8s.io/v1/csidrivers', { spec: {} }],
  ['storage.k8s.io/v1/csinodes', { spec: { drivers: [] } }],
  [
    'storage.k8s.io/v1/volumeattachments',
    { spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'p' } } },
  ],
  ['scheduling.k8s.io/v1/priorityclasses', { value: 5 }],
  ['rbac.authorization.k8s.io/v1/roles', { rules }],
  ['rbac.authorization.k8s.io/v1/rolebindings', { roleRef, subjects }],
  ['rbac.authorization.k8s.io/v1/clusterroles', { rules }],
  ['rbac.authorization.k8s.io/v1/clusterrolebindings', { roleRef, subjects }],
  ['admissionregistration.k8s.io/v1/validatingwebhookconfigurations', { webhooks: [webhook] }],
  ['admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', { webhooks: [webhook] }],
  ['v1/nodes', { spec: { podCIDR: '10.1.0.0/24' } }],
  [
    'v1/persistentvolumes',
    { spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } } },
  ],
]

const CLUSTER_WIDE = /nodes|persistentvolumes$|class|csidrivers|csinodes|volumeattachments|clusterrole|webhook/

function addressOf(resource: string): string {
  const [plural = '', version = '', group] = resource.split('/').reverse()
  const base = group ? `/apis/${group}/${version}` : `/api/${version}`
  return CLUSTER_WIDE.test(plural) ? `${base}/${plural}` : `${base}/namespaces/${NAMESPACE}/${plural}`
}

const made = MADE.map(([resource, body]) =>
  post(`${resource}, with its defaults`, `${addressOf(resource)}?dryRun=All`, { metadata: { name: 'x' }, ...body }),
)
const rows = MADE.map(([resource]): Step => {
  const narrow: Step['narrow'] = (a, b) => [columns(a), columns(b)]
  return { ...get(`${resource}, its columns`, addressOf(resource)), accept: TABLE, narrow }
})

function columns({ code, body }: { readonly [field: string]: unknown }): unknown {
  const { columnDefinitions } = body as { columnDefinitions?: readonly Readonly<Record<string, unknown>>[] }
  return { code, columns: columnDefinitions?.map(({ description: _, ...rest }) => rest) }
}

const SCALE = `${DEPLOYMENTS}/web/scale`
const POD = `${PODS}/lone`

export const BUILTINS: readonly Step[] = [
  {
    ...settle('the account that Pods run under', `${CORE}/serviceaccounts/default`, ({ code }) => code === 200),
    realOnly: true,
  },
  ...made,
  ...rows,
  post('a Deployment', DEPLOYMENTS, { metadata: { name: 'web' }, spec: { selector, template } }),
  get('its scale', SCALE),
  put('its scale', SCALE, { metadata: { name: 'web', namespace: NAMESPACE }, spec: { replicas: 3 } }),
  patch('its scale a little', SCALE, { spec: { replicas: 2 } }),
  patch('its scale below zero', SCALE, { spec: { replicas: -1 } }),
  patch('its status', `${DEPLOYMENTS}/web/status`, { status: { replicas: 2, readyReplicas: 1 } }),
  patch('its status beside the spec', `${DEPLOYMENTS}/web/status`, { spec: { replicas: 9 } }),
  patch(
    'its containers, by name',
    `${DEPLOYMENTS}/web`,
    {
      spec: {
        template: {
          spec: {
            containers: [
              { name: 'c', image: 'other' },
              { name: 'd', image: 'x' },
            ],
          },
        },
      },
    },
    STRATEGIC,
  ),
  patch(
    'a container away',
    `${DEPLOYMENTS}/web`,
    { spec: { template: { spec: { containers: [{ name: 'd', $patch: 'delete' }] } } } },
    STRATEGIC,
  ),
  patch('its selector', `${DEPLOYMENTS}/web`, { spec: { selector: { matchLabels: { app: 'y' } } } }),
  post('a selector that does not fit', DEPLOYMENTS, {
    metadata: { name: 'bad' },
    spec: { selector: { matchLabels: { a: 'b' } }, template },
  }),
  post('no selector', DEPLOYMENTS, { metadata: { name: 'bad' }, spec: { template } }),
  { ...get('its row', `${DEPLOYMENTS}/web`), accept: TABLE },
  drop('a Deployment', `${DEPLOYMENTS}/web?propagationPolicy=Background`),
  post('a Pod', PODS, { metadata: { name: 'lone', labels: { app: 'lone' } }, spec: { containers } }),
  patch('the place of a Pod', `${POD}?dryRun=All`, { spec: { nodeName: 'n1' } }),
  post('its place, by binding', `${POD}/binding`, { metadata: { name: 'lone' }, target: { kind: 'Node', name: 'n1' } }),
  post('its place, twice', `${POD}/binding`, { metadata: { name: 'lone' }, target: { kind: 'Node', name: 'n2' } }),
  patch('the status of a Pod', `${POD}/status`, { status: { phase: 'Running', podIP: '192.0.2.9' } }),
  get('Pods by node', `${PODS}?fieldSelector=spec.nodeName%3Dn1,status.phase%3DRunning`),
  patch('the image of a Pod', POD, { spec: { containers: [{ name: 'c', image: 'other' }] } }, STRATEGIC),
  patch('the restarts of a Pod', `${POD}?dryRun=All`, { spec: { restartPolicy: 'Never' } }, MERGE),
  { ...get('the row of a Pod', POD), accept: TABLE },
  post('its eviction, without doing it', `${POD}/eviction?dryRun=All`, { metadata: { name: 'lone' } }),
  drop('a Pod at once', `${POD}?gracePeriodSeconds=0`),
  get('no Pod', POD),
  post('a Pod without containers', PODS, { metadata: { name: 'none' }, spec: { containers: [] } }),
  post('a Service without ports', `${CORE}/services`, { metadata: { name: 'none' }, spec: {} }),
  put('a Lease that is not there', `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/new`, {
    metadata: { name: 'new' },
    spec: { holderIdentity: 'me' },
  }),
  put('an Event that is not there', `${CORE}/events/new`, {
    metadata: { name: 'new', namespace: NAMESPACE },
    involvedObject,
    reason: 'R',
    message: 'm',
    type: 'Normal',
  }),
  get('Events by what they are about', `${CORE}/events?fieldSelector=involvedObject.name%3Da,reason%3DR`),
  get('the same by the newer address', `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events/new`),
  post('an Event about another namespace', `${CORE}/events`, {
    metadata: { name: 'e2' },
    involvedObject: { ...involvedObject, namespace: 'other' },
  }),
  post('a newer Event without its time', `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`, {
    metadata: { name: 'e3' },
    regarding: involvedObject,
  }),
  drop('a Lease', `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/new`),
  drop('an Event', `${CORE}/events/new`),
  post('a Role without rules', `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles`, {
    metadata: { name: 'system:x' },
  }),
  drop('a Role with a colon', `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles/system:x`),
]
