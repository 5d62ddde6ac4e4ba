// What a ClusterClass makes CAPTClusters from. Nothing that only one cluster could know is required.
import { defineKind, type KindOf } from '../define-kind.ts'
import { templateKindOf } from '../meta.ts'
import * as s from '../schema/build.ts'
import { CAPTCluster, clusterFields, clusterRules } from './capt-cluster.ts'

export const CAPTClusterTemplate = defineKind(
  templateKindOf(CAPTCluster, {
    about:
      'A pattern for CAPTClusters, referenced by a ClusterClass. Its variables and patches fill in what is left out.',
    spec: s.object(clusterFields, {
      about: 'Spec of the CAPTClusters made from this template.',
      rules: [
        {
          rule: '!has(self.vpcTemplateRef) || !has(self.existingVpcId)',
          message: 'at most one of vpcTemplateRef and existingVpcId may be set',
        },
        ...clusterRules,
      ],
    }),
    columns: [{ name: 'AGE', path: '.metadata.creationTimestamp', type: 'date' }],
  }),
)
export type CAPTClusterTemplate = KindOf<typeof CAPTClusterTemplate>
