// The page in each folder that is handed over: the commands, where the state is, and which secrets lie there. Pure.
import type { SortedArguments } from '../runner/process/arguments.ts'
import type { HeldWorkspace } from './read-workspace.ts'
import { ENVIRONMENT_FILE, quoteShell, SETTINGS_FILE } from './shell.ts'
import type { VariableFiles } from './variable-files.ts'

interface Page {
  readonly held: HeldWorkspace
  readonly backend: { readonly is: 'local' | 'kubernetes' } | { readonly is: 'own'; readonly type: string }
  readonly sorted: SortedArguments
  readonly variables: VariableFiles
  /** Names in the environment that the runs had. */
  readonly environment: readonly string[]
  readonly hasLockFile: boolean
  readonly hasModules: boolean
  /** What is not as one would expect. */
  readonly notes: readonly string[]
}

export function renderReadme(page: Page): string {
  const { held, notes } = page
  return [
    `# ${held.bundle.workspace.name}`,
    '',
    `Root module of WorkspaceTemplateApply ${held.key.namespace}/${held.key.name}, as its last run used it`,
    `(${held.bundle.tool}, ${resourcesOf(held)}).`,
    '',
    '```sh',
    ...commandsOf(page),
    '```',
    '',
    ...(notes.length > 0
      ? notes.map((note) => `- ${note}`)
      : ['The plan is empty as long as nobody changes anything.']),
    '',
    'capt still manages this workspace: stop it before you change something here, as the page beside the folders says.',
    '',
    '## What is in here',
    '',
    ...contentsOf(page).map((line) => `- ${line}`),
    '',
    '## Secrets',
    '',
    ...secretsOf(page).map((line) => `- ${line}`),
    '',
  ].join('\n')
}

function resourcesOf({ state, backend }: HeldWorkspace): string {
  if (!state) return `state in the backend ${backend}`
  return `${state.addresses.length} resources, serial ${state.serial} of lineage ${state.lineage}`
}

function commandsOf({ held, backend, sorted, variables, environment }: Page): readonly string[] {
  const tool = held.bundle.tool.split(' ')[0]!
  const prefix = environment.length > 0 ? `./${ENVIRONMENT_FILE} ` : ''
  const line = (verb: string, args: readonly string[]) =>
    [`${prefix}${tool} ${verb}`, ...args.map(quoteShell)].join(' ')
  const file = (path: string | undefined) => (path === undefined ? [] : [`-var-file=${path}`])
  const settings = hasSettings({ backend, sorted }) ? [`-backend-config=${SETTINGS_FILE}`] : []
  return [
    ...(backend.is === 'kubernetes' ? ['export KUBE_CONFIG_PATH=FILE   # kubeconfig of the API server of capt'] : []),
    line('init', [...sorted.init, ...settings, ...file(variables.initFile)]),
    line('plan', sorted.plan),
    ...(variables.destroyFile === undefined && sorted.destroy.length === 0
      ? []
      : [
          `${line('plan -destroy', [...sorted.destroy, ...file(variables.destroyFile)])}   # how capt would destroy it`,
        ]),
  ]
}

/** Settings of a backend matter only where that backend is used. */
const hasSettings = ({ backend, sorted }: Pick<Page, 'backend' | 'sorted'>): boolean =>
  backend.is === 'own' && Object.keys(sorted.backend).length > 0

function contentsOf({ held, backend, variables, environment, hasLockFile, hasModules }: Page): readonly string[] {
  const values = variables.files.map(({ path }) => `\`${path}\``)
  return [
    ...(values.length > 0 ? [`Values of variables: ${values.join(', ')}.`] : []),
    backendText(held, backend),
    ...(hasLockFile ? ['`.terraform.lock.hcl`: the versions of providers that the runs used.'] : []),
    ...(hasModules
      ? ['`.terraform/modules`: modules that the runs downloaded, so that `init` takes the same ones.']
      : []),
    ...(environment.length > 0 ? [`\`${ENVIRONMENT_FILE}\`: sets ${environment.join(', ')}.`] : []),
    ...(environment.some((name) => name.startsWith('TF_AWS_DEFAULT_TAGS_'))
      ? [
          'The tags `capt-workspace` are set by that environment; a plan without it removes them and changes nothing else.',
        ]
      : []),
  ]
}

function backendText({ key }: HeldWorkspace, backend: Page['backend']): string {
  if (backend.is === 'local') return '`terraform.tfstate`: the state, a copy of what capt holds.'
  if (backend.is === 'own') return `The state is where the template keeps it: backend "${backend.type}".`
  return `The state is where capt keeps it: Secrets of namespace ${key.namespace}. It goes when the apply is deleted there.`
}

function secretsOf({ held, backend, sorted, variables, environment }: Page): readonly string[] {
  const { workspace } = held.bundle
  const outputs = Object.entries(held.state?.outputs ?? {}).filter(([, { sensitive }]) => sensitive)
  const names = outputs.map(([name]) => name).sort()
  const credentials = [
    ...workspace.credentials.map(({ namespace, name }) => `Secret ${namespace}/${name}`),
    ...workspace.secretEnv.map(
      ({ name, ref }) => `${name}: key ${ref.key} of ${ref.kind} ${ref.namespace}/${ref.name}`,
    ),
  ]
  return [
    ...(backend.is === 'local'
      ? [
          `\`terraform.tfstate\` has every attribute in plain text${names.length > 0 ? `, among them the outputs ${names.join(', ')}` : ''}.`,
        ]
      : []),
    ...(hasSettings({ backend, sorted })
      ? [`\`${SETTINGS_FILE}\` has the settings of the backend as they were given.`]
      : []),
    ...[...variables.secrets].map(([path, found]) => `\`${path}\`: ${found.join(', ')}.`),
    ...(environment.length > 0 ? [`\`${ENVIRONMENT_FILE}\` has the values as they were given.`] : []),
    credentials.length > 0
      ? `Credentials are not here. The runs read them from ${credentials.join('; ')}; set the keys as environment variables.`
      : 'Credentials are not here. The runs used those of the machine or the pod.',
    'All files are readable by their owner alone. Do not commit them to a repository as they are.',
  ]
}
