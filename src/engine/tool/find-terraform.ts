// Finds the program that does the work: terraform or tofu, new enough to speak JSON in every step we use.
import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { CaptError, messageOf } from '#lib'
import { compareVersions, isVersion } from './versions.ts'

export type ToolName = 'terraform' | 'tofu'

/** What a template asks for. */
export interface ToolRequest {
  readonly name?: ToolName
  /** A constraint as Terraform writes it: `~> 1.11.0`. */
  readonly version?: string
}

export interface Tool {
  readonly name: ToolName
  readonly binary: string
  readonly version: string
}

/** `init -json` came with these. */
const MINIMUM = { terraform: '1.9.0', tofu: '1.8.0' } as const

interface FindOptions {
  /** A path or a name on the PATH; without it terraform is looked for first, then tofu. */
  readonly binary?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

export async function findTerraform(options: FindOptions = {}): Promise<Tool> {
  const { env = process.env } = options
  const wanted = options.binary === undefined ? ['terraform', 'tofu'] : [options.binary]
  for (const name of wanted) {
    const binary = await locate(name, env['PATH'] ?? '')
    if (binary !== undefined) return check(binary)
  }
  throw new CaptError('CAPT_TERRAFORM_MISSING', `there is no ${wanted.join(' or ')} on the PATH`, {
    hint: `install Terraform ${MINIMUM.terraform} or OpenTofu ${MINIMUM.tofu}, or newer`,
  })
}

/** The default first, then the other program where it is on the PATH and can be used. */
export async function findTools(options: FindOptions = {}): Promise<readonly Tool[]> {
  const first = await findTerraform(options)
  const other = await findTerraform({ ...options, binary: first.name === 'terraform' ? 'tofu' : 'terraform' }).catch(
    () => undefined,
  )
  return other && other.name !== first.name ? [first, other] : [first]
}

async function locate(name: string, path: string): Promise<string | undefined> {
  const candidates = name.includes('/')
    ? [name]
    : path
        .split(delimiter)
        .filter(Boolean)
        .map((dir) => join(dir, name))
  for (const candidate of candidates) {
    try {
      await access(candidate, constants.X_OK)
      return candidate
    } catch {
      // Not here; the next folder may have it.
    }
  }
  return undefined
}

async function check(binary: string): Promise<Tool> {
  const text = await versionText(binary)
  const { terraform_version: version, ...rest } = text as Record<string, unknown>
  const name = 'tofu_version' in rest || /tofu$/.test(binary) ? 'tofu' : 'terraform'
  if (typeof version !== 'string' || !isVersion(version)) {
    throw new CaptError('CAPT_TERRAFORM_UNUSABLE', `${binary} does not report its version`, {
      hint: `run ${binary} version -json and see what it says`,
    })
  }
  if (compareVersions(version, MINIMUM[name]) < 0) {
    throw new CaptError(
      'CAPT_TERRAFORM_TOO_OLD',
      `${binary} is ${name} ${version}; ${MINIMUM[name]} or newer is needed`,
      {
        hint: `install ${name} ${MINIMUM[name]} or newer`,
      },
    )
  }
  return { name, binary, version }
}

async function versionText(binary: string): Promise<unknown> {
  try {
    const { stdout } = await promisify(execFile)(binary, ['version', '-json'], {
      timeout: 20_000,
      env: { ...process.env, CHECKPOINT_DISABLE: '1' },
    })
    return JSON.parse(stdout) as unknown
  } catch (error) {
    throw new CaptError('CAPT_TERRAFORM_UNUSABLE', `${binary} cannot be run: ${messageOf(error).split('\n')[0]}`, {
      hint: `run ${binary} version -json and see what it says`,
      cause: error,
    })
  }
}
