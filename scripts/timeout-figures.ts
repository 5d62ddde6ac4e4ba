// The figures that default timeouts rest on: what was measured, and what others have published.

/**
 * `measured`: here, by bench/waits.ts. `published`: by the maker of what is waited for, or by people who measured it in AWS, with the
 * address. `chosen`: there is no figure.
 */
type Basis = 'measured' | 'published' | 'chosen'

/** `ms`: the figure as a time, which the default is a multiple of. */
export interface Figure {
  readonly basis: Basis
  readonly text: string
  readonly ms?: number
}

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const chosen = (text: string): Figure => ({ basis: 'chosen', text })
export const published = (text: string, ms?: number): Figure => ({ basis: 'published', text, ...(ms ? { ms } : {}) })

/** The longest times that `ROUNDS=2 node bench/waits.ts` printed, under the words it uses, in seconds. */
export const MEASURED = {
  'an API server that starts again, until it answers': 10.5,
  'a node with 110 pods that end at once, drained': 20.9,
  "Karpenter's charts, installed by helm without waiting for pods": 8.1,
  'a Terraform run that makes, without AWS': 6,
  'a stage, from its ClusterResourceSet to its objects in the cluster': 32.8,
  'a Terraform run that destroys, without AWS': 7.6,
} as const

const measured = (text: keyof typeof MEASURED): Figure => ({ basis: 'measured', text, ms: MEASURED[text] * SECOND })
export const RESTARTED = measured('an API server that starts again, until it answers')
export const DRAINED = measured('a node with 110 pods that end at once, drained')
export const INSTALLED = measured("Karpenter's charts, installed by helm without waiting for pods")
export const MADE = measured('a Terraform run that makes, without AWS')
export const DELIVERED = measured('a stage, from its ClusterResourceSet to its objects in the cluster')
export const DESTROYED = measured('a Terraform run that destroys, without AWS')

const link = (text: string, url: string) => `[${text}](${url})`
export const provider = (resource: string, text: string) =>
  `${link(`the AWS provider`, `https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/${resource}#timeouts`)} ${text}`
export const CREATION = link(
  '21 regions',
  'https://easontechtalk.com/unofficial-eks-cluster-creation-performance-across-aws-regions',
)
export const CREATION_2 = link(
  '8m33s by Terraform',
  'https://github.com/DevopsArtFactory/terraform-provisioning/pull/46',
)
export const GATEWAY = link('49 s', 'https://github.com/agones-dev/agones/pull/986')
export const DETACHING = link(
  '15 minutes, and then fails',
  'https://github.com/hashicorp/terraform-provider-aws/issues/10934',
)
export const EVICTION = link(
  '15 minutes',
  'https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html',
)
export const VPC = link('22 s', 'https://github.com/DevopsArtFactory/terraform-provisioning/pull/7')
export const REGISTRATION = link('15 minutes', 'https://karpenter.sh/docs/concepts/nodeclaims/')
export const HELM = link('5m', 'https://fluxcd.io/flux/components/helm/helmreleases/')
export const DEPLOYMENT = link(
  'a Deployment has the same',
  'https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#progress-deadline-seconds',
)
