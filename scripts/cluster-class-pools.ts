// Pools of nodes in the ClusterClass `capt`: the class of a pool, its two templates, and the variables that a topology sets
// for all pools or, by overrides, for one.
import type { Manifest, Schema } from './cluster-class.ts'

const NAME = 'capt'
/** The class of a pool, as `topology.workers.machinePools[].class` names it. */
export const NODE_POOL_CLASS = 'node-group'
const INFRA = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1', kind: 'CAPTMachinePoolTemplate' }
const BOOTSTRAP = { apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1', kind: 'CAPTBootstrapConfigTemplate' }

/** The entry of a class of workers, all of which start with the same bootstrap data. */
export const workersOf = (name: string, infra: object) => [
  {
    class: name,
    template: {
      bootstrap: { ref: { ...BOOTSTRAP, name: NAME } },
      infrastructure: { ref: { ...infra, name: NAME } },
    },
  },
]

export const NODE_POOL_WORKERS = workersOf(NODE_POOL_CLASS, INFRA)

export function nodePoolTemplates(): Manifest[] {
  const metadata = { name: NAME }
  return [
    { ...INFRA, metadata, spec: { template: { spec: { workspaceTemplateRef: { name: 'node-group' } } } } },
    { ...BOOTSTRAP, metadata, spec: { template: { spec: {} } } },
  ]
}

const text = { type: 'string' }

export const NODE_POOL_VARIABLES: Readonly<Record<string, Schema>> = {
  nodeGroupTemplate: {
    description: 'WorkspaceTemplate that makes the node groups.',
    type: 'string',
    minLength: 1,
    maxLength: 253,
    default: 'node-group',
  },
  instanceTypes: {
    description: 'Instance types of the nodes, in order of preference.',
    type: 'array',
    minItems: 1,
    items: { type: 'string', pattern: '^[a-z][a-z0-9-]*\\.[a-z0-9-]+$' },
  },
  amiType: { description: 'Kind of image of the nodes.', ...text },
  capacityType: { description: 'On-demand or Spot instances.', ...text, enum: ['ON_DEMAND', 'SPOT'] },
  diskSize: { description: 'Size of the disk of each node in GiB.', type: 'integer', minimum: 1, maximum: 16384 },
  nodeScaling: {
    description: 'Bounds between which a node group may be scaled; exactly the replicas of the pool when left out.',
    type: 'object',
    properties: { minSize: { type: 'integer', minimum: 0 }, maxSize: { type: 'integer', minimum: 1 } },
  },
  nodeLabels: { description: 'Labels of the nodes.', type: 'object', additionalProperties: text },
  nodeTaints: {
    description: 'Taints of the nodes.',
    type: 'array',
    items: {
      type: 'object',
      required: ['key', 'effect'],
      properties: {
        key: text,
        value: text,
        effect: { ...text, enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
      },
    },
  },
  nodeUpdate: {
    description: 'How many nodes of a group may be replaced at the same time, as a number or in percent.',
    type: 'object',
    properties: {
      maxUnavailable: { type: 'integer', minimum: 1, maximum: 100 },
      maxUnavailablePercentage: { type: 'integer', minimum: 1, maximum: 100 },
    },
  },
}

const onPools = (jsonPatches: readonly object[]) => [
  {
    selector: { ...INFRA, matchResources: { machinePoolClass: { names: [NODE_POOL_CLASS] } } },
    jsonPatches,
  },
]
const at = (path: string): string => `/spec/template/spec/${path}`

/** Field of a CAPTMachinePool by the variable that sets it. */
const FIELDS: Readonly<Record<string, string>> = {
  instanceTypes: 'instanceTypes',
  amiType: 'amiType',
  capacityType: 'capacityType',
  diskSize: 'diskSize',
  nodeScaling: 'scaling',
  nodeLabels: 'labels',
  nodeTaints: 'taints',
  nodeUpdate: 'updateConfig',
}

export const NODE_POOL_PATCHES = [
  {
    name: 'node-pools',
    description: 'Template and tags of the node groups.',
    definitions: onPools([
      { op: 'replace', path: at('workspaceTemplateRef/name'), valueFrom: { variable: 'nodeGroupTemplate' } },
      { op: 'add', path: at('additionalTags'), valueFrom: { variable: 'tags' } },
    ]),
  },
  ...Object.entries(FIELDS).map(([variable, field]) => ({
    name: `node-pools-${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    description: `The field ${field} of the node groups.`,
    enabledIf: `{{ if .${variable} }}true{{ end }}`,
    definitions: onPools([{ op: 'add', path: at(field), valueFrom: { variable } }]),
  })),
]
