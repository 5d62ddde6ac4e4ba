// Machines in the ClusterClass `capt`: the class of a MachineDeployment, the template of its CAPTMachines, and the variables
// that a topology sets for all of them or, by overrides, for one. The bootstrap data comes from the template of the pools.
import type { Manifest, Schema } from './cluster-class.ts'
import { workersOf } from './cluster-class-pools.ts'

const NAME = 'capt'
/** The class of a MachineDeployment, as `topology.workers.machineDeployments[].class` names it. */
const MACHINE_CLASS = 'machine'
const INFRA = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1', kind: 'CAPTMachineTemplate' }

export const MACHINE_WORKERS = workersOf(MACHINE_CLASS, INFRA)

/** Patches set every field of it. */
export function machineTemplates(): Manifest[] {
  const spec = {
    workspaceTemplateRef: { name: 'machine' },
    instanceType: 'm7i.large',
    nodeGroupRef: { name: 'eks-controlplane' },
  }
  return [{ ...INFRA, metadata: { name: NAME }, spec: { template: { spec } } }]
}

const idsOf = (prefix: string, maxItems: number) => ({
  type: 'array',
  minItems: 1,
  maxItems,
  items: { type: 'string', pattern: `^${prefix}-[0-9a-z]+$` },
})

export const MACHINE_VARIABLES: Readonly<Record<string, Schema>> = {
  machineTemplate: {
    description: 'WorkspaceTemplate that makes the machines.',
    type: 'string',
    minLength: 1,
    maxLength: 253,
    default: 'machine',
  },
  machineType: {
    description: 'Instance type of the machines.',
    type: 'string',
    pattern: '^[a-z][a-z0-9-]*\\.[a-z0-9-]+$',
    default: 'm7i.large',
  },
  machineNodeGroup: {
    description:
      'CAPTMachinePool, or WorkspaceTemplateApply with the output node_group_name, that the machines are like; the node group of the control plane when left out.',
    type: 'string',
    minLength: 1,
    maxLength: 253,
  },
  machinePlacement: {
    description: 'Where the machines run when they are like no node group.',
    type: 'object',
    required: ['subnetIds', 'securityGroupIds', 'imageId'],
    properties: {
      subnetIds: idsOf('subnet', 16),
      securityGroupIds: idsOf('sg', 5),
      imageId: { type: 'string', pattern: '^ami-[0-9a-z]+$' },
      nodeRoleName: { type: 'string', pattern: '^[A-Za-z0-9+=,.@_-]+$' },
    },
  },
}

const onMachines = (jsonPatches: readonly object[]) => [
  {
    selector: { ...INFRA, matchResources: { machineDeploymentClass: { names: [MACHINE_CLASS] } } },
    jsonPatches,
  },
]
const at = (path: string): string => `/spec/template/spec/${path}`
const add = (field: string, variable: string) => ({ op: 'add', path: at(field), valueFrom: { variable } })
const fromPlacement = (field: string) => add(field, `machinePlacement.${field}`)

export const MACHINE_PATCHES = [
  {
    name: 'machines',
    description: 'Template, type, tags and node group of the machines.',
    definitions: onMachines([
      { op: 'replace', path: at('workspaceTemplateRef/name'), valueFrom: { variable: 'machineTemplate' } },
      { op: 'replace', path: at('instanceType'), valueFrom: { variable: 'machineType' } },
      { op: 'add', path: at('tags'), valueFrom: { variable: 'tags' } },
      {
        op: 'replace',
        path: at('nodeGroupRef/name'),
        valueFrom: {
          template:
            '{{ if .machineNodeGroup }}{{ .machineNodeGroup }}{{ else }}{{ .builtin.cluster.name }}-eks-controlplane-apply{{ end }}',
        },
      },
    ]),
  },
  {
    name: 'machines-labels',
    description: 'Labels of the nodes.',
    enabledIf: '{{ if .nodeLabels }}true{{ end }}',
    definitions: onMachines([add('labels', 'nodeLabels')]),
  },
  {
    name: 'machines-placement',
    description: 'Subnets, security groups and image instead of a node group.',
    enabledIf: '{{ if .machinePlacement }}true{{ end }}',
    definitions: onMachines([
      { op: 'remove', path: at('nodeGroupRef') },
      ...['subnetIds', 'securityGroupIds', 'imageId'].map(fromPlacement),
    ]),
  },
  {
    name: 'machines-role',
    description: 'The role of those machines.',
    enabledIf: '{{ if .machinePlacement }}{{ if .machinePlacement.nodeRoleName }}true{{ end }}{{ end }}',
    definitions: onMachines([fromPlacement('nodeRoleName')]),
  },
]
