// Lays out the work folder for a run: from the rendered workspace, or from what was frozen with an earlier one. State,
// downloaded modules and providers of earlier runs stay where they are.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { canonicalJson, hashOf, type Json } from '#lib'
import { scanHcl } from '../../render/hcl.ts'
import { REFERENCES_FILE } from '../../render/render.ts'
import { assembleVariables, type Declared, declaredVariables } from '../../render/variables.ts'
import type { Bundle } from '../../saved/bundle.ts'
import { restoreFiles } from '../../saved/bundle.ts'
import { stringsIn, stringsInVarFile } from '../../secrets.ts'
import type { Workspace } from '../../workspace.ts'
import { backendFile, backendSecrets, type SortedArguments, sortArguments } from '../process/arguments.ts'
import { keepState, STATE_FILE } from '../state/state-files.ts'
import type { Credentials } from './credentials.ts'
import { type Folder, readText } from './folder.ts'
import { hasPackages } from './providers.ts'

export interface Layout {
  /** Where Terraform runs. */
  readonly root: string
  readonly workspace: Workspace
  /** Arguments of `plan` that name the variable files. */
  readonly varArgs: readonly string[]
  /** The same for `plan -destroy`. */
  readonly destroyVarArgs: readonly string[]
  readonly initArgs: readonly string[]
  readonly hasBackendSecrets: boolean
  readonly planArgs: readonly string[]
  readonly applyArgs: readonly string[]
  readonly destroyArgs: readonly string[]
  readonly secrets: readonly string[]
}

const SOURCE_MARK = '.capt-source'
const INIT_MARK = '.capt-init'
/** Written for templates that name the local backend. */
export const OVERRIDE_FILE = 'capt_backend_override.tf.json'
/** Earlier versions wrote Terraform text of a Secret here; an interrupted run may have left it. */
const FORMER_PROVIDER_FILE = 'capt_provider.tf'

export function rootOf(folder: Folder, workspace: Workspace): string {
  return workspace.source.kind === 'remote' ? join(folder.work, workspace.source.entrypoint) : folder.work
}

/** Whether the module must be fetched before anything else can be laid out. */
export function needsFetch(folder: Folder, workspace: Workspace): boolean {
  if (workspace.source.kind !== 'remote') return false
  return readMark(folder, SOURCE_MARK) !== workspace.source.address
}

/** An empty folder for `init -from-module`; state waits outside meanwhile. */
export function clearForFetch(folder: Folder): void {
  keepState(folder, () => rmSync(folder.work, { recursive: true, force: true }))
  mkdirSync(folder.work, { recursive: true, mode: 0o700 })
}

export function markFetched(folder: Folder, workspace: Workspace): void {
  if (workspace.source.kind === 'remote') writeFileSync(join(folder.work, SOURCE_MARK), workspace.source.address)
}

/** Files of an inline module; those of an earlier rendering go. */
function writeInline(root: string, workspace: Workspace): void {
  mkdirSync(root, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(root)) {
    if (/\.tf(\.json)?$/.test(name) && !(name in workspace.files)) rmSync(join(root, name), { force: true })
  }
  for (const [name, text] of Object.entries(workspace.files)) writeFileSync(join(root, name), text, { mode: 0o600 })
}

/** From the rendered workspace; a Remote module must have been fetched. */
export function layOut(folder: Folder, workspace: Workspace, credentials: Credentials): Layout {
  const root = rootOf(folder, workspace)
  if (workspace.source.kind === 'inline') writeInline(root, workspace)
  return finish(folder, workspace, credentials)
}

/** From frozen inputs: exactly the files of that run, whatever lies there now. */
export async function layOutFrozen(folder: Folder, bundle: Bundle, credentials: Credentials): Promise<Layout> {
  const { workspace } = bundle
  const root = rootOf(folder, workspace)
  const providers = join(root, '.terraform', 'providers')
  const aside = join(folder.path, 'providers-aside')
  rmSync(aside, { recursive: true, force: true })
  if (existsSync(providers)) renameSync(providers, aside)
  keepState(folder, () => rmSync(folder.work, { recursive: true, force: true }))
  await restoreFiles(folder.work, bundle)
  mkdirSync(join(root, '.terraform'), { recursive: true, mode: 0o700 })
  if (existsSync(aside)) renameSync(aside, providers)
  markFetched(folder, workspace)
  return finish(folder, workspace, credentials)
}

function finish(folder: Folder, workspace: Workspace, credentials: Credentials): Layout {
  const root = rootOf(folder, workspace)
  rmSync(join(root, FORMER_PROVIDER_FILE), { force: true })
  const texts = rootTexts(root)
  overrideLocalBackend(root, texts)
  const declared = declaredVariables(texts)
  const sorted = sortArguments(workspace.args)
  const varArgs = writeVariables(folder, workspace, declared, sorted.variables)
  return {
    root,
    workspace,
    varArgs,
    destroyVarArgs: [...varArgs, ...writeTexts(folder, 'destroy', sorted.destroyVariables, declared)],
    initArgs: [
      ...sorted.init,
      ...writeTexts(folder, 'init', sorted.initVariables, declared),
      ...writeBackend(folder, sorted.backend),
    ],
    hasBackendSecrets: backendSecrets(sorted.backend).length > 0,
    planArgs: sorted.plan,
    applyArgs: sorted.apply,
    destroyArgs: sorted.destroy,
    secrets: [
      ...credentials.secrets,
      ...secretVariables(workspace, declared, sorted),
      ...backendSecrets(sorted.backend),
    ],
  }
}

