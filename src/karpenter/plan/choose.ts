// Decides how Karpenter is to be installed in a cluster that was surveyed. Pure: a survey and options in, choices with
// their reasons or refusals out.
import {
  canRunOn,
  checkPair,
  compareVersions,
  DISCOVERY_TAG,
  karpenterNames,
  partitionNames,
  versionsFor,
} from '#catalog'
import type { Survey } from '../survey/survey.ts'
import { chooseImage } from './choose-image.ts'
import { chooseInstaller, type InstallerChoice } from './choose-installer.ts'
import { chooseSecurityGroup, chooseSubnets } from './choose-network.ts'
import { foundIdentity, foundRelease } from './controller-role.ts'
import type { Chosen, Options, Refusal, Refuse } from './options.ts'
import { checkPools } from './pools.ts'

export interface Choices extends InstallerChoice {
  readonly names: ReturnType<typeof karpenterNames>
  readonly version: Chosen<string>
  readonly namespace: Chosen<string>
  readonly identity: Chosen<'irsa' | 'pod-identity'>
  readonly access: Chosen<'access-entry' | 'aws-auth'>
  readonly discoveryTag: string
  readonly subnets: Chosen<readonly string[]>
  readonly zones: readonly string[]
  readonly securityGroup: Chosen<string>
  /** Names of managed node groups that the controller may run on; empty for any node that Karpenter did not make. */
  readonly placement: Chosen<readonly string[]>
  readonly replicas: number
  readonly image: Chosen<string>
  /** What a person should know and nothing depends on. */
  readonly notes: readonly string[]
}

interface Decided {
  readonly choices: Choices
  readonly refusals: readonly Refusal[]
}

export function choose(survey: Survey, options: Options): Decided {
  const refusals: Refusal[] = []
  const refuse: Refuse = (code, field, message, hint) => refusals.push({ code, field, message, hint })
  checkCluster(survey, refuse)
  const { journal } = survey.kubernetes
  checkPools(survey, options, refuse)
  const discoveryTag = options.discoveryTag ?? journal?.discoveryTag ?? DISCOVERY_TAG
  const subnets = chooseSubnets(survey, options, discoveryTag, refuse)
  const placement = choosePlacement(survey, options, refuse)
  const nodes = placeableNodes(survey, placement.value).length
  const choices: Choices = {
    names: karpenterNames(survey.cluster.name),
    version: chooseVersion(survey, options, refuse),
    namespace: chooseNamespace(survey, options, refuse),
    identity: chooseIdentity(survey, options, refuse),
    access: chooseAccess(survey, refuse),
    discoveryTag,
    subnets,
    zones: [...new Set(survey.subnets.filter(({ id }) => subnets.value.includes(id)).map(({ zone }) => zone))].sort(),
    securityGroup: chooseSecurityGroup(survey, options, discoveryTag, refuse),
    placement,
    replicas: nodes === 1 ? 1 : 2,
    ...chooseInstaller(survey, options, refuse),
    image: chooseImage(survey, options, refuse),
    notes: notesOn(survey, options, nodes),
  }
  return { choices, refusals }
}

function checkCluster({ cluster, partition, kubernetes }: Survey, refuse: Refuse): void {
  if (!partitionNames().includes(partition))
    refuse(
      'CAPT_PARTITION_UNSUPPORTED',
      '--region',
      `partition ${partition} lacks services that Karpenter needs`,
      `capt knows ${partitionNames().join(', ')}`,
    )
  if (cluster.status !== 'ACTIVE')
    refuse(
      'CAPT_KARPENTER_CLUSTER',
      'cluster',
      `${cluster.name} is ${cluster.status}`,
      `wait for it: aws eks wait cluster-active --name ${cluster.name}`,
    )
  if (cluster.isAutoMode)
    refuse(
      'CAPT_KARPENTER_AUTO_MODE',
      'cluster',
      `${cluster.name} runs in EKS Auto Mode, which has a Karpenter of its own`,
      'write NodePools for it instead, or turn Auto Mode off before you install another one',
    )
  if (kubernetes.journal?.phase === 'removing')
    refuse(
      'CAPT_KARPENTER_JOURNAL',
      'cluster',
      'an uninstall was begun here and is not finished',
      `finish it: capt karpenter uninstall ${cluster.name}`,
    )
}

