// What the manager may do in a management cluster: one line per need, with the reason. manager-role, the roles of the
// two clusterctl providers and the namespaced Role are made from this table, and test/real/install compares it
// with what the manager was seen to do. Secrets are read by name, never listed.
import { ALL_KINDS, CONTROLLER_GROUPS, type ControllerGroup, type Kind } from '#api'

/** The parts of the manager that --enable-controller names. */
export const PARTS = CONTROLLER_GROUPS
export type Part = ControllerGroup

export const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] as const
export type Verb = (typeof VERBS)[number]

export interface Grant {
  readonly apiGroup: string
  /** Plural, with the subresource behind a slash. */
  readonly resource: string
  readonly verbs: readonly Verb[]
  readonly why: string
}

const INFRA = 'infrastructure.cluster.x-k8s.io'
const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io'
const ADDONS = 'addons.cluster.x-k8s.io'

const need = (apiGroup: string, resource: string, verbs: readonly Verb[], why: string): Grant => ({
  apiGroup,
  resource,
  verbs,
  why,
})

const watches = (apiGroup: string, plural: string, why: string): Grant => need(apiGroup, plural, ['list', 'watch'], why)

/** Kinds that nothing outlives: what they make goes with them by its owner reference. */
const WITHOUT_FINALIZER: readonly string[] = ['CAPTBootstrapConfig']

/** A kind of ours with the controller that reconciles it. */
const reconciles = ({ group: apiGroup, plural, kind }: Kind): readonly Grant[] => [
  WITHOUT_FINALIZER.includes(kind)
    ? watches(apiGroup, plural, 'kept true')
    : need(apiGroup, plural, ['list', 'watch', 'patch'], 'kept true, held by a finalizer'),
  need(apiGroup, `${plural}/status`, ['patch'], 'reported on'),
]
/** Its applies block its deletion; servers that enforce owner references ask for this. */
const owns = (apiGroup: string, plural: string): Grant =>
  need(apiGroup, `${plural}/finalizers`, ['update'], 'its applies block its deletion')

const EVENTS = need('events.k8s.io', 'events', ['get', 'create', 'patch'], 'report what happened')
const CLUSTERS = watches('cluster.x-k8s.io', 'clusters', 'the owner of everything: pause, deletion, references')

/** What each part needs beside the kinds that it reconciles. */
const GRANTS: Readonly<Record<Part, readonly Grant[]>> = {
  infrastructure: [
    owns(INFRA, 'captclusters'),
    need(INFRA, 'workspacetemplateapplies', ['get'], 'whose an identity is that was deleted under its run'),
    owns(INFRA, 'captmachinepools'),
    need(INFRA, 'workspacetemplateapplies', ['create', 'delete'], 'one per VPC, node group and machine'),
    watches(CONTROL_PLANE, 'captcontrolplanes', 'the VPC goes after the control plane; nodes join it'),
    watches(INFRA, 'addondeliveries', 'add-ons go before the nodes that they may run on'),
    watches('cluster.x-k8s.io', 'machinepools', 'replicas and version of node groups'),
    need('cluster.x-k8s.io', 'machinepools', ['patch'], 'the replicas that an autoscaler chose'),
    owns(INFRA, 'captmachines'),
    owns(INFRA, 'captmachinesets'),
    owns(INFRA, 'captmachinedeployments'),
    need(INFRA, 'captmachines', ['create', 'delete'], 'the machines of a set'),
    need(INFRA, 'captmachinesets', ['create', 'delete'], 'one per template of a deployment'),
    need('cluster.x-k8s.io', 'machines', ['get'], 'bootstrap data and zone of the Machine that owns a machine'),
    CLUSTERS,
    need('cluster.x-k8s.io', 'clusters', ['get'], 'a run begins nothing under a pause'),
    need(
      '',
      'secrets',
      ['get', 'create', 'patch', 'delete'],
      'records, inputs, state and outputs of runs; credentials of runs',
    ),
    need('', 'configmaps', ['get'], 'variables of templates'),
    need('coordination.k8s.io', 'leases', ['get', 'create', 'update', 'patch', 'delete'], 'locks of Terraform states'),
    EVENTS,
  ],
  'control-plane': [
    owns(CONTROL_PLANE, 'captcontrolplanes'),
    watches(INFRA, 'captclusters', 'the network that the control plane goes into'),
    need(INFRA, 'workspacetemplateapplies', ['list', 'watch', 'create', 'patch', 'delete'], 'one per control plane'),
    need(INFRA, 'workspacetemplateapplies', ['get'], 'the VPC of a cluster that is searched for what it left'),
    watches(INFRA, 'addondeliveries', 'add-ons go before the control plane'),
    need(INFRA, 'captmachinepools', ['list', 'watch', 'delete'], 'nodes go before the control plane'),
    ...['captmachinedeployments', 'captmachinesets', 'captmachines'].map((plural) =>
      need(INFRA, plural, ['list', 'watch', 'delete'], 'machines go before the control plane'),
    ),
    need(INFRA, 'addonpipelines', ['get'], 'whether load balancers of a deleted cluster may be deleted'),
    CLUSTERS,
    need('', 'secrets', ['get', 'create', 'patch', 'delete'], 'kubeconfig and CA of each cluster; AWS identities'),
    EVENTS,
  ],
  addons: [
    need(INFRA, 'addonpipelines', ['create'], 'the pipeline that comes with capt, in its own namespace'),
    need(INFRA, 'addondeliveries', ['create', 'delete'], 'one per selected cluster'),
    need(INFRA, 'workspacetemplateapplies', ['get'], 'outputs that a pipeline names as variables'),
    watches(CONTROL_PLANE, 'captcontrolplanes', 'version and outputs'),
    CLUSTERS,
    need('cluster.x-k8s.io', 'clusters', ['patch'], 'labels of ours: the gate and the one a set selects by'),
    need(ADDONS, 'clusterresourcesets', ['get', 'list', 'watch', 'create', 'patch', 'delete'], 'one per stage'),
    watches(ADDONS, 'clusterresourcesetbindings', 'what core says was delivered'),
    need('', 'configmaps', ['get', 'create', 'patch', 'delete'], 'payloads of manifests'),
    need('', 'configmaps', ['get', 'list', 'watch'], 'labelled sources of pipelines; listed by metadata alone'),
    need('', 'secrets', ['get', 'create', 'patch', 'delete'], 'kubeconfig of each cluster; payloads of manifests'),
    EVENTS,
  ],
}

