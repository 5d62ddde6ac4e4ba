// Looks for the known traps of Karpenter on an existing cluster. Pure: a survey in, findings with a fix each out.
import { canRunOn, isAtLeast } from '#catalog'
import { choose } from '../plan/choose.ts'
import { foundRelease } from '../plan/controller-role.ts'
import { observeResource } from '../plan/observe.ts'
import { resourcesFor } from '../plan/resources.ts'
import type { Survey } from '../survey/survey.ts'
import { clusterTraps } from './cluster-traps.ts'
import { permissionTraps } from './permission-traps.ts'
import { know, type Look, person, type Trap, when } from './trap.ts'

const places: Look = ({ kubernetes: { nodes, flux, karpenter } }) => {
  const others = nodes.filter(({ labels }) => !('karpenter.sh/nodepool' in labels))
  const isTainted = others.length > 0 && !others.some((node) => canRunOn({}, node))
  return [
    ...when(isTainted, () =>
      person(
        'taints',
        'every node that Karpenter did not make is tainted; the controllers of Flux tolerate no taint',
        'give Flux a node group without taints, or tolerations',
      ),
    ),
    ...when(flux !== undefined && !flux.isRunning, () =>
      person(
        'flux',
        'the controllers of Flux do not run: the release neither changes nor goes',
        'see their pods',
        'kubectl -n flux-system describe pods',
      ),
    ),
    ...karpenter
      .filter(({ available, replicas }) => available < replicas)
      .map(({ namespace, available, replicas }) =>
        person(
          'replicas',
          `${available} of ${replicas} replicas run: each needs a node of its own that Karpenter did not make`,
          `there ${others.length === 1 ? 'is 1 such node' : `are ${others.length} such nodes`}; add one to the node group, or use one replica`,
          `kubectl -n ${namespace} describe pods -l app.kubernetes.io/name=karpenter`,
        ),
      ),
  ]
}

const releases: Look = ({ cluster: { name }, kubernetes: { karpenter, journal, chartRange, definitions } }) => [
  ...when(karpenter.length > 1, () =>
    person(
      'second',
      `Karpenter runs ${karpenter.length} times: ${karpenter.map(({ namespace }) => namespace).join(', ')}`,
      'remove all but one: they fight over the same pods',
    ),
  ),
  ...when(
    journal !== undefined &&
      karpenter.length > 0 &&
      !karpenter.some(({ namespace }) => namespace === journal.namespace),
    () =>
      person(
        'moved',
        `capt installed Karpenter in ${journal!.namespace}, and it runs elsewhere: changing the namespace of a release uninstalls it`,
        'move it back',
      ),
  ),
  ...when(chartRange !== undefined, () =>
    person(
      'chart',
      `the chart version is the range ${chartRange}: public ECR lists no tags, so it is never resolved`,
      'write one exact version',
    ),
  ),
  ...when(journal?.phase === 'installing', () =>
    person(
      'unfinished',
      'an installation was begun and is not finished',
      'continue it, or undo it with --rollback',
      `capt karpenter install ${name}`,
    ),
  ),
  ...when(journal?.phase === 'removing', () =>
    person('unfinished', 'an uninstall was begun and is not finished', 'finish it', `capt karpenter uninstall ${name}`),
  ),
  ...definitions
    // NodeOverlay has no other version than v1alpha1.
    .filter(({ name: one }) => /^(nodepools|nodeclaims|ec2nodeclasses)\./.test(one))
    .filter(({ storedVersions }) => storedVersions.some((version) => version !== 'v1'))
    .map((one) =>
      person(
        'stored',
        `${one.name} still stores ${one.storedVersions.join(', ')}: 1.1 and later serve v1 alone`,
        'run 1.0.6 or a later patch of 1.0 first, which migrates them',
      ),
    ),
  ...definitions
    .filter(({ name: one }) => /^(provisioners|machines|awsnodetemplates)\./.test(one))
    .map(({ name: one }) =>
      person(
        'alpha',
        `${one} is of a Karpenter before 0.33`,
        'convert its objects, and drain its nodes while the old controller runs',
        'capt karpenter convert --help',
      ),
    ),
]

const images: Look = ({ cluster: { version }, kubernetes: { nodeClasses } }) =>
  nodeClasses.flatMap(({ name, aliases, isReady, message }) => [
    ...when(aliases.some((alias) => alias.startsWith('al2@')) && isAtLeast(version, '1.33'), () =>
      person(
        'image',
        `EC2NodeClass ${name} uses Amazon Linux 2, which has no image for Kubernetes ${version}`,
        'change the alias to al2023 (capt explain CAPT_AMI_AL2_ENDED)',
      ),
    ),
    ...when(
      aliases.some((alias) => alias.endsWith('@latest')),
      () =>
        know(
          'image',
          `EC2NodeClass ${name} uses @latest: every new image replaces the whole fleet`,
          'pin a version, such as al2023@v20261102',
        ),
    ),
    ...when(!isReady, () =>
      person(
        'class',
        `EC2NodeClass ${name}: ${message}`,
        'credentials, subnets, security groups or images; see the log of the controller',
        `kubectl describe ec2nodeclass ${name}`,
      ),
    ),
  ])

