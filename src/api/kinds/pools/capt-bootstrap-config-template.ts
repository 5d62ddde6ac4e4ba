// What a ClusterClass or a MachineDeployment makes CAPTBootstrapConfigs from.
import { defineKind, type KindOf } from '../../define-kind.ts'
import { templateMetadata } from '../../meta.ts'
import * as s from '../../schema/build.ts'
import { bootstrapFields } from './capt-bootstrap-config.ts'

export const CAPTBootstrapConfigTemplate = defineKind({
  group: 'bootstrap.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTBootstrapConfigTemplate',
  categories: ['cluster-api'],
  about: 'A pattern for CAPTBootstrapConfigs, referenced by a ClusterClass.',
  spec: s.object(
    {
      template: s.object(
        {
          metadata: templateMetadata,
          spec: s.object(bootstrapFields, { about: 'Spec of the CAPTBootstrapConfigs made from this template.' }),
        },
        { about: 'The CAPTBootstrapConfig to make.' },
      ),
    },
    { required: ['template'], about: 'Desired state.' },
  ),
  columns: [{ name: 'Age', path: '.metadata.creationTimestamp', type: 'date' }],
})
export type CAPTBootstrapConfigTemplate = KindOf<typeof CAPTBootstrapConfigTemplate>
