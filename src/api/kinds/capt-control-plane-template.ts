// What a ClusterClass makes CAPTControlPlanes from. Version, endpoint and names come with each cluster.
import { defineKind, type KindOf } from '../define-kind.ts'
import { templateOf } from '../meta.ts'
import * as s from '../schema/build.ts'
import { controlPlaneFields } from './capt-control-plane.ts'

export const CAPTControlPlaneTemplate = defineKind({
  group: 'controlplane.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTControlPlaneTemplate',
  plural: 'captcontrolplanetemplates',
  categories: ['cluster-api'],
  about: 'A pattern for CAPTControlPlanes, referenced by a ClusterClass. The version comes from the Cluster.',
  spec: templateOf(
    'CAPTControlPlane',
    s.object(controlPlaneFields, {
      required: ['workspaceTemplateRef'],
      about: 'Spec of the CAPTControlPlanes made from this template.',
    }),
  ),
  columns: [{ name: 'Age', path: '.metadata.creationTimestamp', type: 'date' }],
})
export type CAPTControlPlaneTemplate = KindOf<typeof CAPTControlPlaneTemplate>