const pools: Look = ({ hasSpotRole, kubernetes: { nodePools, claims, karpenter } }) => [
  ...nodePools.flatMap(({ name, isReady, message, expireAfter = '720h', usesSpot, instanceTypes, isRegistering }) => [
    ...when(!isReady, () =>
      person(
        'pool',
        `NodePool ${name}: ${message}`,
        'its class or a requirement is wrong',
        `kubectl describe nodepool ${name}`,
      ),
    ),
    ...when(!isRegistering, () =>
      person(
        'joining',
        `nodes of NodePool ${name} start and never join: each is ended after 15 minutes and started again`,
        'the node role needs an access entry or an entry in aws-auth (capt explain CAPT_KARPENTER_ACCESS)',
      ),
    ),
    ...when(expireAfter !== 'Never', () =>
      know(
        'expiry',
        `nodes of NodePool ${name} end after ${expireAfter}, without a replacement first`,
        'set expireAfter to Never, or budgets and terminationGracePeriod',
      ),
    ),
    ...when(usesSpot && !hasSpotRole, () =>
      person(
        'spot',
        `NodePool ${name} asks for spot, and the account has no service-linked role for it`,
        'make it once',
        'aws iam create-service-linked-role --aws-service-name spot.amazonaws.com',
      ),
    ),
    ...when(
      instanceTypes.some((type) => !type.includes('.')),
      () =>
        person(
          'types',
          `NodePool ${name} asks for the instance types ${instanceTypes.join(', ')}: these are categories, so nothing matches`,
          'use the key karpenter.k8s.aws/instance-category',
        ),
    ),
  ]),
  ...when(claims.length > 0 && !karpenter.some(({ available }) => available > 0), () =>
    person(
      'orphans',
      `${claims.length} NodeClaims and no running controller: their machines cost money, and deletions hang`,
      'bring the controller back before you remove anything',
    ),
  ),
]

/** Both scale, or both drain. */
const others: Look = ({ kubernetes: { autoscalers, terminationHandlers, karpenter } }) => [
  ...autoscalers
    .filter(({ replicas }) => replicas > 0 && karpenter.length > 0)
    .map(({ namespace, name }) =>
      person(
        'autoscaler',
        `Cluster Autoscaler ${namespace}/${name} scales the node groups beside Karpenter`,
        'stop it once Karpenter works',
        `kubectl -n ${namespace} scale deploy ${name} --replicas=0`,
      ),
    ),
  ...terminationHandlers.map((name) =>
    know('handler', `${name} handles interruptions beside Karpenter's queue`, 'remove it'),
  ),
]

/** What the installation would be, compared with what is there; only for one that capt or its module made. */
const drift: Look = (survey) => {
  const { journal } = survey.kubernetes
  if (!journal && !foundRelease(survey)) return []
  const { choices, refusals } = choose(survey, {})
  const found = refusals.map(({ field, message, hint }) => person('refused', `${field}: ${message}`, hint))
  if (refusals.length > 0) return found
  return resourcesFor(survey, choices, {}).flatMap((resource) => {
    const { is, what } = observeResource(resource, survey)
    if (is === 'same' || ['node-class', 'node-pool', 'spot-role'].includes(resource.type)) return []
    const fact = is === 'absent' ? 'is missing' : what
    return [
      person(
        'changed',
        `${resource.type} ${resource.name} ${fact}`,
        'put it back',
        journal ? `capt karpenter install ${survey.cluster.name}` : 'terraform apply',
      ),
    ]
  })
}

const groups: Look = ({ cluster: { name }, securityGroups }) => {
  const tagged = securityGroups.filter(({ tags }) =>
    Object.entries(tags).some(([key, value]) => key.startsWith('karpenter.sh/discovery') && value === name),
  )
  return when(tagged.length > 1, () =>
    person(
      'groups',
      `${tagged.map(({ id }) => id).join(', ')} carry the discovery tag: nodes get all of them, and load balancers fail`,
      'leave it on one',
      `aws ec2 delete-tags --resources ${tagged.at(-1)!.id} --tags Key=karpenter.sh/discovery`,
    ),
  )
}

export function examine(survey: Survey): readonly Trap[] {
  return [clusterTraps, places, releases, images, pools, others, permissionTraps, groups, drift].flatMap((examine) =>
    examine(survey),
  )
}
