// Objects in the shape of the older project, for the tests of this module.
import type { UnknownObject } from '#api'
import type { ImportOptions } from './context.ts'
import { type Mapped, mapObjects } from './map.ts'

export const INFRASTRUCTURE = 'infrastructure.cluster.x-k8s.io/v1beta1'
const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io/v1beta1'
const API: Readonly<Record<string, string>> = {
  Cluster: 'cluster.x-k8s.io/v1beta1',
  CAPTControlPlane: CONTROL_PLANE,
  CAPTControlPlaneTemplate: CONTROL_PLANE,
  Workspace: 'tf.upbound.io/v1beta1',
  ProviderConfig: 'tf.upbound.io/v1beta1',
  Secret: 'v1',
}
export const make = (kind: string, name: string, rest: object = {}, metadata: object = {}): UnknownObject => ({
  apiVersion: API[kind] ?? INFRASTRUCTURE,
  kind,
  metadata: { name, namespace: 'default', ...metadata },
  ...rest,
})
const FOR_PROVIDER = { source: 'Inline', module: 'output "a" { value = 1 }' }
export const template = (name: string, more: object = {}, forProvider: object = {}) =>
  make('WorkspaceTemplate', name, {
    spec: { template: { spec: { forProvider: { ...FOR_PROVIDER, ...forProvider }, ...more } } },
  })
export const apply = (name: string, spec: object = {}, more: object = {}) =>
  make('WorkspaceTemplateApply', name, { spec: { templateRef: { name: 'vpc' }, ...spec }, ...more })
export const network = (spec: object = {}) =>
  make('CAPTCluster', 'demo', { spec: { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' }, ...spec } })
export const existing = (spec: object) =>
  make('CAPTCluster', 'demo', { spec: { region: 'eu-west-1', existingVpcId: 'vpc-1', ...spec } })
export const plane = (spec: object = {}) =>
  make('CAPTControlPlane', 'demo', { spec: { version: '1.31', workspaceTemplateRef: { name: 'eks' }, ...spec } })
export const machines = (kind: string, spec: object) => make(kind, 'workers', { spec })
export const MACHINE = {
  workspaceTemplateRef: { name: 'm', namespace: 'default' },
  nodeGroupRef: { name: 'ng', namespace: 'default' },
  instanceType: 't3.medium',
}
export const group = (spec: object) =>
  make('CAPTMachineTemplate', 'workers', {
    spec: { template: { spec: { workspaceTemplateRef: { name: 'n' }, ...spec } } },
  })
export const GROUP = {
  nodeType: 'ManagedNodeGroup',
  instanceType: 't3.medium',
  scaling: { minSize: 1, maxSize: 5, desiredSize: 3 },
  labels: { team: 'a' },
  taints: [{ key: 'gpu', effect: 'NoSchedule', timeAdded: '2025-01-01T00:00:00Z' }],
  additionalTags: { Team: 'a' },
}

export const map = (objects: readonly UnknownObject[], options: Partial<ImportOptions> = {}): Mapped =>
  mapObjects(
    objects.map((object) => ({ object })),
    { namespace: 'default', ...options },
  )
export const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((found, name) => (found as Record<string, unknown> | undefined)?.[name], value)
