// Understands the ClusterResourceSet manifests of older proposals: an API version that is no longer served, a Flux
// installer that could not have worked, variables that nobody filled in. What capt does itself is left to its own
// pipeline, the rest is carried over; every change is said in words.
import { isPlainObject } from '#lib'
import { groupOf } from '../contract.ts'
import { AddonPipeline } from '../kinds/addon-pipeline.ts'
import type { UnknownObject } from '../object.ts'
import {
  ADDONS,
  chartOf,
  documentsOf,
  type Fields,
  installedBy,
  isAllManifests,
  isKarpenterRelease,
  isOldAddon,
  isPayloadName,
  isPipelineSource,
  isReadinessJob,
  isResourceSet,
  isWrittenByHand,
  names,
  pairOfPayload,
  pairOfSet,
  payloadsOf,
  placeholdersIn,
  valuesOf,
} from './installers.ts'
import type { Manifest } from './manifest.ts'

interface Upgraded {
  readonly manifests: readonly Manifest[]
  /** What was changed and why, one sentence each. */
  readonly notes: readonly string[]
}

interface Upgrade {
  readonly manifests: Manifest[]
  readonly gone: Set<Manifest>
  readonly made: Manifest[]
  readonly notes: string[]
}

const CHOICE_LABEL = 'capt.appthrust.com/addon-pipeline'
const ROLE_ANNOTATION = 'eks.amazonaws.com/role-arn'

const REPLACEMENT = {
  flux: 'capt installs Flux itself on Clusters labelled fluxcd.io/enabled=true, as plain manifests of a supported version',
  karpenter:
    'capt brings Karpenter through Flux to Clusters that ask for it, with the values of each Cluster filled in',
} as const

const nameOf = ({ kind, metadata }: UnknownObject): string => `${kind}/${metadata.name}`

export function upgradeManifests(given: readonly Manifest[]): Upgraded {
  const upgrade: Upgrade = { manifests: [], gone: new Set(), made: [], notes: [] }
  upgrade.manifests.push(
    ...given.map((manifest) => labelsOnly(upgradeTemplate(manifest, upgrade.notes), upgrade.notes)),
  )
  for (const manifest of upgrade.manifests) {
    const { object } = manifest
    if (isReadinessJob(object))
      leaveOut(
        upgrade,
        [manifest],
        `${nameOf(object)} is left out: capt looks at Flux itself; an AddonPipeline has flux.readinessJob for those who want the Job`,
      )
    else if (isWrittenByHand(object))
      leaveOut(
        upgrade,
        [manifest],
        `${nameOf(object)} is left out: bindings are written by the controller alone; capt describe cluster shows them`,
      )
    else if (isResourceSet(object)) upgradeSet(manifest, upgrade)
    else if (object.apiVersion === 'v1' && object.kind === 'ConfigMap') upgradePayload(manifest, upgrade)
  }
  const { manifests, gone, made, notes } = upgrade
  return { manifests: [...manifests.filter((manifest) => !gone.has(manifest)), ...made], notes }
}

function leaveOut({ gone, notes }: Upgrade, manifests: readonly Manifest[], note: string): void {
  for (const manifest of manifests) gone.add(manifest)
  notes.push(note)
}

