// Reads what a management cluster of the older project holds: its objects, and the states that Crossplane kept for them.
import {
  ALL_KINDS,
  type AnyObject,
  apiVersionOf,
  clusterKind,
  type KindRef,
  kindRef,
  LeaseKind,
  SecretKind,
  type UnknownObject,
} from '#api'
import { type Connected, ignore } from '#kube'
import { CaptError } from '#lib'
import type { Given } from './map.ts'
import { isStateObject } from './states.ts'

const CROSSPLANE: readonly KindRef[] = ['v1beta1', 'v1alpha1'].flatMap((version) => [
  kindRef(`tf.upbound.io/${version}`, 'Workspace', false),
  kindRef(`tf.upbound.io/${version}`, 'ProviderConfig', false),
])

/** The older project spelt these kinds Capt…; the plural names a kind, so they are read all the same. */
const isOlderKind = ({ kind }: KindRef): boolean =>
  /^(CAPT(Cluster|ControlPlane|ControlPlaneTemplate|Machine|MachineSet|MachineDeployment|MachineTemplate)|WorkspaceTemplate|WorkspaceTemplateApply)$/.test(
    kind,
  )

interface Surveyed {
  readonly given: readonly Given[]
  /** State Secrets and their locks. */
  readonly kept: readonly UnknownObject[]
}

/** Secrets other than states are not read. */
export async function surveyOlder({ objects, namespace, server }: Connected): Promise<Surveyed> {
  const read = async (
    kind: KindRef,
    options: { namespace?: string; labelSelector?: string },
  ): Promise<UnknownObject[]> => {
    const named = { apiVersion: apiVersionOf(kind), kind: kind.kind }
    const found = Array.fromAsync(objects.list<AnyObject>(kind, options), (object) => ({ ...object, ...named }))
    return (await found.catch(ignore('KindNotServed', 'NotFound'))) ?? []
  }
  const clusters = await read(clusterKind('v1beta1'), { namespace })
  const own: UnknownObject[] = []
  for (const kind of ALL_KINDS.filter(isOlderKind)) own.push(...(await read(kind, { namespace })))
  if (clusters.length === 0 && own.length === 0)
    throw new CaptError(
      'CAPT_KUBE_NOT_FOUND',
      `There is nothing of the older project in namespace ${namespace} of ${server}`,
      {
        hint: 'choose another namespace with -n',
      },
    )
  const names = new Set(own.map(({ metadata }) => metadata.name.replace(/-apply$/, '')))
  const crossplane: UnknownObject[] = []
  for (const kind of CROSSPLANE) {
    if (crossplane.some((one) => one.kind === kind.kind)) continue
    crossplane.push(...(await read(kind, {})).filter((one) => one.kind !== 'Workspace' || names.has(one.metadata.name)))
  }
  const kept: UnknownObject[] = []
  for (const kind of [SecretKind, LeaseKind])
    kept.push(...(await read(kind, { labelSelector: 'tfstate=true' })).filter(isStateObject))
  return { given: [...clusters, ...own, ...crossplane].map((object) => ({ object })), kept }
}