function rootTexts(root: string): Readonly<Record<string, string>> {
  const names = readdirSync(root).filter((name) => /\.tf(\.json)?$/.test(name) && name !== OVERRIDE_FILE)
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(root, name), 'utf8')]))
}

/** A template that names the local backend must not hide its state from us. Other backends keep their own rules. */
function overrideLocalBackend(root: string, texts: Readonly<Record<string, string>>): void {
  const isLocal = Object.values(texts).some((text) => /\bbackend["\s:{]+"?local"?/.test(text))
  const path = join(root, OVERRIDE_FILE)
  if (!isLocal) rmSync(path, { force: true })
  else writeFileSync(path, canonicalJson({ terraform: { backend: { local: { path: STATE_FILE } } } }), { mode: 0o600 })
}

function writeVariables(
  folder: Folder,
  workspace: Workspace,
  declared: ReadonlyMap<string, Declared>,
  fromArguments: Readonly<Record<string, string>>,
): readonly string[] {
  rmSync(folder.vars, { recursive: true, force: true })
  mkdirSync(folder.vars, { recursive: true, mode: 0o700 })
  const paths = workspace.varFiles.map(({ format, content }, i) => {
    const path = join(folder.vars, `${String(i).padStart(2, '0')}.tfvars${format === 'JSON' ? '.json' : ''}`)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  })
  const texts = { ...workspace.variables.texts, ...fromArguments }
  const values = assembleVariables({ ...workspace.variables, texts }, declared)
  return [...paths.map((path) => `-var-file=${path}`), ...writeValues(folder, 'values', values)]
}

function writeValues(folder: Folder, name: string, values: Readonly<Record<string, Json>>): readonly string[] {
  if (Object.keys(values).length === 0) return []
  const path = join(folder.vars, `${name}.tfvars.json`)
  writeFileSync(path, canonicalJson(values), { mode: 0o600 })
  return [`-var-file=${path}`]
}

/** Variables that arguments give to one command alone. */
function writeTexts(
  folder: Folder,
  name: string,
  texts: Readonly<Record<string, string>>,
  declared: ReadonlyMap<string, Declared>,
): readonly string[] {
  return writeValues(folder, name, assembleVariables({ offered: {}, given: {}, texts, exact: {} }, declared))
}

function writeBackend(folder: Folder, settings: Readonly<Record<string, string>>): readonly string[] {
  if (Object.keys(settings).length === 0) return []
  const path = join(folder.vars, 'settings.tfbackend')
  writeFileSync(path, backendFile(settings), { mode: 0o600 })
  return [`-backend-config=${path}`]
}

function secretVariables(
  workspace: Workspace,
  declared: ReadonlyMap<string, Declared>,
  { variables, destroyVariables, initVariables }: SortedArguments,
): readonly string[] {
  const byValues = assembleVariables(workspace.variables, declared)
  const sensitive = [...declared]
    .filter(([, { sensitive }]) => sensitive)
    .flatMap(([name]) =>
      [byValues, variables, destroyVariables, initVariables].flatMap((values) =>
        Object.hasOwn(values, name) ? stringsIn(values[name]) : [],
      ),
    )
  return [...sensitive, ...workspace.secretValues.flatMap((content) => [content, ...stringsInVarFile(content)])]
}

/** Resources of the provider that is part of Terraform itself. */
const BUILT_IN = /^terraform_(data|remote_state)$/

/** Nothing to download and no backend to set up: `init` would do nothing at all. */
export function needsNoInit(root: string, workspace: Workspace): boolean {
  if (workspace.args.init.length > 0) return false
  return Object.entries(rootTexts(root)).every(([name, text]) => {
    if (name.endsWith('.json')) return name === REFERENCES_FILE
    return scanHcl(text).blocks.every(({ type, labels }) => {
      if (type === 'resource' || type === 'data') return BUILT_IN.test(labels[0] ?? '')
      return type === 'variable' || type === 'output' || type === 'locals'
    })
  })
}

/** What `init` depends on; unchanged since the last successful one, it need not run again. */
export function initFingerprint(root: string, workspace: Workspace, tool: string): string {
  return hashOf({ texts: rootTexts(root), args: workspace.args.init, tool })
}

export function isInitialized(folder: Folder, root: string, fingerprint: string): boolean {
  return existsSync(join(root, '.terraform')) && readMark(folder, INIT_MARK) === fingerprint && hasPackages(root)
}

export function markInitialized(folder: Folder, root: string, fingerprint: string): void {
  mkdirSync(join(root, '.terraform'), { recursive: true, mode: 0o700 })
  writeFileSync(join(folder.work, INIT_MARK), fingerprint)
}

/** The backend that Terraform keeps the state in by itself; undefined for the local one. */
export function remoteBackend(root: string): string | undefined {
  try {
    const text = readFileSync(join(root, '.terraform', 'terraform.tfstate'), 'utf8')
    const { backend } = JSON.parse(text) as { backend?: { type?: string } }
    return backend?.type === 'local' ? undefined : backend?.type
  } catch {
    return undefined
  }
}

/** Credentials are gone from the disk when a run ends. */
export function wipeCredentials(folder: Folder): void {
  rmSync(folder.credentials, { recursive: true, force: true })
}

/** Terraform remembers all settings of its backend. Those of them that are credentials cost the next run another init. */
export function wipeBackend(folder: Folder, { root, hasBackendSecrets }: Layout): void {
  if (!hasBackendSecrets) return
  for (const path of [join(root, '.terraform', 'terraform.tfstate'), join(folder.work, INIT_MARK)])
    rmSync(path, { force: true })
}

function readMark(folder: Folder, name: string): string | undefined {
  return readText(join(folder.work, name))
}
