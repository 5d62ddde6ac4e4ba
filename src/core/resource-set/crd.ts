// ClusterResourceSet and its Binding as the embedded home serves them: the same group, names, fields and limits as
// core Cluster API, in both versions. Where core is installed, its own definitions are there instead.
import { conditions, s } from '#api'
import { AGE, toDefinition, toSchema } from '../definition.ts'

const ADDONS_GROUP = 'addons.cluster.x-k8s.io'

const selector = s.object(
  {
    matchLabels: s.map(s.string(), { about: 'Labels that a Cluster must carry.' }),
    matchExpressions: s.list(
      s.object(
        {
          key: s.string({ about: 'Label key.' }),
          operator: s.string({ about: 'In, NotIn, Exists or DoesNotExist.' }),
          values: s.list(s.string(), { about: 'Values to compare with.' }),
        },
        { required: ['key', 'operator'] },
      ),
      { about: 'Further conditions on labels.' },
    ),
  },
  {
    about: 'Clusters to apply to. An empty selector selects nothing.',
    rules: [
      {
        rule: '(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)',
        message: 'selector must not be empty',
      },
      { rule: 'self == oldSelf', message: 'field is immutable' },
    ],
  },
)

const resourceRef = s.object(
  {
    kind: s.string({ enum: ['Secret', 'ConfigMap'], about: 'Secret or ConfigMap.' }),
    name: s.string({ about: 'Name, in the namespace of the set.', minLength: 1, maxLength: 253 }),
  },
  { required: ['kind', 'name'] },
)

const setSpec = (bounds: { readonly minItems?: number; readonly maxItems?: number }, isRequired: boolean) =>
  s.object(
    {
      clusterSelector: selector,
      resources: s.list(resourceRef, { about: 'What to apply, in order.', ...bounds }),
      strategy: s.string({
        enum: ['ApplyOnce', 'Reconcile'],
        default: 'ApplyOnce',
        about: 'ApplyOnce creates; Reconcile applies again whenever the source changes.',
        rules: [{ rule: 'self == oldSelf', message: 'field is immutable' }],
      }),
    },
    { about: 'Desired state.', required: isRequired ? ['clusterSelector', 'resources'] : ['clusterSelector'] },
  )

const observedGeneration = s.integer({ format: 'int64', about: 'Generation that was last looked at.' })
const oldConditions = s.list(s.freeObject({ about: 'A condition of v1beta1.' }), { about: 'Conditions of v1beta1.' })

const bindingResource = (isRequired: boolean) =>
  s.object(
    {
      kind: s.string({ enum: ['Secret', 'ConfigMap'], about: 'Secret or ConfigMap.' }),
      name: s.string({ about: 'Name of the source.', minLength: 1, maxLength: 253 }),
      hash: s.string({ about: 'Hash of what was applied last.', maxLength: 256 }),
      lastAppliedTime: s.time({ about: 'When it was last tried.' }),
      applied: s.boolean({ about: 'Whether every object of it was accepted.' }),
    },
    { required: isRequired ? ['kind', 'name', 'applied'] : ['kind', 'name'] },
  )

const bindingSpec = (isRequired: boolean) =>
  s.object(
    {
      bindings: s.list(
        s.object(
          {
            clusterResourceSetName: s.string({ about: 'Name of the set.', minLength: 1, maxLength: 253 }),
            resources: s.list(bindingResource(isRequired), { about: 'What the set brought.', maxItems: 100 }),
          },
          { required: ['clusterResourceSetName'] },
        ),
        { about: 'One entry per set.', maxItems: 100 },
      ),
      clusterName: s.string({ about: 'Cluster that this binding is about.', maxLength: 63 }),
    },
    { about: 'What was applied to the cluster.', required: isRequired ? ['clusterName'] : [] },
  )

export function resourceSetDefinitions() {
  const about = 'Applies ConfigMaps and Secrets to the Clusters that its selector finds.'
  const bindingAbout = 'What ClusterResourceSets applied to one Cluster. Written by the controller alone.'
  const deprecated = s.freeObject({ about: 'Fields that only v1beta1 has.' })
  const found = { about: 'Observed state.' }
  const status = s.object({ observedGeneration, deprecated, conditions }, found)
  const oldStatus = s.object({ observedGeneration, conditions: oldConditions, v1beta2: deprecated }, found)
  const [v1beta2, v1beta1] = [
    { name: 'v1beta2', columns: [AGE] },
    { name: 'v1beta1', columns: [AGE], deprecated: true },
  ] as const
  const subresources = { status: {} }
  return [
    toDefinition({ group: ADDONS_GROUP, kind: 'ClusterResourceSet', plural: 'clusterresourcesets' }, [
      { ...v1beta2, subresources, schema: toSchema(about, setSpec({ minItems: 1, maxItems: 100 }, true), status) },
      { ...v1beta1, subresources, schema: toSchema(about, setSpec({}, false), oldStatus) },
    ]),
    toDefinition({ group: ADDONS_GROUP, kind: 'ClusterResourceSetBinding', plural: 'clusterresourcesetbindings' }, [
      { ...v1beta2, schema: toSchema(bindingAbout, bindingSpec(true)) },
      { ...v1beta1, schema: toSchema(bindingAbout, bindingSpec(false)) },
    ]),
  ]
}
