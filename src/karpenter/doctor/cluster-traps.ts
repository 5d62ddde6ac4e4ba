// Traps of the EKS cluster itself: what it lacks for nodes to join and pods to run, and who can reach its API.
import { know, type Look, person, when } from './trap.ts'

export const clusterTraps: Look = (survey) => [...stateTraps(survey), ...accessTraps(survey), ...fileTraps(survey)]

const stateTraps: Look = ({ cluster: { name, isAutoMode, status }, addons, kubernetes }) => [
  ...when(status !== 'ACTIVE', () =>
    person(
      'cluster',
      `the cluster is ${status}`,
      'wait until it is active',
      `aws eks wait cluster-active --name ${name}`,
    ),
  ),
  ...when(isAutoMode, () =>
    person(
      'automode',
      'EKS Auto Mode runs a Karpenter of its own, and every node of it carries karpenter.sh/nodepool',
      'use its NodePools, or turn Auto Mode off',
    ),
  ),
  ...when(!addons.includes('vpc-cni') && !kubernetes.hasCni, () =>
    person(
      'addons',
      'no VPC CNI: nodes join and stay NotReady',
      'install the add-on',
      `aws eks create-addon --cluster-name ${name} --addon-name vpc-cni`,
    ),
  ),
  ...when(!addons.includes('coredns') && !kubernetes.hasDns, () =>
    person(
      'addons',
      'no CoreDNS: controllers cannot resolve names',
      'install the add-on',
      `aws eks create-addon --cluster-name ${name} --addon-name coredns`,
    ),
  ),
]

const accessTraps: Look = ({ cluster: { name, isPublic, authenticationMode }, caller, accessEntries }) => [
  ...when(!isPublic, () =>
    know(
      'endpoint',
      'the API endpoint is private: a management cluster, or a machine, outside of the VPC cannot reach it',
      'run capt where the VPC is routed, or let the endpoint be public for certain addresses (capt explain CAPT_EKS_ENDPOINT_UNREACHABLE)',
    ),
  ),
  ...when(authenticationMode === 'API' && !accessEntries.includes(principalOf(caller)), () =>
    know(
      'admin',
      `${principalOf(caller)} has no access entry: who makes a cluster is not always its administrator`,
      'give it one, unless you come with the kubeconfig of somebody else (capt explain CAPT_EKS_CREATOR_NOT_ADMIN)',
      `aws eks create-access-entry --cluster-name ${name} --principal-arn ${principalOf(caller)}`,
    ),
  ),
]

/** Of files that people keep: a kubeconfig, and the backend of a Terraform state. */
const fileTraps: Look = ({ hasEmbeddedToken, cluster: { name }, kubernetes: { stateSuffixes } }) => [
  ...when(hasEmbeddedToken, () =>
    know(
      'kubeconfig',
      'the kubeconfig holds a token, which ends 15 minutes after it was signed',
      'let it sign a new one each time (capt explain CAPT_KUBECONFIG_EXPIRED)',
      `aws eks update-kubeconfig --name ${name}`,
    ),
  ),
  ...stateSuffixes
    .filter(({ suffix }) => /-\d+$/.test(suffix))
    .map(({ namespace, suffix }) =>
      person(
        'suffix',
        `a Terraform state in namespace ${namespace} has the suffix ${suffix}: Terraform reads the number at its end as that of a chunk`,
        'give secret_suffix a letter at its end (capt explain CAPT_STATE_SUFFIX_NUMBER)',
        'terraform init -migrate-state',
      ),
    ),
]

/** STS names a session; access entries name its role. */
function principalOf(caller: string): string {
  const session = /^arn:([^:]+):sts::(\d+):assumed-role\/([^/]+)\//.exec(caller)
  return session ? `arn:${session[1]}:iam::${session[2]}:role/${session[3]}` : caller
}
