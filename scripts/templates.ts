// Writes the manifests that hold the Terraform modules of template-modules.ts: one WorkspaceTemplate per module, the
// clusterctl cluster templates, the ClusterClass and the examples. They are generated, committed and never edited.
import { Document, isScalar, Scalar, stringify, visit } from 'yaml'
import { CLUSTER_CLASS, clusterClass, type Manifest, toClusterNetwork, topologyCluster } from './cluster-class.ts'
import { machinePoolManifests } from './machine-pool-manifests.ts'
import { moduleText, TEMPLATES, type TemplateModule } from './template-modules.ts'

const INFRA = 'infrastructure.cluster.x-k8s.io/v1beta1'
const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io/v1beta1'

export function workspaceTemplate(template: TemplateModule, metadata: Record<string, unknown> = {}): Manifest {
  return {
    apiVersion: INFRA,
    kind: 'WorkspaceTemplate',
    metadata: { name: template.folder, ...metadata },
    spec: {
      template: {
        metadata: { description: template.description, version: '1.0.0', tags: template.tags },
        spec: {
          forProvider: {
            source: 'Inline',
            inlineFormat: 'HCL',
            module: moduleText(template.folder),
            ...(template.env ? { env: template.env } : {}),
          },
        },
      },
    },
  }
}

interface ClusterOptions {
  readonly name: string
  readonly namespace?: string
  readonly region: string
  readonly version: string
  readonly vpc: Record<string, unknown>
  readonly controlPlane: TemplateModule
  readonly controlPlaneConfig?: Record<string, unknown>
  readonly labels: Readonly<Record<string, string>>
  readonly network?: { readonly pods: string; readonly services: string }
  readonly tags?: Readonly<Record<string, string>>
}

export function clusterManifests(options: ClusterOptions): Manifest[] {
  const { name, region, version, vpc, controlPlane, labels, network } = options
  const metadata = { name, ...(options.namespace ? { namespace: options.namespace } : {}) }
  const ref = (apiVersion: string, kind: string) => ({ apiVersion, kind, name })
  const additionalTags = options.tags ? { additionalTags: options.tags } : {}
  return [
    {
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      kind: 'Cluster',
      metadata: { ...metadata, labels },
      spec: {
        ...(network ? { clusterNetwork: toClusterNetwork(network) } : {}),
        infrastructureRef: ref(INFRA, 'CAPTCluster'),
        controlPlaneRef: ref(CONTROL_PLANE, 'CAPTControlPlane'),
      },
    },
    { apiVersion: INFRA, kind: 'CAPTCluster', metadata, spec: { region, ...vpc, ...additionalTags } },
    {
      apiVersion: CONTROL_PLANE,
      kind: 'CAPTControlPlane',
      metadata,
      spec: {
        version,
        workspaceTemplateRef: { name: controlPlane.folder },
        ...(options.controlPlaneConfig ? { controlPlaneConfig: options.controlPlaneConfig } : {}),
        ...additionalTags,
      },
    },
  ]
}

const TOPOLOGY_FLAVOUR = 'topology'
const FLUX = { 'fluxcd.io/enabled': 'true' }
const KARPENTER = { 'installation.appthrust.com/eks-karpenter': 'enabled' }
const SIMULATION = { 'capt.appthrust.com/simulation': 'workload' }

/** Variables of `clusterctl generate cluster`. Kubernetes wants a full version there. */
const COMMON = {
  name: '${CLUSTER_NAME}',
  namespace: '${NAMESPACE}',
  version: '${KUBERNETES_VERSION}',
  network: { pods: '${POD_CIDR:=192.168.0.0/16}', services: '${SERVICE_CIDR:=10.96.0.0/12}' },
} as const
const AWS = {
  ...COMMON,
  region: '${AWS_REGION}',
  controlPlane: TEMPLATES.eks,
  controlPlaneConfig: {
    endpointAccess: {
      public: raw('${ENDPOINT_ACCESS_PUBLIC:=true}'),
      private: raw('${ENDPOINT_ACCESS_PRIVATE:=true}'),
    },
  },
  tags: { Environment: '${ENVIRONMENT:=dev}', ManagedBy: 'capt' },
}
const newVpc = (template: TemplateModule) => ({
  vpcTemplateRef: { name: template.folder },
  vpcConfig: {
    name: '${VPC_NAME:=${CLUSTER_NAME}-vpc}',
    cidr: '${VPC_CIDR:=10.0.0.0/16}',
    singleNatGateway: raw('${VPC_SINGLE_NAT_GATEWAY:=true}'),
  },
})
const flavour = (templates: readonly TemplateModule[], options: ClusterOptions): Manifest[] => [
  ...templates.map((template) => escapeForClusterctl(workspaceTemplate(template, { namespace: '${NAMESPACE}' }))),
  ...clusterManifests(options),
]

