// One workspace as a folder that plain Terraform works in: the files of its last run, variables, state or the backend that
// holds it, and a page with the commands. Pure: a held workspace in, files out.
import { normalize, posix } from 'node:path'
import { CaptError, canonicalJson } from '#lib'
import { suffixOf } from '../names.ts'
import { declaredVariables } from '../render/variables.ts'
import { OVERRIDE_FILE } from '../runner/inputs/layout.ts'
import { backendFile, type SortedArguments, sortArguments } from '../runner/process/arguments.ts'
import { allowedEnvironment, tagVariables } from '../runner/process/environment.ts'
import { STATE_FILE } from '../runner/state/state-files.ts'
import type { HeldWorkspace } from './read-workspace.ts'
import { renderReadme } from './readme.ts'
import { ENVIRONMENT_FILE, environmentScript, SETTINGS_FILE } from './shell.ts'
import { toVariableFiles } from './variable-files.ts'

/** `kubernetes`: the Secrets that hold the state already. */
export const EJECT_BACKENDS = ['local', 'kubernetes'] as const
export type EjectBackend = (typeof EJECT_BACKENDS)[number]

interface EjectedFile {
  /** Below the folder of the workspace. */
  readonly path: string
  readonly mode: number
  readonly data: string | Uint8Array
}

export interface RootModule {
  /** Where Terraform is run, below the folder of the workspace; empty for the folder itself. */
  readonly root: string
  readonly files: readonly EjectedFile[]
  /** What is not as one would expect, for people. */
  readonly notes: readonly string[]
}

const BACKEND_FILE = 'capt_backend.tf.json'
const LOCK_FILE = '.terraform.lock.hcl'
const README = 'README.md'

export function toRootModule(held: HeldWorkspace, backend: EjectBackend): RootModule {
  const { workspace } = held.bundle
  const frozen = frozenFiles(held.bundle)
  const { root, own } = frozen
  const sorted = sortArguments(workspace.args)
  const env = allowedEnvironment(workspace.env)
  const variables = toVariableFiles(
    { ...workspace, env },
    declaredVariables(textsOf(own)),
    sorted,
    hasVariableFiles(own),
  )
  const environment = { ...plainEnvironment(env), ...variables.environment, ...tagsOf(held, own) }
  const at = (path: string, data: string, mode = 0o600): EjectedFile => ({ path: posix.join(root, path), mode, data })
  const written = [
    ...variables.files.map(({ path, text }) => at(path, text)),
    ...stateFiles(held, backend, own, sorted).map(({ path, text }) => at(path, text)),
    ...(Object.keys(environment).length > 0 ? [at(ENVIRONMENT_FILE, environmentScript(environment), 0o700)] : []),
  ]
  const notes = notesOf(held, backend)
  const readme = renderReadme({
    held,
    notes,
    backend: held.backend === undefined ? { is: backend } : { is: 'own', type: held.backend },
    sorted,
    variables,
    environment: Object.keys(environment).sort(),
    hasLockFile: own.has(LOCK_FILE),
    hasModules: frozen.all.some(({ path }) => path.includes('.terraform/modules/')),
  })
  const taken = new Set(written.map(({ path }) => path))
  const kept = frozen.all.filter(({ path }) => !taken.has(path))
  return { root, files: [...kept, ...written, at(own.has(README) ? 'README-capt.md' : README, readme)], notes }
}

/** Texts of the files of the root module itself, by name. */
type OwnFiles = ReadonlyMap<string, string>

