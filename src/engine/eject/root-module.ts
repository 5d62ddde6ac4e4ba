// One workspace as a folder that plain Terraform works in: the files of its last run, variables, state or the backend that
// holds it, and a page with the commands. Pure: a held workspace in, files out.
import { normalize, posix } from 'node:path'
import { CaptError, canonicalJson } from '#lib'
import { suffixOf, WORKSPACE_TAG } from '../names.ts'
import { declaredVariables } from '../render/variables.ts'
import { backendFile, sortArguments } from '../runner/process/arguments.ts'
import { allowedEnvironment } from '../runner/process/environment.ts'
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

/** Written by a run for templates that name the local backend. */
const OVERRIDE_FILE = 'capt_backend_override.tf.json'
const BACKEND_FILE = 'capt_backend.tf.json'
const README = 'README.md'

export function toRootModule(held: HeldWorkspace, backend: EjectBackend): RootModule {
  const { bundle, state } = held
  const { workspace } = bundle
  const root = workspace.source.kind === 'remote' ? toRoot(workspace.source.entrypoint) : ''
  const frozen = bundle.files
    .map((file) => ({ ...file, path: normalize(file.path) }))
    .filter(({ path }) => !path.startsWith('..') && !path.startsWith('/'))
  const inRoot = frozen.filter(({ path }) => posix.dirname(path) === (root || '.'))
  const texts = Object.fromEntries(
    inRoot
      .filter(({ path }) => /\.tf(\.json)?$/.test(path) && posix.basename(path) !== OVERRIDE_FILE)
      .map(({ path, data }) => [posix.basename(path), Buffer.from(data, 'base64').toString('utf8')]),
  )
  const hasOthers = inRoot.some(({ path }) => /(^|\/)terraform\.tfvars(\.json)?$|\.auto\.tfvars(\.json)?$/.test(path))
  const sorted = sortArguments(workspace.args)
  const env = allowedEnvironment(workspace.env)
  const variables = toVariableFiles({ ...workspace, env }, declaredVariables(texts), sorted, hasOthers)
  const environment = { ...plainEnvironment(env), ...variables.environment, ...tagsOf(held, frozen) }
  const at = (path: string, data: string, mode = 0o600): EjectedFile => ({ path: posix.join(root, path), mode, data })
  const isElsewhere = held.backend !== undefined
  const written = [
    ...variables.files.map(({ path, text }) => at(path, text)),
    ...(state && backend === 'local' ? [at(STATE_FILE, state.text)] : []),
    ...(state && backend === 'kubernetes'
      ? [at(backendFileOf(inRoot.map(({ path }) => path)), kubernetesBackend(held))]
      : []),
    ...(isElsewhere && Object.keys(sorted.backend).length > 0 ? [at(SETTINGS_FILE, backendFile(sorted.backend))] : []),
    ...(Object.keys(environment).length > 0 ? [at(ENVIRONMENT_FILE, environmentScript(environment), 0o700)] : []),
  ]
  const readme = renderReadme({
    held,
    backend: isElsewhere ? { is: 'own', type: held.backend! } : { is: backend },
    sorted,
    variables,
    environment: Object.keys(environment).sort(),
    hasLockFile: inRoot.some(({ path }) => posix.basename(path) === '.terraform.lock.hcl'),
    hasModules: frozen.some(({ path }) => path.includes('.terraform/modules/')),
  })
  const taken = new Set(written.map(({ path }) => path))
  const kept = frozen
    .filter(({ path }) => !taken.has(path))
    .map(({ path, mode, data }) => ({ path, mode: (mode & 0o700) | 0o600, data: Buffer.from(data, 'base64') }))
  const page = kept.some(({ path }) => path === posix.join(root, README)) ? 'README-capt.md' : README
  return { root, files: [...kept, ...written, at(page, readme)], notes: notesOf(held, backend) }
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
function tagsOf(
  { workspaceId, bundle }: HeldWorkspace,
  files: readonly { readonly path: string; readonly data: string }[],
): Readonly<Record<string, string>> {
  const lock = files.find(({ path }) => posix.basename(path) === '.terraform.lock.hcl')
  const usesAws = lock && /^provider ".*\/hashicorp\/aws"/m.test(Buffer.from(lock.data, 'base64').toString('utf8'))
  if (!usesAws) return {}
  return {
    [`TF_AWS_DEFAULT_TAGS_${WORKSPACE_TAG}`]: workspaceId,
    [`TF_AWS_DEFAULT_TAGS_${WORKSPACE_TAG}-name`]: bundle.workspace.name,
  }
}

const backendFileOf = (paths: readonly string[]): string =>
  paths.some((path) => posix.basename(path) === OVERRIDE_FILE) ? OVERRIDE_FILE : BACKEND_FILE

function kubernetesBackend({ key }: HeldWorkspace): string {
  const kubernetes = { namespace: key.namespace, secret_suffix: suffixOf(key) }
  return `${canonicalJson({ terraform: { backend: { kubernetes } } })}\n`
}

function notesOf({ key, lastRun, suspects, backend: own }: HeldWorkspace, backend: EjectBackend): readonly string[] {
  const { name } = key
  return [
    ...(own === undefined
      ? []
      : [`${name}: its template keeps the state in the backend "${own}"; no state is written`]),
    ...(own === undefined && backend === 'kubernetes'
      ? [`${name}: the state stays in the Secret that capt uses as well; do not delete the apply`]
      : []),
    ...(lastRun.phase === 'Succeeded'
      ? []
      : [`${name}: its last run ended as ${lastRun.phase}; expect a plan that is not empty`]),
    ...(suspects.length > 0
      ? [`${name}: ${suspects.length} resources may exist that the state does not know; capt doctor ${name} names them`]
      : []),
  ]
}
