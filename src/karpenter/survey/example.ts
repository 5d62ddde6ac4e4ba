// A cluster as a survey finds it, for tests: two private subnets, one node group with two nodes, an OIDC provider, Flux.
import type { Journal } from '../journal.ts'
import type { AccountSurvey, ClusterSurvey, Survey } from './survey.ts'

const ISSUER = 'oidc.eks.eu-west-1.amazonaws.com/id/ABC'

type Changes = Partial<Omit<AccountSurvey, 'cluster'>> & {
  readonly cluster?: Partial<AccountSurvey['cluster']>
  readonly kubernetes?: Partial<ClusterSurvey>
  readonly helm?: string
  readonly hasEmbeddedToken?: boolean
}

export const subnet = (id: string, zone: string, more: object = {}) => ({
  id,
  zone: `eu-west-1${zone}`,
  isPublic: false,
  freeAddresses: 200,
  tags: {},
  ...more,
})

export const node = (name: string, group = 'system', more: object = {}) => ({
  name,
  labels: { 'kubernetes.io/os': 'linux', 'eks.amazonaws.com/nodegroup': group },
  ...more,
})

export const group = (name: string, more: object = {}) => ({
  name,
  status: 'ACTIVE',
  subnetIds: ['subnet-a', 'subnet-b'],
  taints: [],
  amiType: 'AL2023_x86_64_STANDARD',
  size: { min: 2, max: 2, desired: 2 },
  launchTemplate: undefined,
  securityGroups: [] as readonly string[],
  ...more,
})

export function exampleSurvey({ cluster, kubernetes, ...account }: Changes = {}): Survey {
  return {
    accountId: '123456789012',
    caller: 'arn:aws:iam::123456789012:user/someone',
    region: 'eu-west-1',
    partition: 'aws',
    nodeGroups: [group('system')],
    addons: ['vpc-cni'],
    accessEntries: [],
    associations: [],
    oidcProviders: [`arn:aws:iam::123456789012:oidc-provider/${ISSUER}`],
    subnets: [subnet('subnet-a', 'a'), subnet('subnet-b', 'b')],
    securityGroups: [
      { id: 'sg-cluster', name: 'eks-cluster-sg', tags: {} },
      { id: 'sg-other', name: 'other', tags: {} },
    ],
    closedZones: [],
    nodeRole: undefined,
    controllerRole: undefined,
    instanceProfile: undefined,
    queue: undefined,
    rules: {},
    hasSpotRole: true,
    image: 'al2023@v20261102',
    helm: undefined,
    hasEmbeddedToken: false,
    ...account,
    cluster: {
      name: 'demo',
      arn: 'arn:aws:eks:eu-west-1:123456789012:cluster/demo',
      status: 'ACTIVE',
      version: '1.35',
      endpoint: 'https://demo.example',
      caData: '',
      issuer: `https://${ISSUER}`,
      vpcId: 'vpc-1',
      subnetIds: ['subnet-a', 'subnet-b'],
      clusterSecurityGroupId: 'sg-cluster',
      authenticationMode: 'API_AND_CONFIG_MAP',
      isAutoMode: false,
      isPublic: true,
      ...cluster,
    },
    kubernetes: {
      nodes: [node('one'), node('two')],
      karpenter: [],
      autoscalers: [],
      terminationHandlers: [],
      flux: { version: '2.9.5', isRunning: true },
      fluxTraces: [],
      definitions: [],
      namespaces: ['default', 'kube-system'],
      hasPodIdentityAgent: false,
      mapRoles: undefined,
      hasCni: true,
      hasDns: true,
      claims: [],
      chartRange: undefined,
      hasRelease: false,
      nodePools: [],
      nodeClasses: [],
      advised: [],
      journal: undefined,
      sharedDefinitions: [],
      stateSuffixes: [],
      ...kubernetes,
    },
  }
}

export const pool = (name: string, more: object = {}) => ({
  name,
  isReady: true,
  message: '',
  expireAfter: 'Never',
  usesSpot: false,
  instanceTypes: [] as readonly string[],
  isRegistering: true,
  labels: {},
  taints: [],
  ...more,
})

export const exampleJournal = (more: Partial<Journal> = {}): Journal => ({
  format: 1,
  phase: 'installed',
  cluster: 'demo',
  region: 'eu-west-1',
  account: '123456789012',
  version: '1.14.1',
  namespace: 'kube-system',
  identity: 'irsa',
  discoveryTag: 'karpenter.sh/discovery',
  image: 'al2023@v20261001',
  made: [],
  ...more,
})
