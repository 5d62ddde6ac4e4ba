// The words people use for kinds: singular, plural, short names, any case.
import {
  AddonDelivery,
  AddonPipeline,
  CAPTCluster,
  CAPTClusterTemplate,
  CAPTControlPlane,
  CAPTControlPlaneTemplate,
  CLUSTER_API_VERSIONS,
  clusterKind,
  clusterResourceSetKind,
  type KindRef,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { CaptError, ownValue } from '#lib'
import type { Connected } from './command.ts'
import { servedVersions } from './discovery.ts'

export const OUR_KINDS = [
  CAPTCluster,
  CAPTClusterTemplate,
  CAPTControlPlane,
  CAPTControlPlaneTemplate,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
  AddonPipeline,
  AddonDelivery,
] as const

const EXTRA_WORDS: Readonly<Record<string, string>> = {
  cl: 'clusters',
  crs: 'clusterresourcesets',
  applies: 'workspacetemplateapplies',
}

/** The kind a word means. Cluster API kinds are asked for in the version that the server serves. */
export async function findKind(word: string, connected: Connected): Promise<KindRef> {
  const lower = word.toLowerCase()
  const wanted = ownValue(EXTRA_WORDS, lower) ?? lower
  const ours = OUR_KINDS.find(({ plural, singular, shortNames }) =>
    [plural, singular, ...(shortNames ?? [])].includes(wanted),
  )
  if (ours) return ours
  if (wanted === 'cluster' || wanted === 'clusters') return servedKind(connected, clusterKind)
  if (wanted === 'clusterresourceset' || wanted === 'clusterresourcesets')
    return servedKind(connected, clusterResourceSetKind)
  const known = [
    'clusters',
    ...OUR_KINDS.map(({ plural, shortNames }) => [plural, ...(shortNames ?? [])].join('/')),
    'clusterresourcesets/crs',
  ]
  throw new CaptError('CAPT_USAGE', `capt does not know the kind "${word}"`, {
    hint: `one of: ${known.join(', ')}; kubectl shows all others`,
  })
}

export async function servedKind(
  connected: Connected,
  make: (version: (typeof CLUSTER_API_VERSIONS)[number]) => KindRef,
): Promise<KindRef> {
  const { group, kind } = make('v1beta2')
  const served = await servedVersions(connected, group)
  if (served === undefined) {
    throw new CaptError(
      'CAPT_CLUSTER_API_MISSING',
      `${connected.server} does not serve ${kind}: Cluster API is not installed there`,
      {
        hint: 'run clusterctl init, or use an embedded home: capt up --data DIR',
      },
    )
  }
  const version = CLUSTER_API_VERSIONS.find((candidate) => served.includes(candidate))
  if (!version)
    throw new CaptError(
      'CAPT_CLUSTER_API_MISSING',
      `${connected.server} serves no version of ${group} that capt speaks`,
    )
  return make(version)
}
