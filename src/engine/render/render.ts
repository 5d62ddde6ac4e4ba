// Turns a template and an apply into a Workspace: everything a run needs, as data, with a hash that changes when and
// only when Terraform would be given something else. Pure; contents of ConfigMaps and Secrets come in by hand.
import type { WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { hashOf, type Json, type JsonObject } from '#lib'
import type { Problem, Rendering, SourceRef, Workspace } from '../workspace.ts'
import { substituteHcl, substituteTerraformJson } from './inline.ts'
import { resolveValues } from './values.ts'

/** Declares the variables that bring values into inline text. */
export const REFERENCES_FILE = 'capt_variables.tf.json'

type ForProvider = WorkspaceTemplate['spec']['template']['spec']['forProvider']
type TemplateSpec = WorkspaceTemplate['spec']['template']['spec']
type Owner = Pick<WorkspaceTemplateApply, 'metadata' | 'spec'>

/** Name of the workspace: the apply's without one trailing `-apply`. */
export function workspaceNameOf(applyName: string): string {
  return applyName.replace(/-apply$/, '') || applyName
}

/** What the template needs to have read before it can be rendered. */
export function workspaceSources(template: WorkspaceTemplate, apply: Owner): readonly SourceRef[] {
  const { spec } = resolveSpec(template, apply)
  const { varFiles = [], env = [] } = spec.forProvider
  const namespace = apply.metadata.namespace ?? ''
  return [...varFiles, ...env.filter(isFrozenEnv)].flatMap((item) => toSourceRef(item, namespace) ?? [])
}

export function renderWorkspace(
  template: WorkspaceTemplate,
  apply: Owner,
  contentOf: (ref: SourceRef) => string | undefined = () => undefined,
): Rendering {
  const { spec, module, unresolved } = resolveSpec(template, apply)
  const { forProvider } = spec
  const namespace = apply.metadata.namespace ?? ''
  const problems: Problem[] = []
  if (unresolved.length > 0) {
    problems.push({
      reason: 'VariableUnresolved',
      message: `no variable ${unresolved.map((name) => `\${${name}}`).join(', ')} for WorkspaceTemplate ${template.metadata.name}`,
      hint: `set ${unresolved.map((name) => `spec.variables.${name}`).join(', ')}, or write $\${…} for the text itself`,
    })
  }
  const read = (ref: SourceRef): string => {
    const content = contentOf(ref)
    if (content === undefined) problems.push(missing(ref))
    return content ?? ''
  }

  const inline = forProvider.source === 'Inline' ? renderInline(forProvider, module, apply) : undefined
  const secretValues: string[] = []
  const varFiles = (forProvider.varFiles ?? []).map((file) => {
    const ref = toSourceRef(file, namespace)!
    const content = read(ref)
    if (ref.kind === 'Secret') secretValues.push(content)
    return { format: file.format, content }
  })
  const env: Record<string, string> = {}
  for (const item of forProvider.env ?? []) {
    const ref = toSourceRef(item, namespace)
    if (item.value !== undefined) env[item.name] = item.value
    else if (ref && isFrozenEnv(item)) {
      env[item.name] = read(ref)
      if (ref.kind === 'Secret') secretValues.push(env[item.name]!)
    }
  }
  if (problems.length > 0) return { ok: false, problems }

  const connection = apply.spec.writeConnectionSecretToRef ?? spec.writeConnectionSecretToRef
  const inputs = {
    name: workspaceNameOf(apply.metadata.name),
    source:
      inline === undefined
        ? { kind: 'remote' as const, address: forProvider.module, entrypoint: forProvider.entrypoint ?? '' }
        : { kind: 'inline' as const },
    files: inline?.files ?? {},
    variables: {
      offered: apply.spec.variables,
      given: { ...(forProvider.varmap as JsonObject | undefined) },
      texts: Object.fromEntries((forProvider.vars ?? []).map(({ key, value }) => [key, value])),
      exact: { ...(apply.spec.values as JsonObject | undefined), ...inline?.references },
    },
    varFiles,
    env,
    secretEnv: (forProvider.env ?? []).flatMap((item) => {
      const ref = isFrozenEnv(item) ? undefined : toSourceRef(item, namespace)
      return ref ? [{ name: item.name, ref }] : []
    }),
    credentials: credentialRefs(spec, apply, namespace),
    args: {
      init: forProvider.initArgs ?? [],
      plan: forProvider.planArgs ?? [],
      apply: forProvider.applyArgs ?? [],
      destroy: forProvider.destroyArgs ?? [],
    },
    ...(spec.tool ? { tool: spec.tool } : {}),
    connectionSecret: connection && { namespace: connection.namespace ?? namespace, name: connection.name },
  }
  const workspace: Workspace = {
    ...inputs,
    ...(spec.resources ? { resources: spec.resources } : {}),
    secretValues,
    logToManager: forProvider.enableTerraformCLILogging ?? false,
    hash: hashOf(inputs),
  }
  return { ok: true, workspace }
}

/** Every string of the spec with its `${key}` replaced, except inline text, where `${…}` is Terraform's. */
function resolveSpec(template: WorkspaceTemplate, apply: Owner) {
  const given = template.spec.template.spec
  const { module } = given.forProvider
  const isInline = given.forProvider.source === 'Inline'
  const plain = isInline ? { ...given, forProvider: { ...given.forProvider, module: '' } } : given
  const { value, unresolved } = resolveValues(plain as unknown as Json, valuesOf(apply))
  return { spec: value as unknown as TemplateSpec, module, unresolved }
}

function valuesOf(apply: Owner): Readonly<Record<string, string>> {
  return { ...apply.spec.variables, WORKSPACE_NAME: workspaceNameOf(apply.metadata.name) }
}

function renderInline({ inlineFormat }: ForProvider, module: string, apply: Owner) {
  const isJson = inlineFormat === 'JSON'
  const { text, references } = (isJson ? substituteTerraformJson : substituteHcl)(module, valuesOf(apply))
  const files: Record<string, string> = { [isJson ? 'main.tf.json' : 'main.tf']: text }
  const names = Object.keys(references).sort()
  if (names.length > 0) {
    const variable = Object.fromEntries(names.map((name) => [name, { type: 'string', nullable: false }]))
    files[REFERENCES_FILE] = JSON.stringify({ variable }, null, 2)
  }
  return { files, references }
}

interface Keyed {
  readonly configMapKeyRef?: { readonly name: string; readonly namespace?: string; readonly key: string }
  readonly secretKeyRef?: { readonly name: string; readonly namespace?: string; readonly key: string }
}

function toSourceRef({ configMapKeyRef, secretKeyRef }: Keyed, namespace: string): SourceRef | undefined {
  const ref = secretKeyRef ?? configMapKeyRef
  if (!ref) return undefined
  return {
    kind: secretKeyRef ? 'Secret' : 'ConfigMap',
    namespace: ref.namespace ?? namespace,
    name: ref.name,
    key: ref.key,
  }
}

/** Variables are inputs and are frozen with the run; any other value from a Secret counts as a credential. */
function isFrozenEnv(item: Keyed & { readonly name: string }): boolean {
  return item.configMapKeyRef !== undefined || (item.secretKeyRef !== undefined && item.name.startsWith('TF_VAR_'))
}

function credentialRefs(spec: TemplateSpec, apply: Owner, namespace: string) {
  const provider = spec.providerConfigRef
  const own = apply.spec.credentialsRef
  return [
    ...(provider ? [{ namespace, name: provider.name }] : []),
    ...(own ? [{ namespace: own.namespace ?? namespace, name: own.name }] : []),
  ]
}

function missing({ kind, namespace, name, key }: SourceRef): Problem {
  return {
    reason: 'SourceMissing',
    message: `no key ${key} in ${kind} ${namespace}/${name}`,
    hint: `create the ${kind} ${name} in namespace ${namespace} with the key ${key}`,
  }
}
