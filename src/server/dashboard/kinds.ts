// Which kinds of an API server the page can show: those that are served and that the caller may list. What is left out
// is reported as a notice.
import {
  AddonDelivery,
  CAPTCluster,
  CAPTControlPlane,
  CAPTMachine,
  CAPTMachineDeployment,
  CAPTMachinePool,
  CAPTMachineSet,
  clusterKind,
  EventKind,
  type KindRef,
  machinePoolKind,
  WorkspaceTemplateApply,
} from '#api'
import { type Server, servedKind } from '#kube'
import { CaptError, parseJson } from '#lib'

interface Visible {
  readonly cluster: KindRef
  readonly others: readonly KindRef[]
  /** MachinePool in the version that the server serves; undefined where it is not among the others. */
  readonly corePool: KindRef | undefined
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined
  readonly notices: readonly string[]
}

const OTHERS: readonly KindRef[] = [
  CAPTCluster,
  CAPTControlPlane,
  CAPTMachinePool,
  CAPTMachineDeployment,
  CAPTMachineSet,
  CAPTMachine,
  WorkspaceTemplateApply,
  AddonDelivery,
  EventKind,
]

/** `fallback` is used where the caller may not list Clusters of all namespaces. */
export async function findVisible(
  server: Server,
  { namespace, fallback }: { readonly namespace?: string; readonly fallback: string },
): Promise<Visible> {
  const cluster = await servedKind(server, clusterKind)
  const notices: string[] = []
  let scope = namespace
  if (!(await mayList(server, cluster, scope))) {
    scope = namespace ?? fallback
    if (namespace !== undefined || !(await mayList(server, cluster, scope)))
      throw new CaptError('CAPT_KUBE_FORBIDDEN', `you may not list Clusters in ${scope} on ${server.server}`, {
        hint: 'ask for the verbs get, list and watch on clusters.cluster.x-k8s.io, or name a namespace with -n',
      })
    notices.push(`Only the namespace ${scope} is shown: you may not list Clusters of all namespaces.`)
  }
  const others: KindRef[] = []
  const corePool = await servedKind(server, machinePoolKind)
  for (const kind of [...OTHERS, corePool]) {
    if (!(await isServed(server, kind))) continue
    if (await mayList(server, kind, scope)) others.push(kind)
    else notices.push(`${kind.kind} objects are not shown: you may not list them.`)
  }
  return { cluster, others, corePool: others.find((kind) => kind === corePool), namespace: scope, notices }
}

async function isServed(server: Server, { group, version, plural }: KindRef): Promise<boolean> {
  const { status, body } = await server.raw(`/apis/${group}/${version}`)
  if (status !== 200) return false
  const { resources = [] } = parseJson(body) as { readonly resources?: readonly { readonly name: string }[] }
  return resources.some(({ name }) => name === plural)
}

async function mayList(server: Server, { group, version, plural }: KindRef, namespace?: string): Promise<boolean> {
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const { status } = await server.raw(`/apis/${group}/${version}${scope}/${plural}?limit=1`)
  return status !== 403
}