function upgradeSet(manifest: Manifest, upgrade: Upgrade): void {
  const { object } = manifest
  const { manifests, made, notes } = upgrade
  const isOld = isOldAddon(object)
  const pair = pairOfSet(object)
  const payloads = payloadsOf(manifest, manifests)
  const inner = payloads.flatMap((payload) => documentsOf(payload.object))
  // Given alone, a set is known by the label and the ConfigMap that the proposals name.
  const installs =
    isOld || pair ? (installedBy(inner) ?? (payloads.length === 0 ? pair?.installs : undefined)) : undefined
  const subject = payloads.length > 0 ? `${nameOf(object)} and its ConfigMap are` : `${nameOf(object)} is`
  if (installs !== undefined) {
    leaveOut(upgrade, [manifest, ...payloads], `${subject} left out: ${REPLACEMENT[installs]}`)
    if (payloads.length === 0)
      notes.push(`If its ConfigMap ${pair!.payload} brings something else, apply the two in one file`)
    const release = inner.find(isKarpenterRelease)
    if (installs === 'karpenter' && release) carryRelease(manifest, object.metadata.name, release, upgrade)
    return
  }
  const { strategy } = isPlainObject(object['spec']) ? object['spec'] : {}
  const left = placeholdersIn(inner)
  if (left.length > 0) notes.push(`${nameOf(object)}: ${nobodyFills(left)}`)
  if (isOld) {
    upgrade.gone.add(manifest)
    const spec = { ...(object['spec'] as Fields), ...(strategy === undefined ? { strategy: 'Reconcile' } : {}) }
    const written = withObject(manifest, { ...object, apiVersion: `${ADDONS}/v1beta2`, spec })
    made.push(strategy === undefined ? { ...written, isStrategyAssumed: true } : written)
    notes.push(`${nameOf(object)} is written as ${ADDONS}/v1beta2; ${String(object.apiVersion)} is not served any more`)
    if (strategy === undefined)
      notes.push(`${nameOf(object)} gets strategy: Reconcile, so that changes of what it delivers reach its Clusters`)
  } else if (strategy === undefined)
    notes.push(
      `${nameOf(object)} has no strategy, which means ApplyOnce: changes of what it delivers reach no Cluster that has it; spec.strategy: Reconcile is for that, and cannot be changed later`,
    )
}

/** A payload without its set: known by its name and by what is in it. */
function upgradePayload(manifest: Manifest, upgrade: Upgrade): void {
  const { object } = manifest
  const { manifests, gone, notes } = upgrade
  if (gone.has(manifest) || manifests.some((other) => isResourceSet(other.object) && names(other, manifest))) return
  if (!isPayloadName(object.metadata.name) && !JSON.stringify(object['data'] ?? '').includes('${')) return
  const inner = documentsOf(object)
  const pair = pairOfPayload(object, inner)
  if (pair) {
    leaveOut(upgrade, [manifest], `${nameOf(object)} is left out: ${REPLACEMENT[pair.installs]}`)
    const release = inner.find(isKarpenterRelease)
    if (release) carryRelease(manifest, pair.set, release, upgrade)
    return
  }
  const left = isPipelineSource(object, manifests) || !isAllManifests(inner) ? [] : placeholdersIn(inner)
  if (left.length > 0) notes.push(`${nameOf(object)}: ${nobodyFills(left)}`)
}

function carryRelease(manifest: Manifest, name: string, release: Fields, { made, notes }: Upgrade): void {
  notes.push(...karpenterNotes(release))
  const values = extraValues(release)
  if (Object.keys(values).length === 0) return
  made.push(withObject(manifest, pipelineFor({ ...manifest.object.metadata, name }, values)))
  notes.push(
    `Its Helm values become AddonPipeline/${name}; a Cluster chooses it with the label ${CHOICE_LABEL}=${name}`,
  )
}

const nobodyFills = (left: readonly string[]): string =>
  `nobody fills in ${left.join(', ')} in what a ClusterResourceSet delivers; move it to a stage of an AddonPipeline`

/** A Cluster with labels and nothing else asks for these labels on the Cluster that is there. */
function labelsOnly(manifest: Manifest, notes: string[]): Manifest {
  const { object } = manifest
  if (groupOf(object.apiVersion) !== 'cluster.x-k8s.io' || object.kind !== 'Cluster' || 'spec' in object)
    return manifest
  notes.push(
    `${nameOf(object)} has no spec: its labels and annotations are added to the Cluster that is there, and the rest of it stays`,
  )
  return { ...manifest, isAddition: true }
}

const TEMPLATES = ['CAPTControlPlaneTemplate', 'CAPTClusterTemplate']
/** Parts of an embedded ObjectMeta that say nothing about the objects made from a template. */
const OWN_METADATA = ['name', 'generateName', 'namespace', 'finalizers', 'creationTimestamp']