/** What was kept with the last run. A path that would leave the folder is left out. */
function frozenFiles({ workspace: { source }, files }: HeldWorkspace['bundle']): {
  readonly root: string
  readonly all: readonly EjectedFile[]
  readonly own: OwnFiles
} {
  const root = source.kind === 'remote' ? toRoot(source.entrypoint) : ''
  const all = files
    .map(({ path, mode, data }) => ({
      path: normalize(path),
      mode: (mode & 0o700) | 0o600,
      data: Buffer.from(data, 'base64'),
    }))
    .filter(({ path }) => !path.startsWith('..') && !path.startsWith('/'))
  const own = all.filter(({ path }) => posix.dirname(path) === (root || '.'))
  return { root, all, own: new Map(own.map(({ path, data }) => [posix.basename(path), data.toString('utf8')])) }
}

const textsOf = (own: OwnFiles): Readonly<Record<string, string>> =>
  Object.fromEntries([...own].filter(([name]) => /\.tf(\.json)?$/.test(name) && name !== OVERRIDE_FILE))

const hasVariableFiles = (own: OwnFiles): boolean =>
  [...own.keys()].some((name) => /^terraform\.tfvars(\.json)?$|\.auto\.tfvars(\.json)?$/.test(name))

/** The state itself, or what leads Terraform to it. */
function stateFiles(
  held: HeldWorkspace,
  backend: EjectBackend,
  own: OwnFiles,
  { backend: settings }: SortedArguments,
): readonly { readonly path: string; readonly text: string }[] {
  if (!held.state) return Object.keys(settings).length > 0 ? [{ path: SETTINGS_FILE, text: backendFile(settings) }] : []
  if (backend === 'local') return [{ path: STATE_FILE, text: held.state.text }]
  return [{ path: own.has(OVERRIDE_FILE) ? OVERRIDE_FILE : BACKEND_FILE, text: kubernetesBackend(held) }]
}

function toRoot(entrypoint: string): string {
  const root = normalize(entrypoint === '' ? '.' : entrypoint).replace(/\/$/, '')
  if (root.startsWith('..') || root.startsWith('/'))
    throw new CaptError('CAPT_EJECT_REFUSED', `the entrypoint ${entrypoint} is outside of its module`, {
      hint: 'correct forProvider.entrypoint of the WorkspaceTemplate',
    })
  return root === '.' ? '' : root
}

/** Variables are in files. */
function plainEnvironment(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TF_VAR_')))
}

/** The tags that a run gives to all AWS resources: a plan without them would remove them. */
function tagsOf({ workspaceId, bundle }: HeldWorkspace, own: OwnFiles): Readonly<Record<string, string>> {
  const usesAws = /^provider ".*\/hashicorp\/aws"/m.test(own.get(LOCK_FILE) ?? '')
  return usesAws ? tagVariables(workspaceId, bundle.workspace) : {}
}

function kubernetesBackend({ key }: HeldWorkspace): string {
  const kubernetes = { namespace: key.namespace, secret_suffix: suffixOf(key) }
  return `${canonicalJson({ terraform: { backend: { kubernetes } } })}\n`
}

function notesOf(held: HeldWorkspace, backend: EjectBackend): readonly string[] {
  const { suspects, backend: own } = held
  const { name } = held.key
  return [
    ...(own === undefined
      ? []
      : [`${name}: its template keeps the state in the backend "${own}"; no state is written`]),
    ...(own === undefined && backend === 'kubernetes'
      ? [`${name}: the state stays in the Secret that capt uses as well; do not delete the apply`]
      : []),
    ...endOf(held).map((text) => `${name}: ${text}`),
    ...(suspects.length > 0
      ? [`${name}: ${suspects.length} resources may exist that the state does not know; capt doctor ${name} names them`]
      : []),
  ]
}

/** Whether the files and the state belong together. A run that only planned, or was cancelled before it changed anything, stored neither. */
function endOf({ lastRun: { phase, untouched }, isApplied }: HeldWorkspace): readonly string[] {
  if (phase === 'Succeeded') return []
  if (!isApplied || !(phase === 'Planned' || untouched))
    return [`its last run ended as ${phase}; expect a plan that is not empty`]
  return phase === 'Planned' ? ['a plan waits for approval; what is written is what was applied before it'] : []
}
