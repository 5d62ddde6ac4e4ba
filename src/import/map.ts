// Turns objects of the older project into objects of capt, and says what became of each. Pure.
import {
  ALL_KINDS,
  CAPTCluster,
  CAPTControlPlane,
  CAPTMachine,
  CLUSTER_NAME_LABEL,
  checkObject,
  groupOf,
  type Kind,
  type UnknownObject,
  WorkspaceTemplateApply,
} from '#api'
import { ImportContext, type ImportOptions } from './context.ts'
import { mapCaptCluster, mapCluster, mapControlPlane, mapControlPlaneTemplate } from './kinds/clusters.ts'
import { mapProviderConfig, mapSecret, mapWorkspace } from './kinds/foreign.ts'
import { mapMachine, mapMachineTemplate, mapReplicas } from './kinds/machines.ts'
import { mapApply, mapTemplate } from './kinds/workspaces.ts'
import { fieldsOf, kept, type Outcome, refused, textOf } from './outcome.ts'

type Mapper = (object: UnknownObject, context: ImportContext) => Outcome

const INFRASTRUCTURE = 'infrastructure.cluster.x-k8s.io'
const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io'
const CROSSPLANE = 'tf.upbound.io'

const MAPPERS: Readonly<Record<string, Mapper>> = {
  'cluster.x-k8s.io/Cluster': mapCluster,
  [`${INFRASTRUCTURE}/CAPTCluster`]: mapCaptCluster,
  [`${INFRASTRUCTURE}/CAPTMachine`]: mapMachine,
  [`${INFRASTRUCTURE}/CAPTMachineSet`]: mapReplicas,
  [`${INFRASTRUCTURE}/CAPTMachineDeployment`]: mapReplicas,
  [`${INFRASTRUCTURE}/CAPTMachineTemplate`]: mapMachineTemplate,
  [`${INFRASTRUCTURE}/WorkspaceTemplate`]: mapTemplate,
  [`${INFRASTRUCTURE}/WorkspaceTemplateApply`]: mapApply,
  [`${CONTROL_PLANE}/CAPTControlPlane`]: mapControlPlane,
  [`${CONTROL_PLANE}/CAPTControlPlaneTemplate`]: mapControlPlaneTemplate,
  [`${CROSSPLANE}/Workspace`]: mapWorkspace,
  [`${CROSSPLANE}/ProviderConfig`]: mapProviderConfig,
  '/Secret': mapSecret,
}

/** An object as it was read, with the spelling of its kind where that was another one. */
export interface Given {
  readonly object: UnknownObject
  readonly speltBefore?: string
}

export interface MappedApply {
  readonly object: UnknownObject
  /** The object that takes it over: `CAPTCluster demo`. None for applies that stand alone. */
  readonly owner?: string
  /** Terraform had applied it, according to its status. */
  readonly wasApplied: boolean
}

export interface Mapped {
  readonly outcomes: readonly Outcome[]
  /** Everything but applies. */
  readonly objects: readonly UnknownObject[]
  readonly applies: readonly MappedApply[]
}

export function mapObjects(given: readonly Given[], options: ImportOptions): Mapped {
  const context = new ImportContext(
    given.map(({ object }) => object),
    options,
  )
  const mapped = given.map(({ object, speltBefore }) => check(respelt(mapOne(object, context), object, speltBefore)))
  const made = mapped.flatMap(({ objects }) => objects)
  const applies = appliesOf(made, context)
  const outcomes = mapped.map((outcome) => withOwner(outcome, applies, context))
  const isApply = ({ kind }: UnknownObject): boolean => kind === WorkspaceTemplateApply.kind
  return {
    outcomes,
    objects: made.filter((object) => !isApply(object)),
    applies,
  }
}

function mapOne(object: UnknownObject, context: ImportContext): Outcome {
  if (object.metadata.deletionTimestamp !== undefined)
    return refused(object, 'it is being deleted', 'wait until it is gone, then import again')
  const mapper = MAPPERS[`${groupOf(object.apiVersion)}/${object.kind}`]
  return mapper ? mapper(object, context) : kept(object)
}

function respelt(outcome: Outcome, { kind, metadata }: UnknownObject, before: string | undefined): Outcome {
  if (before === undefined || before === kind) return outcome
  const subject = `${before}/${metadata.name}`
  if (outcome.is === 'dropped' || outcome.is === 'refused') return { ...outcome, subject }
  if (outcome.changes.some(({ path }) => path === 'kind')) return { ...outcome, subject }
  const spelling = { path: 'kind', what: `${kind} instead of ${before}` }
  return { ...outcome, subject, is: 'changed', changes: [spelling, ...outcome.changes] }
}

