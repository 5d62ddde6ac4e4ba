// The stage type flux: source-controller and helm-controller, from a bundle that capt ships or from an install file.
import { type AddonStage, CustomResourceDefinitionKind, type UnknownObject } from '#api'
import { fluxVersions, loadFluxDefinitions } from '#catalog'
import { fieldsOf, hashOf, isPlainObject, type JsonObject } from '#lib'
import type { Check } from '../health/read.ts'
import { type Manifest, parseManifests } from '../manifests/manifests.ts'
import { FLUX_NAMESPACE, fluxPayloadName, MANAGED_LABEL, setName } from '../names.ts'
import { type Part, renderPart, toPayloads } from '../resource-set/render-part.ts'
import { fluxObjects } from '../teardown/flux.ts'
import { fluxChecks, PROBE, READINESS_JOB, renderProbe, renderReadinessJob } from './flux/checks.ts'
import { decideExisting } from './flux/decide-existing.ts'
import { findFlux, readControllers } from './flux/existing.ts'
import { renderFlux } from './flux/install.ts'
import { readInstallFile } from './flux/install-file.ts'
import { renderAccess } from './registry-access.ts'
import { type ChartProbe, type Rendered, ready, type StageInput } from './render/rendered.ts'
import type { PreflightCheck, ReadyStage, StageType } from './stage-type.ts'

export const fluxStage: StageType = {
  component: 'flux',
  async readInput({ flux }, { ports, known: { versions, isFluxAdopted } }) {
    if (flux?.manifest) return { installFile: await readInstallFile(ports, flux.manifest) }
    const isBundled = !isFluxAdopted && fluxVersions.includes(versions.flux)
    return isBundled ? { definitions: await loadFluxDefinitions(versions.flux) } : {}
  },
  render,
  existing: { read: readControllers, find: findFlux, decide: decideExisting },
  preflight: (_stage, rendered, existing) => (existing.is === 'ours' ? storedVersionChecks(rendered) : []),
  removal: () => [fluxObjects],
}

function render(input: StageInput): Rendered {
  const spec = input.stage.flux!
  const rendered = renderParts(input, spec)
  const { fluxNamespace = FLUX_NAMESPACE } = input
  return fluxNamespace === FLUX_NAMESPACE ? rendered : { ...rendered, parts: moveChecks(rendered.parts, fluxNamespace) }
}

/** Checks an adopted Flux in the namespace where it is installed. */
function moveChecks(parts: readonly Part[], namespace: string): readonly Part[] {
  const move = (check: Check): Check => (check.namespace === FLUX_NAMESPACE ? { ...check, namespace } : check)
  return parts.map((part) => ({ ...part, checks: part.checks.map(move) }))
}

function renderParts(input: StageInput, spec: NonNullable<AddonStage['flux']>): ReadyStage {
  const version = input.versions.flux
  if (input.isFluxAdopted) return ready(version, [renderPart(input, '', [], [...fluxChecks(), ...input.stage.checks])])
  const options = {
    networkPolicy: spec.networkPolicy,
    tolerations: spec.tolerations as readonly JsonObject[] | undefined,
    imageRegistry: spec.imageRegistry,
    imageDigests: spec.imageDigests,
  }
  const isPlain =
    spec.networkPolicy && !spec.tolerations?.length && !spec.imageRegistry && !spec.imageDigests && !spec.manifest
  const key = isPlain ? '' : hashOf({ ...options, manifest: spec.manifest })
  const bundle = remember(`${version} ${key}`, () => {
    const manifests = input.installFile
      ? parseManifests(input.installFile, spec.manifest?.url ?? 'install file').map(markAsOurs)
      : renderFlux(version, input.definitions, options)
    const shared = (index: number) => fluxPayloadName(version, key, index)
    return { manifests, payloads: toPayloads(input.stage.name, '', input.cluster, manifests, { shared }) }
  })
  const checks = [...fluxChecks(), ...input.stage.checks]
  const install: Part = { name: '', set: setName(input.stage.name, '', input.cluster), ...bundle, checks }
  const source: ChartProbe | undefined = spec.probe ?? input.probe
  const probe = source
    ? [
        ...renderAccess(input, source.access, { name: PROBE, namespace: FLUX_NAMESPACE }),
        renderPart(input, 'probe', renderProbe(source), [
          { type: 'SourceReady', kind: 'OCIRepository', name: PROBE, namespace: FLUX_NAMESPACE },
        ]),
      ]
    : []
  const job = spec.readinessJob
    ? [
        renderPart(input, 'readiness', renderReadinessJob(spec.readinessJob, spec.tolerations), [
          { type: 'JobComplete', name: READINESS_JOB, namespace: FLUX_NAMESPACE },
        ]),
      ]
    : []
  return ready(version, [install, ...job, ...probe])
}

/** Labels what capt delivers; without the label it would count as foreign. */
function markAsOurs(manifest: Manifest): Manifest {
  const labels = { ...(manifest.metadata['labels'] as Record<string, string> | undefined), [MANAGED_LABEL]: 'true' }
  return { ...manifest, metadata: { ...manifest.metadata, labels } }
}

type Bundle = Pick<Part, 'manifests' | 'payloads'>
const bundles = new Map<string, Bundle>()
const MAX_BUNDLES = 8

/** Writing a bundle out takes long and every Cluster shares the result. */
function remember(key: string, render: () => Bundle): Bundle {
  const known = bundles.get(key)
  if (known) return known
  const bundle = render()
  if (bundles.size >= MAX_BUNDLES) bundles.delete(bundles.keys().next().value!)
  bundles.set(key, bundle)
  return bundle
}

/** The API server refuses a CRD that lacks a version in which objects are still stored. */
function storedVersionChecks({ parts }: ReadyStage): readonly PreflightCheck[] {
  const definitions = parts.flatMap((part) => part.manifests).filter(({ kind }) => kind === 'CustomResourceDefinition')
  return definitions.map((definition) => ({
    kind: CustomResourceDefinitionKind,
    where: { name: definition.metadata.name },
    decide: ([live]) => decideStoredVersions(definition, live),
  }))
}

function decideStoredVersions(definition: Manifest, live: UnknownObject | undefined) {
  const stored: unknown = fieldsOf(live?.['status'])['storedVersions']
  const kept = versionsOf(definition)
  const lost = (Array.isArray(stored) ? stored : []).filter((version) => !kept.includes(String(version)))
  if (lost.length === 0) return undefined
  const message = `Objects of ${definition.metadata.name} are still stored as ${lost.join(', ')}, which the new version does not have`
  const hint = 'Run flux migrate on the workload cluster, then capt retry'
  return { code: 'CAPT_FLUX_STORED_VERSIONS', message, hint }
}

function versionsOf({ spec }: Manifest): readonly string[] {
  const { versions } = fieldsOf(spec)
  return Array.isArray(versions) ? versions.flatMap((one) => (isPlainObject(one) ? [String(one['name'])] : [])) : []
}