export function flavours(): Record<string, Manifest[]> {
  const { vpc, eks, simulatedVpc, simulatedEks } = TEMPLATES
  return {
    'cluster-template': flavour([vpc, eks], { ...AWS, vpc: newVpc(vpc), labels: FLUX }),
    'cluster-template-karpenter': flavour([vpc, eks], { ...AWS, vpc: newVpc(vpc), labels: { ...FLUX, ...KARPENTER } }),
    'cluster-template-existing-vpc': flavour([eks], {
      ...AWS,
      vpc: { existingVpcId: '${EXISTING_VPC_ID}' },
      labels: FLUX,
    }),
    'cluster-template-simulation': flavour([simulatedVpc, simulatedEks], {
      ...COMMON,
      region: '${AWS_REGION:=eu-west-1}',
      vpc: { vpcTemplateRef: { name: simulatedVpc.folder } },
      controlPlane: simulatedEks,
      labels: { ...FLUX, ...KARPENTER, ...SIMULATION },
    }),
    [`cluster-template-${TOPOLOGY_FLAVOUR}`]: [
      topologyCluster(
        { name: COMMON.name, namespace: COMMON.namespace, labels: FLUX },
        {
          version: COMMON.version,
          network: COMMON.network,
          variables: {
            region: AWS.region,
            vpcCidr: '${VPC_CIDR:=10.0.0.0/16}',
            singleNatGateway: raw('${VPC_SINGLE_NAT_GATEWAY:=true}'),
            endpointAccess: AWS.controlPlaneConfig.endpointAccess,
            tags: AWS.tags,
          },
        },
      ),
    ],
  }
}

/** What clusterctl fetches beside the topology flavour: the class, and the templates that its defaults name. */
function clusterClassManifests(): Manifest[] {
  const { vpc, eks, nodeGroup } = TEMPLATES
  return [vpc, eks, nodeGroup].map((template) => workspaceTemplate(template)).concat(clusterClass())
}

/** A simulated cluster made from the class. */
function topologyExample(): Manifest[] {
  const { simulatedVpc, simulatedEks } = TEMPLATES
  return [
    workspaceTemplate(simulatedVpc),
    workspaceTemplate(simulatedEks),
    ...clusterClass(),
    topologyCluster(
      { name: 'topology-demo', labels: { ...FLUX, ...SIMULATION } },
      {
        version: 'v1.35.0',
        variables: {
          region: 'eu-west-1',
          vpcTemplate: simulatedVpc.folder,
          controlPlaneTemplate: simulatedEks.folder,
          tags: { Environment: 'demo' },
        },
      },
    ),
  ]
}

export function simulationExample(): Manifest[] {
  const { simulatedVpc, simulatedEks } = TEMPLATES
  return [
    workspaceTemplate(simulatedVpc),
    workspaceTemplate(simulatedEks),
    ...clusterManifests({
      name: 'demo',
      region: 'eu-west-1',
      version: 'v1.35.0',
      vpc: { vpcTemplateRef: { name: simulatedVpc.folder }, vpcConfig: { name: 'demo-vpc', cidr: '10.0.0.0/16' } },
      controlPlane: simulatedEks,
      controlPlaneConfig: { endpointAccess: { public: true, private: true } },
      labels: { ...FLUX, ...KARPENTER, ...SIMULATION },
      tags: { Environment: 'demo' },
    }),
  ]
}

