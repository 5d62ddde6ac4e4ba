// The MachinePool of Cluster API as the embedded home serves it: the same group, names and fields, as far as capt and
// kubectl use them. Where core Cluster API is installed, its own definition is there instead.
import { CLUSTER_GROUP, conditions, s } from '#api'
import { contractRef, objectReference } from '../cluster/crd.ts'
import { AGE, column, toDefinition, toSchema } from '../definition.ts'

const count = (about: string) => s.integer({ about, minimum: 0 })

/** `ref`: how the version writes a reference. */
function specOf(ref: typeof contractRef | typeof objectReference) {
  const bootstrap = s.object(
    {
      configRef: ref('Object that makes the bootstrap data.') as ReturnType<typeof objectReference>,
      dataSecretName: s.string({ about: 'Secret with the bootstrap data.', maxLength: 253 }),
    },
    { about: 'How the nodes start.', minProperties: 1 },
  )
  const template = s.object(
    {
      clusterName: s.string({ about: 'Cluster of the nodes.', minLength: 1, maxLength: 63 }),
      bootstrap,
      infrastructureRef: ref('Object that makes the nodes.') as ReturnType<typeof objectReference>,
      version: s.string({ about: 'Kubernetes version of the nodes.', minLength: 1, maxLength: 256 }),
    },
    { about: 'What the nodes are like.', required: ['clusterName', 'bootstrap', 'infrastructureRef'] },
  )
  return s.object(
    {
      clusterName: s.string({ about: 'Cluster of the pool.', minLength: 1, maxLength: 63 }),
      replicas: s.integer({ about: 'Number of nodes.', minimum: 0, default: 1 }),
      template: s.object(
        { metadata: s.freeObject({ about: 'Labels and annotations.' }), spec: template },
        { about: 'The nodes.', required: ['spec'] },
      ),
      providerIDList: s.list(s.string({ maxLength: 512 }), { about: 'Provider ids of the nodes.' }),
    },
    { about: 'Desired state.', required: ['clusterName', 'template'] },
  )
}

const counts = {
  phase: s.string({ about: 'Pending, Provisioning, Running, ScalingUp, ScalingDown or Deleting.' }),
  observedGeneration: s.integer({ format: 'int64', about: 'Generation that was last looked at.' }),
  replicas: count('Nodes that there are.'),
  readyReplicas: count('Nodes that are ready.'),
  availableReplicas: count('Nodes that can be used.'),
} as const

const statusV1Beta2 = s.object(
  {
    ...counts,
    initialization: s.object(
      {
        infrastructureProvisioned: s.boolean({ about: 'The infrastructure was provisioned.' }),
        bootstrapDataSecretCreated: s.boolean({ about: 'There is bootstrap data.' }),
      },
      { about: 'First provisioning.' },
    ),
    conditions,
  },
  { about: 'Observed state.' },
)

const statusV1Beta1 = s.object(
  {
    ...counts,
    infrastructureReady: s.boolean({ about: 'The infrastructure was provisioned.' }),
    bootstrapReady: s.boolean({ about: 'There is bootstrap data.' }),
    v1beta2: s.freeObject({ about: 'Conditions of v1beta2.' }),
  },
  { about: 'Observed state.' },
)

const COLUMNS = [
  column('Cluster', '.spec.clusterName'),
  column('Desired', '.spec.replicas', 'integer'),
  column('Replicas', '.status.replicas', 'integer'),
  column('Phase', '.status.phase'),
  AGE,
  column('Version', '.spec.template.spec.version'),
]

export function machinePoolDefinition() {
  const about = 'A group of nodes that are scaled together, as Cluster API knows it.'
  const subresources = {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  }
  const shared = { subresources, columns: COLUMNS }
  return toDefinition({ group: CLUSTER_GROUP, kind: 'MachinePool', plural: 'machinepools', shortNames: ['mp'] }, [
    { name: 'v1beta2', ...shared, schema: toSchema(about, specOf(contractRef), statusV1Beta2) },
    { name: 'v1beta1', ...shared, schema: toSchema(about, specOf(objectReference), statusV1Beta1) },
  ])
}
