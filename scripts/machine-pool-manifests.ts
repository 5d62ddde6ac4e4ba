// A MachinePool of Cluster API with the two objects of capt behind it, as manifests.
import type { Manifest } from './cluster-class.ts'

interface PoolOptions {
  readonly name: string
  readonly cluster: string
  /** WorkspaceTemplate that makes the node group. */
  readonly template: { readonly folder: string }
}

const INFRA = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1', kind: 'CAPTMachinePool' }
const BOOTSTRAP = { apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1', kind: 'CAPTBootstrapConfig' }

export function machinePoolManifests({ name, cluster, template }: PoolOptions): Manifest[] {
  const metadata = { name }
  return [
    {
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      kind: 'MachinePool',
      metadata,
      spec: {
        clusterName: cluster,
        replicas: 2,
        template: {
          spec: {
            clusterName: cluster,
            bootstrap: { configRef: { ...BOOTSTRAP, name } },
            infrastructureRef: { ...INFRA, name },
          },
        },
      },
    },
    {
      ...INFRA,
      metadata,
      spec: {
        workspaceTemplateRef: { name: template.folder },
        instanceTypes: ['m7i.large'],
        scaling: { minSize: 1, maxSize: 5 },
        labels: { team: 'a' },
      },
    },
    { ...BOOTSTRAP, metadata, spec: {} },
  ]
}
