// What a ClusterClass makes CAPTControlPlanes from. Version, endpoint and names come with each cluster.
import { defineKind, type KindOf } from '../define-kind.ts'
import { templateKindOf } from '../meta.ts'
import * as s from '../schema/build.ts'
import { CAPTControlPlane, controlPlaneFields } from './capt-control-plane.ts'

export const CAPTControlPlaneTemplate = defineKind(
  templateKindOf(CAPTControlPlane, {
    about: 'A pattern for CAPTControlPlanes, referenced by a ClusterClass. The version comes from the Cluster.',
    spec: s.object(controlPlaneFields, {
      required: ['workspaceTemplateRef'],
      about: 'Spec of the CAPTControlPlanes made from this template.',
    }),
  }),
)
export type CAPTControlPlaneTemplate = KindOf<typeof CAPTControlPlaneTemplate>
