// The Cluster of Cluster API as the embedded home serves it: the same group, names and fields, as far as capt, kubectl
// and clusterctl describe use them. Where core Cluster API is installed, its own definition is there instead.
import { CLUSTER_GROUP, conditions, s } from '#api'
import { AGE, column, toDefinition, toSchema } from '../definition.ts'

const endpoint = s.object(
  { host: s.string({ about: 'Host name.', maxLength: 512 }), port: s.integer({ about: 'Port.' }) },
  { about: 'Where the API server answers.' },
)

const ranges = (about: string) =>
  s.object({ cidrBlocks: s.list(s.string(), { about: 'Address blocks.', maxItems: 100 }) }, { about })

const network = s.object(
  {
    apiServerPort: s.integer({ about: 'Port of the API server.' }),
    services: ranges('Addresses of Services.'),
    pods: ranges('Addresses of Pods.'),
    serviceDomain: s.string({ about: 'Domain of Services.', maxLength: 253 }),
  },
  { about: 'Network of the workload cluster.' },
)

const shared = {
  paused: s.boolean({ about: 'Stops all work on the cluster.' }),
  clusterNetwork: network,
  controlPlaneEndpoint: endpoint,
  topology: s.freeObject({ about: 'ClusterClass topology; needs core Cluster API.' }),
  availabilityGates: s.list(
    s.object(
      {
        conditionType: s.string({ about: 'Condition of the Cluster that counts for Available.', maxLength: 316 }),
        polarity: s.string({ about: 'Positive by default.', enum: ['Positive', 'Negative'] }),
      },
      { required: ['conditionType'] },
    ),
    { about: 'More conditions that Available depends on.', maxItems: 32, listType: 'map', mapKeys: ['conditionType'] },
  ),
} as const

const NO_TOPOLOGY = {
  rule: '!has(self.topology)',
  message: 'spec.topology needs core Cluster API with ClusterTopology; set infrastructureRef and controlPlaneRef here',
}

export const contractRef = (about: string) =>
  s.object(
    {
      apiGroup: s.string({ about: 'API group.', minLength: 1, maxLength: 253 }),
      kind: s.string({ about: 'Kind.', minLength: 1, maxLength: 63 }),
      name: s.string({ about: 'Name.', minLength: 1, maxLength: 253 }),
    },
    { required: ['apiGroup', 'kind', 'name'], about },
  )

export const objectReference = (about: string) =>
  s.object(
    {
      apiVersion: s.string({ about: 'API group and version.' }),
      kind: s.string({ about: 'Kind.' }),
      name: s.string({ about: 'Name.' }),
      namespace: s.string({ about: 'Namespace; always that of the Cluster.' }),
    },
    { about },
  )

const phase = s.string({ about: 'Pending, Provisioning, Provisioned, Deleting, Failed or Unknown.' })
const observedGeneration = s.integer({ format: 'int64', about: 'Generation that was last looked at.' })
const versions = s.list(s.object({ version: s.string({ about: 'Version.' }) }, { required: ['version'] }), {
  about: 'Versions that run.',
})

const v1beta2 = toSchema(
  'A cluster, as Cluster API knows it.',
  s.object(
    {
      ...shared,
      infrastructureRef: contractRef('Object that makes the infrastructure.'),
      controlPlaneRef: contractRef('Object that makes the control plane.'),
    },
    { about: 'Desired state.', rules: [NO_TOPOLOGY] },
  ),
  s.object(
    {
      phase,
      observedGeneration,
      initialization: s.object(
        {
          infrastructureProvisioned: s.boolean({ about: 'The infrastructure was provisioned once.' }),
          controlPlaneInitialized: s.boolean({ about: 'The control plane answered once.' }),
        },
        { about: 'First provisioning.' },
      ),
      controlPlane: s.object({ versions }, { about: 'The control plane.' }),
      workers: s.object({ versions }, { about: 'The workers.' }),
      deprecated: s.freeObject({ about: 'Fields that only v1beta1 has.' }),
      conditions,
    },
    { about: 'Observed state.' },
  ),
)

const v1beta1 = toSchema(
  'A cluster, as Cluster API knows it.',
  s.object(
    {
      ...shared,
      infrastructureRef: objectReference('Object that makes the infrastructure.'),
      controlPlaneRef: objectReference('Object that makes the control plane.'),
    },
    { about: 'Desired state.', rules: [NO_TOPOLOGY] },
  ),
  s.object(
    {
      phase,
      observedGeneration,
      infrastructureReady: s.boolean({ about: 'The infrastructure was provisioned once.' }),
      controlPlaneReady: s.boolean({ about: 'The control plane answered once.' }),
      failureReason: s.string({ about: 'Not written here.' }),
      failureMessage: s.string({ about: 'Not written here.' }),
      conditions: s.list(s.freeObject({ about: 'A condition of v1beta1.' }), { about: 'Conditions of v1beta1.' }),
      v1beta2: s.freeObject({ about: 'Conditions and counters of v1beta2.' }),
    },
    { about: 'Observed state.' },
  ),
)

const v1beta2Columns = [
  column('Available', '.status.conditions[?(@.type=="Available")].status'),
  column('Phase', '.status.phase'),
  AGE,
  column('Message', '.status.conditions[?(@.type=="Available")].message', 'string', { priority: 10 }),
]
const v1beta1Columns = [column('Phase', '.status.phase'), AGE]

export function clusterDefinition() {
  const names = { group: CLUSTER_GROUP, kind: 'Cluster', plural: 'clusters', shortNames: ['cl'] }
  const subresources = { status: {} }
  return toDefinition(names, [
    { name: 'v1beta2', subresources, schema: v1beta2, columns: v1beta2Columns },
    { name: 'v1beta1', subresources, schema: v1beta1, columns: v1beta1Columns },
  ])
}