function chooseVersion(survey: Survey, options: Options, refuse: Refuse): Chosen<string> {
  const { cluster, kubernetes } = survey
  const [newest] = versionsFor('karpenter', cluster.version)
  const found = foundRelease(survey)
  const installed = kubernetes.journal?.version ?? found?.version
  const kept = options.isUpgrade ? undefined : installed
  const value = options.version?.replace(/^v/, '') ?? kept ?? newest
  if (value === undefined) {
    refuse(
      'CAPT_MATRIX_FORBIDDEN',
      '--version',
      `no Karpenter is known for Kubernetes ${cluster.version}`,
      'see docs/compatibility.md',
    )
    return { value: '0.0.0', reason: 'refused' }
  }
  const faults = checkPair({ kubernetes: cluster.version, karpenter: value })
  for (const { code, message, hint } of faults) refuse(code, '--version', message, hint)
  if (faults.length === 0 && installed !== undefined && compareVersions(value, installed) < 0)
    refuse(
      'CAPT_KARPENTER_DOWNGRADE',
      '--version',
      `${installed} is installed, ${value} is older`,
      `choose ${installed} or a newer one`,
    )
  if (faults.length === 0 && !options.isUpgrade && installed !== undefined && value !== installed)
    refuse(
      'CAPT_KARPENTER_DOWNGRADE',
      '--version',
      `${installed} is installed`,
      `capt karpenter upgrade ${cluster.name} --version ${value}`,
    )
  if (options.version !== undefined) return { value, reason: 'chosen by --version' }
  return {
    value,
    reason:
      value === kept
        ? found
          ? 'runs in the cluster'
          : 'installed by capt'
        : `newest for Kubernetes ${cluster.version}`,
  }
}

function chooseNamespace(survey: Survey, options: Options, refuse: Refuse): Chosen<string> {
  const { kubernetes, cluster } = survey
  const { karpenter, journal, namespaces } = kubernetes
  const known = journal?.namespace ?? foundRelease(survey)?.namespace
  const foreign = karpenter.find(({ namespace }) => namespace !== known)
  if (foreign)
    refuse(
      'CAPT_KARPENTER_PRESENT',
      '--namespace',
      `Karpenter ${foreign.version ?? 'of an unknown version'} runs in namespace ${foreign.namespace}, and capt did not install it`,
      `capt karpenter doctor ${cluster.name} checks it; remove it (helm uninstall ${foreign.name} -n ${foreign.namespace}) before capt installs another one`,
    )
  if (known !== undefined && options.namespace !== undefined && options.namespace !== known)
    refuse(
      'CAPT_KARPENTER_PRESENT',
      '--namespace',
      `Karpenter is installed in ${known}`,
      `leave --namespace out, or uninstall first: moving a release uninstalls it`,
    )
  if (options.namespace !== undefined) return { value: options.namespace, reason: 'chosen by --namespace' }
  if (journal) return { value: journal.namespace, reason: 'installed by capt' }
  const trusted = foundIdentity(survey)?.namespace
  if (trusted !== undefined) return { value: trusted, reason: 'the role of the controller is there and trusts it' }
  if (namespaces.includes('karpenter')) return { value: 'karpenter', reason: 'the namespace exists' }
  return { value: 'kube-system', reason: 'where Karpenter advises it, with the priority of the control plane' }
}

