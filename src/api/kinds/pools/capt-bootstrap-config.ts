// How a node of EKS starts: user data for a Machine, nothing for a MachinePool, whose nodes EKS starts itself.
// People write the spec; only controllers/bootstrap-config writes the status.
import { defineKind, type KindOf } from '../../define-kind.ts'
import { conditions } from '../../meta.ts'
import { FLAG } from '../../patterns.ts'
import * as s from '../../schema/build.ts'

/** What a CAPTBootstrapConfig and a CAPTBootstrapConfigTemplate have in common. */
export const bootstrapFields = {
  kubelet: s.object(
    {
      config: s.freeObject({ about: 'Fields of KubeletConfiguration, such as maxPods.' }),
      flags: s.list(s.string({ pattern: FLAG, maxLength: 1024 }), {
        about: 'Flags of the kubelet, such as --node-labels=team=a.',
        maxItems: 50,
      }),
    },
    { about: 'Settings of the kubelet in the NodeConfig of nodeadm. They have no effect on a MachinePool.' },
  ),
} as const

export const CAPTBootstrapConfig = defineKind({
  group: 'bootstrap.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTBootstrapConfig',
  reconciledBy: 'infrastructure',
  categories: ['cluster-api'],
  about:
    'The bootstrap data of a Machine or a MachinePool of Cluster API. A Machine gets user data with a NodeConfig of nodeadm; a MachinePool gets an empty Secret, because EKS starts the nodes of a node group itself.',
  spec: s.object(bootstrapFields, { about: 'Desired state.' }),
  status: s.object(
    {
      dataSecretName: s.string({ about: 'Secret with the bootstrap data, in the key value.' }),
      ready: s.boolean({ about: 'Whether that Secret exists (Cluster API contract v1beta1).' }),
      initialization: s.object(
        { dataSecretCreated: s.boolean({ about: 'Whether that Secret was made. Never goes back.' }) },
        { about: 'First provisioning (Cluster API contract v1beta2).' },
      ),
      conditions,
    },
    { about: 'Observed state.' },
  ),
  columns: [
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Secret', path: '.status.dataSecretName' },
    { name: 'Age', path: '.metadata.creationTimestamp', type: 'date' },
  ],
})
export type CAPTBootstrapConfig = KindOf<typeof CAPTBootstrapConfig>
