// What the manager may do in a management cluster: one line per need, with the reason. manager-role, the roles of the
// two clusterctl providers and the namespaced Role are made from this table, and test/real/least-privilege compares it
// with what the manager was seen to do. Secrets are read by name, never listed.
import { ALL_KINDS, type Kind } from '#api'

/** The parts of the manager that --enable-controller names. */
export const PARTS = ['infrastructure', 'control-plane', 'addons'] as const
export type Part = (typeof PARTS)[number]

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

/** A kind of ours that a controller keeps true. */
const keeps = (apiGroup: string, plural: string): readonly Grant[] => [
  need(apiGroup, plural, ['list', 'watch', 'patch'], 'kept true, held by a finalizer'),
  need(apiGroup, `${plural}/status`, ['patch'], 'reported on'),
]
/** Its applies block its deletion; servers that enforce owner references ask for this. */
const owns = (apiGroup: string, plural: string): Grant =>
  need(apiGroup, `${plural}/finalizers`, ['update'], 'its applies block its deletion')
const watches = (apiGroup: string, plural: string, why: string): Grant => need(apiGroup, plural, ['list', 'watch'], why)

const EVENTS = need('events.k8s.io', 'events', ['get', 'create', 'patch'], 'tells people what happened')
const CLUSTERS = watches('cluster.x-k8s.io', 'clusters', 'the owner of everything: pause, deletion, references')

export const GRANTS: Readonly<Record<Part, readonly Grant[]>> = {
  infrastructure: [
    ...keeps(INFRA, 'captclusters'),
    owns(INFRA, 'captclusters'),
    ...keeps(INFRA, 'workspacetemplates'),
    ...keeps(INFRA, 'workspacetemplateapplies'),
    need(INFRA, 'workspacetemplateapplies', ['create', 'delete'], 'one per VPC'),
    watches(CONTROL_PLANE, 'captcontrolplanes', 'the VPC goes after the control plane'),
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
    ...keeps(CONTROL_PLANE, 'captcontrolplanes'),
    owns(CONTROL_PLANE, 'captcontrolplanes'),
    watches(INFRA, 'captclusters', 'the network that the control plane goes into'),
    need(INFRA, 'workspacetemplateapplies', ['list', 'watch', 'create', 'patch', 'delete'], 'one per control plane'),
    need(INFRA, 'workspacetemplateapplies', ['get'], 'the VPC of a cluster that is searched for what it left'),
    watches(INFRA, 'addondeliveries', 'add-ons go before the control plane'),
    CLUSTERS,
    need('', 'secrets', ['get', 'create', 'patch', 'delete'], 'kubeconfig and CA of each cluster; AWS identities'),
    EVENTS,
  ],
  addons: [
    ...keeps(INFRA, 'addonpipelines'),
    need(INFRA, 'addonpipelines', ['create'], 'the pipeline that comes with capt, in its own namespace'),
    ...keeps(INFRA, 'addondeliveries'),
    need(INFRA, 'addondeliveries', ['create', 'delete'], 'one per selected cluster'),
    need(INFRA, 'workspacetemplateapplies', ['get'], 'outputs that a pipeline names as variables'),
    watches(CONTROL_PLANE, 'captcontrolplanes', 'version and outputs'),
    CLUSTERS,
    need('cluster.x-k8s.io', 'clusters', ['patch'], 'labels of ours: the gate and the one a set selects by'),
    need(ADDONS, 'clusterresourcesets', ['get', 'list', 'watch', 'create', 'patch', 'delete'], 'one per stage'),
    watches(ADDONS, 'clusterresourcesetbindings', 'what core says was delivered'),
    need('', 'configmaps', ['get', 'create', 'patch', 'delete'], 'carriers of manifests'),
    need('', 'configmaps', ['get', 'list', 'watch'], 'labelled sources of pipelines; listed by metadata alone'),
    need('', 'secrets', ['get', 'create', 'patch', 'delete'], 'kubeconfig of each cluster; carriers of manifests'),
    EVENTS,
  ],
}

/** Kinds whose editors run code with the identity of a run, with the reason. Roles of namespaces do not include them. */
export const CODE_KINDS: Readonly<Record<string, string>> = {
  WorkspaceTemplate: 'Terraform runs its module, provisioners included, with the identity of the run',
}

/** Everything that these parts need, each resource once. */
export function grantsOf(parts: readonly Part[]): readonly Grant[] {
  const merged = new Map<string, Grant>()
  for (const grant of parts.flatMap((part) => GRANTS[part])) {
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