/** The path under which IAM knows a provider is its issuer without the scheme. */
export function hasProvider({ cluster, oidcProviders }: Survey): boolean {
  const host = cluster.issuer?.replace(/^https:\/\//, '')
  return host !== undefined && oidcProviders.some((arn) => arn.endsWith(`:oidc-provider/${host}`))
}

const hasAgent = ({ addons, kubernetes }: Survey): boolean =>
  addons.includes('eks-pod-identity-agent') || kubernetes.hasPodIdentityAgent

function chooseIdentity(survey: Survey, options: Options, refuse: Refuse): Chosen<'irsa' | 'pod-identity'> {
  const { name } = survey.cluster
  const provider = `eksctl utils associate-iam-oidc-provider --cluster ${name} --approve`
  const agent = `aws eks create-addon --cluster-name ${name} --addon-name eks-pod-identity-agent`
  const known = survey.kubernetes.journal?.identity
  const found = foundIdentity(survey)?.identity
  const value = options.identity ?? known ?? found
  const refused = (message: string, hint: string) => refuse('CAPT_KARPENTER_NO_IDENTITY', '--identity', message, hint)
  if (value === 'irsa' && !hasProvider(survey))
    refused(
      `IAM has no OIDC provider for the cluster's issuer ${survey.cluster.issuer ?? '(none)'}`,
      `${provider}, or --identity pod-identity`,
    )
  if (value === 'pod-identity' && !hasAgent(survey))
    refused('the add-on eks-pod-identity-agent is not installed', `${agent}, or --identity irsa`)
  if (options.identity !== undefined) return { value: options.identity, reason: 'chosen by --identity' }
  if (known !== undefined) return { value: known, reason: 'installed by capt' }
  if (found !== undefined) return { value: found, reason: 'the role of the controller is there and trusts it' }
  if (hasProvider(survey)) return { value: 'irsa', reason: 'IAM has an OIDC provider for the cluster' }
  if (hasAgent(survey)) return { value: 'pod-identity', reason: 'the cluster has the Pod Identity agent' }
  refused('the cluster has neither an OIDC provider in IAM nor the Pod Identity agent', `${agent}, or ${provider}`)
  return { value: 'pod-identity', reason: 'refused' }
}

function chooseAccess({ cluster, kubernetes }: Survey, refuse: Refuse): Choices['access'] {
  if (cluster.authenticationMode !== 'CONFIG_MAP')
    return { value: 'access-entry', reason: `the cluster reads access entries (${cluster.authenticationMode})` }
  if (kubernetes.mapRoles === undefined)
    refuse(
      'CAPT_KARPENTER_ACCESS',
      'cluster',
      'the cluster reads aws-auth alone, and that ConfigMap is missing',
      'let it read access entries: aws eks update-cluster-config --access-config authenticationMode=API_AND_CONFIG_MAP',
    )
  return { value: 'aws-auth', reason: 'the cluster reads aws-auth alone (CONFIG_MAP)' }
}

const TOLERATED = [{ key: 'CriticalAddonsOnly', operator: 'Exists' }]

function placeableNodes({ kubernetes }: Survey, groups: readonly string[]): readonly unknown[] {
  return kubernetes.nodes.filter((node) => {
    const group = node.labels['eks.amazonaws.com/nodegroup']
    const isKarpenters = 'karpenter.sh/nodepool' in node.labels || 'karpenter.sh/provisioner-name' in node.labels
    return (
      !isKarpenters &&
      (groups.length === 0 || groups.includes(group ?? '')) &&
      canRunOn({ tolerations: TOLERATED }, node)
    )
  })
}

function choosePlacement(survey: Survey, options: Options, refuse: Refuse): Chosen<readonly string[]> {
  const { nodeGroups } = survey
  const refused = (message: string, hint: string): Chosen<readonly string[]> => {
    refuse('CAPT_KARPENTER_NO_NODES', '--node-group', message, hint)
    return { value: [], reason: 'refused' }
  }
  const usable = nodeGroups.filter(
    ({ taints, amiType, status }) =>
      status === 'ACTIVE' &&
      !amiType.startsWith('WINDOWS') &&
      canRunOn({ tolerations: TOLERATED }, { labels: {}, taints }),
  )
  const asked = options.nodeGroups ?? []
  const unknown = asked.filter((name) => !nodeGroups.some((group) => group.name === name))
  if (unknown.length > 0)
    return refused(
      `there is no node group ${unknown.join(', ')}`,
      `the cluster has ${nodeGroups.map(({ name }) => name).join(', ') || 'none'}`,
    )
  const unusable = asked.filter((name) => !usable.some((group) => group.name === name))
  if (unusable.length > 0)
    return refused(
      `the controller cannot run on ${unusable.join(', ')}`,
      'its nodes are tainted, run Windows, or it is not active; choose another one',
    )
  const chosen = asked.length > 0 ? asked : usable.map(({ name }) => name)
  const reason = asked.length > 0 ? 'chosen by --node-group' : 'the node groups that it can run on, never its own nodes'
  if (placeableNodes(survey, chosen).length > 0)
    return { value: [...chosen].sort(), reason: chosen.length > 0 ? reason : 'any node that Karpenter did not make' }
  return refused(
    'Karpenter must not run on its own nodes, and there is no other node that it could run on',
    'make a managed node group with two nodes: eksctl create nodegroup, or aws eks create-nodegroup',
  )
}

function notesOn(survey: Survey, options: Options, nodes: number): readonly string[] {
  const { kubernetes, hasSpotRole } = survey
  const found = foundRelease(survey)
  const [autoscaler] = kubernetes.autoscalers.filter(({ replicas }) => replicas > 0)
  return [
    ...(found
      ? [
          `Karpenter ${found.version} was installed by modules/karpenter or in the same form: what installed it upgrades and removes it`,
        ]
      : []),
    ...(nodes === 1 ? ['one replica: a second one needs a second node that Karpenter did not make'] : []),
    ...(autoscaler && !options.replaceAutoscaler
      ? [
          `Cluster Autoscaler ${autoscaler.namespace}/${autoscaler.name} scales too: --replace-cluster-autoscaler stops it once Karpenter works`,
        ]
      : []),
    ...kubernetes.terminationHandlers.map(
      (name) => `${name} handles interruptions too: remove it, Karpenter has a queue of its own`,
    ),
    ...(hasSpotRole ? [] : ['the account has no service-linked role for Spot: pools with spot instances need it']),
  ]
}
