// Templates of a deployment: which two are the same, the hash that names a set, and revisions. Pure.
import {
  type AnyObject,
  type CAPTMachineDeployment,
  type CAPTMachineSet,
  IN_PLACE_FIELDS,
  RESTARTED_AT_ANNOTATION,
  REVISION_ANNOTATION,
  TEMPLATE_HASH_LABEL,
} from '#api'
import { boundedName, canonicalJson, jsonEqual, shortHash } from '#lib'

type Template = CAPTMachineDeployment['spec']['template']

/** What decides whether machines are replaced: everything but what changes in place. */
function replacedBy({ metadata, spec }: Template): object {
  const fixed = Object.entries(spec).filter(([field]) => !(IN_PLACE_FIELDS as readonly string[]).includes(field))
  return { spec: Object.fromEntries(fixed), restartedAt: metadata?.annotations?.[RESTARTED_AT_ANNOTATION] ?? null }
}

export function isSameTemplate(a: Template, b: Template): boolean {
  return jsonEqual(replacedBy(a), replacedBy(b))
}

/** `collisions` gives another hash when the name of a set is taken. */
function templateHash(template: Template, collisions: number): string {
  return shortHash(canonicalJson([replacedBy(template), collisions]), 10)
}

/** The set for the current template: its name, and the hash in it. */
export function nextSet({ metadata, spec, status }: CAPTMachineDeployment): { name: string; hash: string } {
  const hash = templateHash(spec.template, status?.collisionCount ?? 0)
  return { name: `${boundedName(metadata.name, 130)}-${hash}`, hash }
}

/** The template of a set: that of the deployment, with the label that makes its machines its own. */
export function toSetTemplate(template: Template, hash: string): Template {
  const labels = { ...template.metadata?.labels, [TEMPLATE_HASH_LABEL]: hash }
  return { ...template, metadata: { ...template.metadata, labels } }
}

export function toSetSelector(
  { selector }: CAPTMachineDeployment['spec'],
  hash: string,
): CAPTMachineSet['spec']['selector'] {
  return { ...selector, matchLabels: { ...selector.matchLabels, [TEMPLATE_HASH_LABEL]: hash } }
}

export function revisionOf({ metadata }: AnyObject): number {
  const revision = Number(metadata.annotations?.[REVISION_ANNOTATION])
  return Number.isInteger(revision) && revision > 0 ? revision : 0
}