const RBAC = 'rbac.authorization.k8s.io'

/** What the engine `job` needs beside that: in the namespace of the runs, and in those of the applies. */
export const RUN_GRANTS = {
  runs: [
    need('batch', 'jobs', ['get', 'list', 'watch', 'create', 'delete'], 'one per Terraform run'),
    need('', 'pods', ['get', 'list', 'watch'], 'their end ends the run; their status says why'),
    need('', 'events', ['list'], 'why no pod is made for a Job'),
    need('', 'serviceaccounts', ['get', 'list', 'create', 'patch', 'delete'], 'one per workspace: who its runs are'),
    need('', 'serviceaccounts/token', ['create'], 'the token of a run, bound to its Secret'),
  ],
  applies: [
    need(RBAC, 'roles', ['get', 'create', 'patch', 'delete'], 'one per workspace; names its objects and no others'),
    need(RBAC, 'rolebindings', ['get', 'create', 'patch', 'delete'], 'gives that role to the account of the workspace'),
  ],
} as const satisfies Record<string, readonly Grant[]>

/** Kinds whose editors run code with the identity of a run, with the reason. Roles of namespaces do not include them. */
export const CODE_KINDS: Readonly<Record<string, string>> = {
  WorkspaceTemplate: 'Terraform runs its module, provisioners included, with the identity of the run',
}

/** Everything that these parts need, each resource once. */
export function grantsOf(parts: readonly Part[]): readonly Grant[] {
  const merged = new Map<string, Grant>()
  for (const grant of parts.flatMap((part) => [
    ...ALL_KINDS.filter((kind) => kind.reconciledBy === part).flatMap(reconciles),
    ...GRANTS[part],
  ])) {
    const key = `${grant.apiGroup}/${grant.resource}`
    const known = merged.get(key)
    const verbs = VERBS.filter((verb) => grant.verbs.includes(verb) || known?.verbs.includes(verb))
    const whys = new Set([...(known ? known.why.split('; ') : []), ...grant.why.split('; ')])
    merged.set(key, { ...grant, verbs, why: [...whys].join('; ') })
  }
  return [...merged.values()].sort((a, b) => byText(a.apiGroup, b.apiGroup) || byText(a.resource, b.resource))
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Kinds of ours with a status that no line of the table names: nobody would keep them true. */
export function forgottenKinds(kinds: readonly Kind[] = ALL_KINDS): readonly string[] {
  const named = new Set(grantsOf(PARTS).map(({ apiGroup, resource }) => `${resource}.${apiGroup}`))
  return kinds
    .filter((kind) => kind.status && !named.has(`${kind.plural}/status.${kind.group}`))
    .map(({ kind }) => kind)
}
