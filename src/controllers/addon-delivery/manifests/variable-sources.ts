// Reads the values behind a pipeline's variables: outputs of the control plane, and named applies, ConfigMaps, Secrets.
import {
  type ConfigMap,
  ConfigMapKind,
  decodeData,
  type Secret,
  SecretKind,
  type UnknownObject,
  type VariableSource,
  WorkspaceTemplateApply,
} from '#api'
import type { Objects } from '#kube'
import { fieldsOf, isPlainObject, type Json, ownValue, setOwnValue } from '#lib'
import { readPath } from '../health/path.ts'
import { flattenOutputs, type Variables } from './variables.ts'

export interface ReadSources {
  readonly values: readonly Variables[]
  readonly secret: ReadonlySet<string>
  /** Sources that must exist and do not: `ConfigMap demo-extra`. */
  readonly missing: readonly string[]
}

export async function readSources(
  objects: Objects,
  namespace: string,
  cluster: string,
  sources: readonly VariableSource[],
): Promise<ReadSources> {
  const values: Variables[] = []
  const secret = new Set<string>()
  const missing: string[] = []
  for (const source of sources) {
    const name = source.name.replaceAll('${CLUSTER_NAME}', cluster)
    const found = await readSource(objects, namespace, name, source.kind)
    if (!found) {
      if (!source.optional) missing.push(`${source.kind} ${name}`)
      continue
    }
    const chosen = source.keys ? chooseKeys(found, source.keys) : found
    values.push(chosen)
    if (source.kind === 'Secret') for (const key of Object.keys(chosen)) secret.add(key)
  }
  return { values, secret, missing }
}

async function readSource(
  objects: Objects,
  namespace: string,
  name: string,
  kind: VariableSource['kind'],
): Promise<Variables | undefined> {
  const key = { namespace, name }
  if (kind === 'ConfigMap') return (await objects.get<ConfigMap>(ConfigMapKind, key))?.data ?? undefined
  if (kind === 'Secret') {
    const live = await objects.get<Secret>(SecretKind, key)
    return live && decodeData(live.data)
  }
  const apply = await objects.get<UnknownObject>(WorkspaceTemplateApply, key)
  const outputs = apply ? outputsOf(apply) : undefined
  return outputs && Object.keys(outputs).length > 0 ? flattenOutputs(outputs) : undefined
}

/** Outputs that are not sensitive, of an apply (`status.outputs`) or a control plane (`…atProvider.outputs`). */
export function outputsOf(object: object): Readonly<Record<string, unknown>> {
  const own = readPath(object, 'status.outputs')
  const nested = readPath(object, 'status.workspaceStatus.atProvider.outputs')
  return isPlainObject(own) ? own : fieldsOf(nested)
}

function chooseKeys(found: Variables, keys: Readonly<Record<string, string>>): Variables {
  const chosen: Record<string, Json> = {}
  for (const [variable, path] of Object.entries(keys)) {
    const value = ownValue(found, path) ?? (readPath(found, path) as Json | undefined)
    if (value !== undefined) setOwnValue(chosen, variable, value)
  }
  return chosen
}
