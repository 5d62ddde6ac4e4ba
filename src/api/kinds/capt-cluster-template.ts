// What a ClusterClass makes CAPTClusters from. Nothing that only one cluster could know is required.
import { defineKind, type KindOf } from '../define-kind.ts'
import { templateMetadata } from '../meta.ts'
import * as s from '../schema.ts'
import { clusterFields, clusterRules } from './capt-cluster.ts'

export const CAPTClusterTemplate = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTClusterTemplate',
  plural: 'captclustertemplates',
  categories: ['cluster-api'],
  about:
    'A pattern for CAPTClusters, referenced by a ClusterClass. Its variables and patches fill in what is left out.',
  spec: s.object(
    {
      template: s.object(
        {
          metadata: templateMetadata,
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
        },
        { required: ['spec'], about: 'The CAPTCluster to make.' },
      ),
    },
    { required: ['template'], about: 'What is wanted.' },
  ),
  columns: [{ name: 'AGE', path: '.metadata.creationTimestamp', type: 'date' }],
})
export type CAPTClusterTemplate = KindOf<typeof CAPTClusterTemplate>
