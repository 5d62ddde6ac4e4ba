// Everything that is read about an existing cluster before anything is decided, as plain data.
import type {
  EksCluster,
  EksNodeGroup,
  IamRole,
  InstanceProfile,
  PodIdentityAssociation,
  Queue,
  Rule,
  SecurityGroup,
  Subnet,
} from '#aws'
import type { PlacementNode } from '#catalog'
import type { Journal } from '../journal.ts'
import type { Readiness } from '../kinds.ts'

/** A Flux that does not say what it is gets objects that every release since 2.3 takes. */
export const OLDEST_FLUX = '2.3.0'

export interface AccountSurvey {
  readonly accountId: string
  readonly caller: string
  readonly region: string
  readonly partition: string
  readonly cluster: EksCluster
  readonly nodeGroups: readonly (EksNodeGroup & {
    /** Of its launch template; empty when it names none. */
    readonly securityGroups: readonly string[]
  })[]
  readonly addons: readonly string[]
  /** Principals; empty in the mode CONFIG_MAP, which has none. */
  readonly accessEntries: readonly string[]
  readonly associations: readonly PodIdentityAssociation[]
  readonly oidcProviders: readonly string[]
  readonly subnets: readonly Subnet[]
  readonly securityGroups: readonly SecurityGroup[]
  readonly closedZones: readonly string[]
  readonly nodeRole: IamRole | undefined
  readonly controllerRole: IamRole | undefined
  readonly instanceProfile: InstanceProfile | undefined
  readonly queue: Queue | undefined
  /** By name. */
  readonly rules: Readonly<Record<string, Rule>>
  readonly hasSpotRole: boolean
  /** What EKS recommends now, as an alias. */
  readonly image: string | undefined
}

export interface FoundDeployment {
  readonly namespace: string
  readonly name: string
  readonly version: string | undefined
  readonly replicas: number
  readonly available: number
  /** The Kustomization or HelmRelease of Flux that keeps it as it is. */
  readonly fluxOwner?: string
}

export interface FoundWorkload {
  readonly namespace: string
  readonly name: string
  readonly kind: 'Deployment' | 'StatefulSet'
  /** What writes it, and would take a patch back: an operator's object, or one of Flux. */
  readonly writer?: string
  readonly placement: {
    readonly nodeSelector?: object
    readonly affinity?: object
    readonly tolerations?: readonly object[]
  }
}

export interface FoundPool extends Readiness {
  readonly expireAfter: string | undefined
  readonly usesSpot: boolean
  /** Values of the requirement on instance types. */
  readonly instanceTypes: readonly string[]
  readonly isRegistering: boolean
  readonly labels: Readonly<Record<string, string>>
  readonly taints: NonNullable<PlacementNode['taints']>
}

export interface ClusterSurvey {
  readonly nodes: readonly PlacementNode[]
  readonly karpenter: readonly FoundDeployment[]
  readonly autoscalers: readonly FoundDeployment[]
  /** Deployments and DaemonSets of the AWS Node Termination Handler, as namespace/name. */
  readonly terminationHandlers: readonly string[]
  readonly flux: { readonly version: string; readonly isRunning: boolean } | undefined
  /** Definitions of Flux, and its namespace: what an installation of it leaves in a cluster. */
  readonly fluxTraces: readonly string[]
  /** CustomResourceDefinitions of Karpenter, of any era. */
  readonly definitions: readonly { readonly name: string; readonly storedVersions: readonly string[] }[]
  /** Definitions of the chart that belong to Kubernetes: somebody else may have brought them. */
  readonly sharedDefinitions: readonly string[]
  readonly namespaces: readonly string[]
  readonly hasPodIdentityAgent: boolean
  /** The VPC CNI and CoreDNS, as add-ons or otherwise. */
  readonly hasCni: boolean
  readonly hasDns: boolean
  /** NodeClaims that exist; their names. */
  readonly claims: readonly string[]
  /** A range of chart versions in the source of the release, which public ECR cannot resolve. */
  readonly chartRange: string | undefined
  /** `mapRoles` of aws-auth; undefined without that ConfigMap. */
  readonly mapRoles: string | undefined
  readonly hasRelease: boolean
  readonly nodePools: readonly FoundPool[]
  readonly nodeClasses: readonly (Readiness & { readonly aliases: readonly string[] })[]
  /** What people would not want on nodes that come and go: karpenter, coredns, metrics-server, prometheus, grafana. */
  readonly advised: readonly FoundWorkload[]
  readonly journal: Journal | undefined
  /** `secret_suffix` of every Terraform state that is kept in the cluster, with its namespace. */
  readonly stateSuffixes: readonly { readonly namespace: string; readonly suffix: string }[]
}

export interface Survey extends AccountSurvey {
  readonly kubernetes: ClusterSurvey
  /** Path of helm. */
  readonly helm: string | undefined
  /** The kubeconfig that was given holds a signed token, which nobody renews. */
  readonly hasEmbeddedToken: boolean
}
