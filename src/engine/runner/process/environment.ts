// The environment of Terraform: what it needs from ours, what the template gives, what the credentials give. Nothing that
// asks questions, phones home, or shares a cache that breaks under two writers.
import { WORKSPACE_TAG } from '../../names.ts'
import type { Workspace } from '../../workspace.ts'

/** Of our own environment only this reaches Terraform; credentials of the manager itself are a deliberate fallback. */
const INHERITED =
  /^(PATH|HOME|USER|LANG|LC_.*|TMPDIR|TZ|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|AWS_.*|TF_CLI_CONFIG_FILE|TF_TOKEN_.*|GO(GC|MEMLIMIT|MAXPROCS)|GIT_(SSH_COMMAND|CONFIG_GLOBAL)|SSH_AUTH_SOCK|XDG_.*)$/

/** See `allowedEnvironment`. */
const REFUSED = ['TF_WORKSPACE', 'TF_DATA_DIR', 'TF_CLI_ARGS', 'TF_PLUGIN_CACHE_DIR']

/**
 * With this much memory to spare, Terraform may collect its garbage half as often: a fifth less work for a tenth more
 * memory. A GOGC that is set takes precedence.
 */
const ROOMY_BYTES = 4 * 1024 ** 3
const IN_NO_HURRY = { GOGC: '200' }

interface EnvironmentParts {
  readonly own: Readonly<Record<string, string | undefined>>
  readonly workspace: Workspace
  readonly credentials: Readonly<Record<string, string>>
  readonly cliConfig: string | undefined
  /** Undefined: nothing is tagged with it, because the resources of the state were made without. */
  readonly workspaceId: string | undefined
  /** Memory that is free, within the limits of our container. */
  readonly freeBytes: number
}

export function terraformEnvironment(parts: EnvironmentParts): Readonly<Record<string, string>> {
  const { own, workspace, credentials, cliConfig, workspaceId, freeBytes } = parts
  const inherited = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && INHERITED.test(entry[0]),
  )
  // A run with credentials of its own must not fall back to ours half-way.
  const hasOwnAws = Object.keys(credentials).some((name) => name.startsWith('AWS_'))
  const base = hasOwnAws ? inherited.filter(([name]) => !name.startsWith('AWS_')) : inherited
  return {
    ...(freeBytes >= ROOMY_BYTES ? IN_NO_HURRY : {}),
    ...Object.fromEntries(base),
    ...allowedEnvironment(workspace.env),
    ...allowedEnvironment(credentials),
    ...(cliConfig === undefined ? {} : { TF_CLI_CONFIG_FILE: cliConfig }),
    TF_IN_AUTOMATION: '1',
    TF_INPUT: '0',
    CHECKPOINT_DISABLE: '1',
    // Every AWS resource says which workspace made it, so that a sweep finds what no state knows.
    ...(workspaceId === undefined ? {} : tagVariables(workspaceId, workspace)),
  }
}

/** Variables by which the AWS provider tags every resource with its workspace. */
export const tagVariables = (workspaceId: string, { name }: Workspace): Readonly<Record<string, string>> => ({
  [`TF_AWS_DEFAULT_TAGS_${WORKSPACE_TAG}`]: workspaceId,
  [`TF_AWS_DEFAULT_TAGS_${WORKSPACE_TAG}-name`]: name,
})

/** Without what would move state or arguments to where nobody looks for them. */
export function allowedEnvironment(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !REFUSED.some((refused) => name.startsWith(refused))),
  )
}