/** A pool of nodes for the cluster of the simulation example. */
export function nodePoolExample(): Manifest[] {
  return [
    workspaceTemplate(TEMPLATES.simulatedNodeGroup),
    ...machinePoolManifests({ name: 'demo-workers', cluster: 'demo', template: TEMPLATES.simulatedNodeGroup }),
  ]
}

function machinesExample(): Manifest[] {
  const labels = { deployment: 'demo-machines' }
  return [
    workspaceTemplate(TEMPLATES.simulatedMachine),
    {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'CAPTMachineDeployment',
      metadata: { name: 'demo-machines', labels: { 'cluster.x-k8s.io/cluster-name': 'demo' } },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            workspaceTemplateRef: { name: TEMPLATES.simulatedMachine.folder },
            instanceType: 'm7i.large',
            nodeGroupRef: { name: 'demo-workers' },
          },
        },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      },
    },
  ]
}

/** clusterctl substitutes `${…}` everywhere, also inside HCL: there a dollar is written twice. */
function escapeForClusterctl(manifest: Manifest): Manifest {
  const spec = JSON.parse(JSON.stringify(manifest['spec']), (_key, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('${', () => '$${') : value,
  ) as unknown
  return { ...manifest, spec }
}

/** A value that must stand in YAML without quotes, because substitution makes it a boolean. */
function raw(text: string): { readonly plain: string } {
  return { plain: text }
}

export function toYaml(manifests: readonly object[], head: string): string {
  return manifests.map((manifest, i) => `${i === 0 ? head : ''}---\n${manifestText(manifest)}`).join('')
}

function manifestText(manifest: object): string {
  const plain: string[] = []
  const marked = JSON.parse(JSON.stringify(manifest), (_key, value: unknown) => {
    if (value === null || typeof value !== 'object' || !('plain' in value)) return value
    plain.push((value as { plain: string }).plain)
    return `PLAIN-${plain.length - 1}`
  }) as unknown
  const document = new Document(marked, { aliasDuplicateObjects: false })
  visit(document, {
    Scalar(_key, node) {
      if (isScalar(node) && typeof node.value === 'string' && node.value.includes('\n'))
        node.type = Scalar.BLOCK_LITERAL
    },
  })
  const text = stringify(document, { lineWidth: 0 })
  return text.replace(/PLAIN-(\d+)/g, (_match, index: string) => plain[Number(index)]!)
}

const HEAD = '# Generated by make generate from templates/; do not edit.\n'

/** Name and text of every cluster template that clusterctl generates from. */
export function flavourTexts(): Map<string, string> {
  return new Map(Object.entries(flavours()).map(([name, manifests]) => [`${name}.yaml`, toYaml(manifests, HEAD)]))
}

/** Without namespaces and without anything that clusterctl would substitute, so that kubectl may apply it too. */
export function clusterClassText(): string {
  return toYaml(clusterClassManifests(), HEAD)
}

/** Path (relative to the project) and text of every file made here. */
export function templateFiles(): Map<string, string> {
  const files = new Map<string, string>()
  for (const template of Object.values(TEMPLATES))
    files.set(`templates/${template.folder}.yaml`, toYaml([workspaceTemplate(template)], HEAD))
  for (const [name, text] of flavourTexts()) files.set(`templates/${name}`, text)
  files.set(`templates/clusterclass-${CLUSTER_CLASS}.yaml`, clusterClassText())
  const note = `${HEAD}# A whole cluster in simulation: Terraform is real, the cloud and the workload cluster are not.\n`
  files.set('examples/simulation.yaml', toYaml(simulationExample(), note))
  const topologyNote = `${HEAD}# The same from a ClusterClass; core Cluster API makes the parts (feature gate ClusterTopology).\n`
  const poolNote = `${HEAD}# A pool of nodes for the cluster of simulation.yaml: apply that first.\n`
  files.set('examples/node-pool.yaml', toYaml(nodePoolExample(), poolNote))
  const machinesNote = `${HEAD}# Machines beside the pool of node-pool.yaml: apply that and simulation.yaml first.\n`
  files.set('examples/machines.yaml', toYaml(machinesExample(), machinesNote))
  files.set('examples/topology.yaml', toYaml(topologyExample(), topologyNote))
  return files
}
