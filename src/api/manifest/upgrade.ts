// Understands the ClusterResourceSet manifests of older proposals: an API version that is no longer served, a Flux
// installer that could not have worked, variables that nobody filled in. What capt does itself is left to its own
// pipeline, the rest is carried over; every change is said in words.
import { canonicalJson, isPlainObject, type Json } from '#lib'
import { groupOf } from '../contract.ts'
import { AddonPipeline } from '../kinds/addon-pipeline.ts'
import type { UnknownObject } from '../object.ts'
import { readDocuments } from './documents.ts'
import type { Manifest } from './manifest.ts'

interface Upgraded {
  readonly manifests: readonly Manifest[]
  /** What was changed and why, one sentence each. */
  readonly notes: readonly string[]
}

type Fields = Record<string, unknown>
const ADDONS = 'addons.cluster.x-k8s.io'
const CHOICE_LABEL = 'capt.appthrust.com/addon-pipeline'
const ROLE_ANNOTATION = 'eks.amazonaws.com/role-arn'

const isOldAddon = ({ apiVersion }: UnknownObject) =>
  groupOf(apiVersion) === ADDONS && /\/v1alpha[34]$/.test(apiVersion)

export function upgradeManifests(given: readonly Manifest[]): Upgraded {
  const notes: string[] = []
  const manifests = given.map((manifest) => upgradeTemplate(manifest, notes))
  if (!manifests.some(({ object }) => isOldAddon(object) || isReadinessJob(object))) return { manifests, notes }
  const gone = new Set<Manifest>()
  const made: Manifest[] = []
  for (const manifest of manifests) {
    const { object } = manifest
    const name = `${object.kind}/${object.metadata.name}`
    if (isReadinessJob(object)) {
      gone.add(manifest)
      notes.push(
        `${name} is left out: capt looks at Flux itself; an AddonPipeline has flux.readinessJob for those who want the Job`,
      )
    }
    if (!isOldAddon(object)) continue
    if (object.kind === 'ClusterResourceSetBinding') {
      gone.add(manifest)
      notes.push(`${name} is left out: bindings are written by the controller alone; capt describe cluster shows them`)
      continue
    }
    const payloads = payloadsOf(manifest, manifests)
    const inner = payloads.flatMap((payload) => documentsOf(payload.object))
    gone.add(manifest)
    if (inner.some(installsFlux)) {
      for (const payload of payloads) gone.add(payload)
      notes.push(
        `${name} and its ConfigMap are left out: capt installs Flux itself on Clusters labelled fluxcd.io/enabled=true, as plain manifests of a supported version`,
      )
      continue
    }
    const release = inner.find(isKarpenterRelease)
    if (!release) {
      made.push(withObject(manifest, { ...object, apiVersion: `${ADDONS}/v1beta2` }))
      notes.push(`${name} is written as ${ADDONS}/v1beta2; ${String(object.apiVersion)} is not served any more`)
      if (JSON.stringify(inner).includes('${'))
        notes.push(
          `${name}: nobody fills in \${…} in what a ClusterResourceSet delivers; move it to a stage of an AddonPipeline`,
        )
      continue
    }
    for (const payload of payloads) gone.add(payload)
    notes.push(...karpenterNotes(name, release))
    const values = extraValues(release)
    if (Object.keys(values).length === 0) continue
    made.push(withObject(manifest, pipelineFor(object, values)))
    notes.push(
      `Its Helm values become AddonPipeline/${object.metadata.name}; a Cluster chooses it with the label ${CHOICE_LABEL}=${object.metadata.name}`,
    )
  }
  return { manifests: [...manifests.filter((manifest) => !gone.has(manifest)), ...made], notes }
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

function isReadinessJob({ apiVersion, kind, metadata }: UnknownObject): boolean {
  return apiVersion === 'batch/v1' && kind === 'Job' && metadata.name === 'fluxcd-readiness-check'
}

function payloadsOf({ object }: Manifest, manifests: readonly Manifest[]): readonly Manifest[] {
  const resources: unknown = isPlainObject(object['spec']) ? object['spec']['resources'] : undefined
  const refs = Array.isArray(resources) ? resources.filter(isPlainObject) : []
  const namespace = object.metadata.namespace ?? 'default'
  return manifests.filter(({ object: other }) =>
    refs.some(
      (ref) =>
        ref['kind'] === other.kind &&
        ref['name'] === other.metadata.name &&
        (other.metadata.namespace ?? 'default') === namespace,
    ),
  )
}

function documentsOf(payload: UnknownObject): readonly Fields[] {
  const data = isPlainObject(payload['data']) ? payload['data'] : {}
  const texts = Object.values(data).filter((text) => typeof text === 'string')
  return texts.flatMap((text) => readDocuments(text).map(({ value }) => value())).filter(isPlainObject)
}

/** The installer Job of the command line tool, or a HelmRelease of Flux itself, which nothing could have read. */
function installsFlux(document: Fields): boolean {
  const text = canonicalJson(document as Json)
  if (document['kind'] === 'Job') return text.includes('flux install') || text.includes('flux-cli')
  return document['kind'] === 'HelmRelease' && chartOf(document)['chart'] === 'flux2'
}

const isKarpenterRelease = (document: Fields): boolean =>
  document['kind'] === 'HelmRelease' && chartOf(document)['chart'] === 'karpenter'

function chartOf(release: Fields): Fields {
  const chart = isPlainObject(release['spec']) ? release['spec']['chart'] : undefined
  return isPlainObject(chart) && isPlainObject(chart['spec']) ? chart['spec'] : {}
}

function valuesOf(release: Fields): Fields {
  const values = isPlainObject(release['spec']) ? release['spec']['values'] : undefined
  return isPlainObject(values) ? values : {}
}

function karpenterNotes(name: string, release: Fields): readonly string[] {
  const { version } = chartOf(release)
  const { namespace } = isPlainObject(release['metadata']) ? release['metadata'] : {}
  return [
    `${name} and its ConfigMap are left out: capt brings Karpenter through Flux to Clusters that ask for it, with the values of each Cluster filled in`,
    ...(version
      ? [`Karpenter ${String(version)} is not kept: the version is chosen for the Kubernetes version of each Cluster`]
      : []),
    ...(namespace && namespace !== 'kube-system'
      ? [
          `Karpenter goes to kube-system instead of ${String(namespace)}, where the role of the control plane is trusted`,
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

function pipelineFor({ metadata }: UnknownObject, values: Fields): UnknownObject {
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
