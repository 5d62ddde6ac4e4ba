// The scale subresource: one number, read from and written to the paths that the kind names.
import { parseJsonPath, setOwnValue } from '#lib'
import { patchValue } from '../merge/patch.ts'
import { type ApiObject, cloneJson, recordAt } from '../object.ts'
import { badRequest, internalError, invalid, invalidFault, notFound } from '../status.ts'
import type { WriteRequest } from './context.ts'
import { readServed, update } from './update.ts'

type ScaleChange = { readonly replace: unknown } | { readonly patch: unknown; readonly mediaType: string }

export function readScale(request: WriteRequest, name: string): ApiObject {
  const { type, version } = request
  const object = find(request, name)
  const path = version.scale!.specReplicasPath
  if (type.custom && parseJsonPath(path)(object).length === 0) {
    throw internalError(`the spec replicas field "${path}" does not exist`)
  }
  return toScale(request, object)
}

export function writeScale(request: WriteRequest, name: string, change: ScaleChange): ApiObject {
  const old = find(request, name)
  const scale = toScale(request, old)
  const next = (
    'replace' in change ? change.replace : patchValue(cloneJson(scale), change.patch, change.mediaType)
  ) as ApiObject
  const replicas = recordAt(next, 'spec')['replicas'] ?? 0
  if (!Number.isInteger(replicas))
    throw badRequest('Scale in version "v1" cannot be handled as a Scale: spec.replicas must be an integer')
  const { type, version } = request
  if ((replicas as number) < 0) {
    const path = type.custom ? version.scale!.specReplicasPath : 'spec.replicas'
    const why = type.custom ? 'should be a non-negative integer' : 'must be greater than or equal to 0'
    throw invalid(type.custom ? type : { group: 'autoscaling', kind: 'Scale' }, name, [
      invalidFault(path, replicas, why),
    ])
  }
  const changed = cloneJson(old)
  setPath(changed, request.version.scale!.specReplicasPath, replicas)
  const { resourceVersion, uid } = recordAt(next, 'metadata') as { resourceVersion?: string; uid?: string }
  changed.metadata = { ...changed.metadata, ...(resourceVersion ? { resourceVersion } : {}), ...(uid ? { uid } : {}) }
  return toScale(request, update({ ...request, subresource: undefined }, old, changed))
}

function find(request: WriteRequest, name: string): ApiObject {
  const object = readServed(request, name)
  if (!object) throw notFound(request.type, name)
  return object
}

function toScale({ version, type }: WriteRequest, object: ApiObject): ApiObject {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = version.scale!
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const selector = labelSelectorPath
    ? parseJsonPath(labelSelectorPath)(object)[0]
    : builtinSelector(object, type.custom)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name,
      ...(namespace ? { namespace } : {}),
      uid: uid!,
      resourceVersion: resourceVersion!,
      creationTimestamp: creationTimestamp!,
    },
    spec: { replicas: parseJsonPath(specReplicasPath)(object)[0] ?? 0 },
    status: { replicas: parseJsonPath(statusReplicasPath)(object)[0] ?? 0, ...(selector ? { selector } : {}) },
  }
}

function builtinSelector(object: ApiObject, custom: boolean): string | undefined {
  if (custom) return undefined
  const labels = Object.entries(recordAt(object, 'spec', 'selector', 'matchLabels'))
  return labels.map(([key, value]) => `${key}=${value}`).join(',') || undefined
}

function setPath(object: ApiObject, path: string, value: unknown): void {
  const steps = path.replace(/^\./, '').split('.')
  let node: Record<string, unknown> = object
  for (const step of steps.slice(0, -1)) {
    const inner = { ...recordAt(node, step) }
    setOwnValue(node, step, inner)
    node = inner
  }
  setOwnValue(node, steps.at(-1)!, value)
}