/** Older templates hold a whole ObjectMeta: labels and annotations are kept, the rest is of no object in particular. */
function upgradeTemplate(manifest: Manifest, notes: string[]): Manifest {
  const { object } = manifest
  const spec = isPlainObject(object['spec']) ? object['spec'] : {}
  const template = isPlainObject(spec['template']) ? spec['template'] : {}
  const { metadata } = template
  if (!TEMPLATES.includes(object.kind) || !isPlainObject(metadata)) return manifest
  const dropped = OWN_METADATA.filter((field) => Object.hasOwn(metadata, field))
  if (dropped.length === 0) return manifest
  const kept = Object.fromEntries(Object.entries(metadata).filter(([field]) => !dropped.includes(field)))
  notes.push(
    `${object.kind}/${object.metadata.name}: spec.template.metadata.${dropped.join(', .')} is left out: each object made from a template has its own; labels and annotations are kept`,
  )
  return { ...manifest, object: { ...object, spec: { ...spec, template: { ...template, metadata: kept } } } }
}

function withObject(manifest: Manifest, object: UnknownObject): Manifest {
  return { ...manifest, object, lineOf: () => manifest.line }
}

function karpenterNotes(release: Fields): readonly string[] {
  const { version } = chartOf(release)
  const { namespace } = isPlainObject(release['metadata']) ? release['metadata'] : {}
  return [
    ...(version
      ? [`Karpenter ${String(version)} is not kept: the version is chosen for the Kubernetes version of each Cluster`]
      : []),
    ...(namespace && namespace !== 'kube-system'
      ? [
          `Karpenter goes to kube-system instead of ${String(namespace)}, unless controlPlaneConfig.karpenter.namespace of the CAPTControlPlane says ${String(namespace)}`,
        ]
      : []),
  ]
}

/** Values that capt does not write by itself. */
function extraValues(release: Fields): Fields {
  const { serviceAccount, settings, ...rest } = valuesOf(release)
  const {
    clusterName: _name,
    clusterEndpoint: _endpoint,
    interruptionQueue: _queue,
    ...otherSettings
  } = isPlainObject(settings) ? settings : {}
  const { annotations, ...otherAccount } = isPlainObject(serviceAccount) ? serviceAccount : {}
  const { [ROLE_ANNOTATION]: _role, ...otherAnnotations } = isPlainObject(annotations) ? annotations : {}
  const account = {
    ...otherAccount,
    ...(Object.keys(otherAnnotations).length > 0 ? { annotations: otherAnnotations } : {}),
  }
  return {
    ...rest,
    ...(Object.keys(otherSettings).length > 0 ? { settings: otherSettings } : {}),
    ...(Object.keys(account).length > 0 ? { serviceAccount: account } : {}),
  }
}

function pipelineFor(metadata: UnknownObject['metadata'], values: Fields): UnknownObject {
  const request = [{ key: 'installation.appthrust.com/eks-karpenter', value: 'enabled' }]
  return {
    apiVersion: AddonPipeline.apiVersion,
    kind: AddonPipeline.kind,
    metadata: { name: metadata.name, ...(metadata.namespace ? { namespace: metadata.namespace } : {}) },
    spec: {
      clusterSelector: { matchLabels: { [CHOICE_LABEL]: metadata.name } },
      stages: [
        { name: 'flux', enabledBy: [{ key: 'fluxcd.io/enabled', value: 'true' }], flux: {} },
        {
          name: 'karpenter',
          needs: ['flux'],
          enabledBy: request,
          gateLabel: 'karpenter.sh/enabled',
          karpenter: { values },
        },
        {
          name: 'node-pool',
          needs: ['karpenter'],
          enabledBy: [...request, { key: 'karpenter.sh/enabled', value: 'true' }],
          nodePool: {},
        },
      ],
    },
  }
}
