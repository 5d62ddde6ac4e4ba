// ClusterResourceSet and its Binding as the embedded home serves them: the same group, names, fields and limits as
// core Cluster API, in both versions. Where core is installed, its own definitions are there instead.
import { type AnyObject, conditions, type JsonSchema, s } from '#api'

export const ADDONS_GROUP = 'addons.cluster.x-k8s.io'

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
    { about: 'What is wanted.', required: isRequired ? ['clusterSelector', 'resources'] : ['clusterSelector'] },
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

function toSchema(
  about: string,
  spec: { readonly schema: JsonSchema },
  status?: { readonly schema: JsonSchema },
): JsonSchema {
  return {
    type: 'object',
    description: about,
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: spec.schema,
      ...(status ? { status: status.schema } : {}),
    },
  }
}

const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

interface ResourceSetDefinition extends AnyObject {
  readonly spec: Readonly<Record<string, unknown>>
}

function definition(kind: string, plural: string, versions: readonly object[]): ResourceSetDefinition {
  const singular = kind.toLowerCase()
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${ADDONS_GROUP}`,
      labels: { 'cluster.x-k8s.io/provider': 'capt-embedded', 'clusterctl.cluster.x-k8s.io': '' },
    },
    spec: {
      group: ADDONS_GROUP,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular, categories: ['cluster-api'] },
      versions,
    },
  }
}

export function resourceSetDefinitions(): readonly ResourceSetDefinition[] {
  const about = 'Applies ConfigMaps and Secrets to the Clusters that its selector finds.'
  const deprecated = s.freeObject({ about: 'Fields that only v1beta1 has.' })
  const set = (name: string, schema: JsonSchema, storage: boolean) => ({
    name,
    served: true,
    storage,
    ...(name === 'v1beta1' ? { deprecated: true } : {}),
    subresources: { status: {} },
    additionalPrinterColumns: [age],
    schema: { openAPIV3Schema: schema },
  })
  const binding = (name: string, schema: JsonSchema, storage: boolean) => {
    const { subresources: _none, ...rest } = set(name, schema, storage)
    return rest
  }
  const bindingAbout = 'What ClusterResourceSets applied to one Cluster. Written by the controller alone.'
  return [
    definition('ClusterResourceSet', 'clusterresourcesets', [
      set(
        'v1beta2',
        toSchema(
          about,
          setSpec({ minItems: 1, maxItems: 100 }, true),
          s.object({ observedGeneration, deprecated, conditions }, { about: 'What was found.' }),
        ),
        true,
      ),
      set(
        'v1beta1',
        toSchema(
          about,
          setSpec({}, false),
          s.object(
            { observedGeneration, conditions: oldConditions, v1beta2: deprecated },
            { about: 'What was found.' },
          ),
        ),
        false,
      ),
    ]),
    definition('ClusterResourceSetBinding', 'clusterresourcesetbindings', [
      binding('v1beta2', toSchema(bindingAbout, bindingSpec(true)), true),
      binding('v1beta1', toSchema(bindingAbout, bindingSpec(false)), false),
    ]),
  ]
}