/** What capt itself would refuse is refused here, before anything is written. */
function check(outcome: Outcome): Outcome {
  for (const object of outcome.objects) {
    const kind = ALL_KINDS.find((one) => one.group === groupOf(object.apiVersion) && one.kind === object.kind)
    const [fault] = kind ? checkObject(kind as Kind, object).faults : []
    if (!fault) continue
    return {
      ...outcome,
      is: 'refused',
      objects: [],
      reason: `${fault.path === '' ? '' : `${fault.path}: `}${fault.message}`,
      hint: fault.hint ?? 'change it in the source, then import again',
    }
  }
  return outcome
}

/** The applies that are there, and those that a CAPTCluster or CAPTControlPlane will ask for. */
function appliesOf(made: readonly UnknownObject[], context: ImportContext): readonly MappedApply[] {
  const owned = made.flatMap((object) => ownedApply(object, context) ?? [])
  const key = (object: UnknownObject): string => `${context.namespaceOf(object)}/${object.metadata.name}`
  const names = new Set(owned.map(({ object }) => key(object)))
  const standing = made
    .filter((object) => object.kind === WorkspaceTemplateApply.kind && !names.has(key(object)))
    .map((object) => ({ object, wasApplied: wasApplied(object, context) }))
  return [...owned, ...standing]
}

/** The owner of an apply writes its spec: what stood in it is not taken over. */
function withOwner(outcome: Outcome, applies: readonly MappedApply[], context: ImportContext): Outcome {
  const [object] = outcome.objects
  if (object?.kind !== WorkspaceTemplateApply.kind) return outcome
  const owned = applies.find((one) => isSame(one.object, object, context) && one.owner !== undefined)
  if (!owned) return outcome
  const what = `left to ${owned.owner}, which writes it`
  return { ...outcome, is: 'changed', changes: [{ path: 'spec', what }], objects: [owned.object] }
}

const isSame = (a: UnknownObject, b: UnknownObject, context: ImportContext): boolean =>
  a.metadata.name === b.metadata.name && context.namespaceOf(a) === context.namespaceOf(b)

function wasApplied(apply: UnknownObject, context: ImportContext): boolean {
  const found = context.all(WorkspaceTemplateApply.kind).find((one) => isSame(one, apply, context))
  return fieldsOf(found?.['status'])['applied'] === true
}

/** Who asks for an apply, by which field, and under which name. */
const OWNERS: Readonly<Record<string, { readonly ref: string; readonly name: (owner: string) => string }>> = {
  [CAPTCluster.kind]: { ref: 'vpcTemplateRef', name: (owner) => `${owner}-vpc` },
  [CAPTControlPlane.kind]: { ref: 'workspaceTemplateRef', name: (owner) => `${owner}-eks-controlplane-apply` },
  [CAPTMachine.kind]: { ref: 'workspaceTemplateRef', name: (owner) => `${owner}-machine` },
}

/**
 * As little as its owner needs to recognize it: the name that the cluster has in AWS. The owner writes the rest, and what
 * it does not write must not stay behind.
 */
function ownedApply(object: UnknownObject, context: ImportContext): MappedApply | undefined {
  const owner = OWNERS[object.kind]
  const spec = fieldsOf(object['spec'])
  const templateRef = owner && spec[owner.ref]
  if (!owner || templateRef === undefined) return undefined
  const { name: ownerName, namespace, labels } = object.metadata
  const cluster = object.kind === CAPTMachine.kind ? (labels?.[CLUSTER_NAME_LABEL] ?? '') : ownerName
  const name = textOf(spec['workspaceTemplateApplyName']) ?? owner.name(ownerName)
  const { retains, suspends } = context.policyOf(templateRef, context.namespaceOf(object))
  const apply: UnknownObject = {
    apiVersion: WorkspaceTemplateApply.apiVersion,
    kind: WorkspaceTemplateApply.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels: { [CLUSTER_NAME_LABEL]: cluster } },
    spec: {
      templateRef,
      variables: { cluster_name: cluster },
      ...(retains ? { retainWorkspaceOnDelete: true } : {}),
      ...(suspends ? { suspend: true } : {}),
    },
  }
  return { object: apply, owner: `${object.kind} ${ownerName}`, wasApplied: wasApplied(apply, context) }
}

export const isRefused = ({ is }: Outcome): boolean => is === 'refused'
