// The machines of a fleet: one CAPTMachineDeployment per cluster.
import { CAPTMachineDeployment } from '#api'
import { TEMPLATES } from '../../../../scripts/template-modules.ts'
import { workspaceTemplate } from '../../../../scripts/templates.ts'
import type { Loose } from '../loose.ts'

export const FLEET_NAMESPACE = 'fleet'

/** The simulated machine. All clusters share one workload API here, so Nodes are named by the whole id, not by an address. */
export function fleetMachineTemplate(): Loose {
  const template = workspaceTemplate(TEMPLATES.simulatedMachine, { namespace: FLEET_NAMESPACE }) as Loose
  const { forProvider } = template['spec'].template.spec
  forProvider.module = forProvider.module.replace(
    /(output "node_name" \{[^}]*value +=).*/,
    '$1 format("%s-%s", var.machine_name, local.id)',
  )
  return template
}

export function fleetMachines(cluster: string, replicas: number): Loose {
  const labels = { pool: cluster }
  const { apiVersion, kind } = CAPTMachineDeployment
  return {
    apiVersion,
    kind,
    metadata: { name: cluster, namespace: FLEET_NAMESPACE, labels: { 'cluster.x-k8s.io/cluster-name': cluster } },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          workspaceTemplateRef: { name: TEMPLATES.simulatedMachine.folder },
          instanceType: 'm7i.large',
          nodeGroupRef: { name: `${cluster}-eks-controlplane-apply` },
          labels: { tier: 'web' },
        },
      },
    },
  }
}
