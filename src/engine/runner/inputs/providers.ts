// Provider packages, shared between workspaces. Terraform's own plugin cache breaks when two inits write to it, so we
// offer a mirror that nobody writes to during an init: a package is moved into it whole, after the init that fetched it.
import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeWhole } from './folder.ts'

/** host / namespace / type / version / platform */
const PACKAGE_DEPTH = 5

export const packagesFolder = (shared: string): string => join(shared, 'providers')

/**
 * The CLI configuration of a run. A person's own configuration is left alone: it may name mirrors and credentials.
 * With a mirror, nothing is fetched from anywhere else.
 */
export function cliConfigFile(
  shared: string,
  mirror: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (mirror === undefined && hasOwnConfig(env)) return undefined
  const path = join(shared, mirror === undefined ? 'shared.tfrc' : 'mirror.tfrc')
  writeWhole(path, configText(packagesFolder(shared), mirror))
  return path
}

function hasOwnConfig(env: Readonly<Record<string, string | undefined>>): boolean {
  const named = env['TF_CLI_CONFIG_FILE']
  if (named !== undefined && named !== '') return existsSync(named)
  const home = env['HOME'] ?? ''
  return ['.terraformrc', '.tofurc'].some((name) => home !== '' && existsSync(join(home, name)))
}

/** What was shared comes first: a mirror of archives would be unpacked again for every workspace. */
function configText(packages: string, mirror: string | undefined): string {
  mkdirSync(packages, { recursive: true, mode: 0o700 })
  const from = (path: string) => `  filesystem_mirror {\n    path = ${JSON.stringify(path)}\n  }\n`
  return `provider_installation {\n${from(packages)}${mirror === undefined ? '  direct {}\n' : from(mirror)}}\n`
}

/** Whether every package that an init put here is still to be had: the shared ones may have been cleared away. */
export function hasPackages(root: string): boolean {
  const from = join(root, '.terraform', 'providers')
  return foldersAtDepth(from, PACKAGE_DEPTH - 1).every((path) =>
    readdirSync(join(from, path)).some((name) => existsSync(join(from, path, name))),
  )
}

/** Moves the packages that this init fetched to where others find them; a link stays in their place. */
export function sharePackages(root: string, shared: string): readonly string[] {
  const from = join(root, '.terraform', 'providers')
  const moved: string[] = []
  for (const path of foldersAtDepth(from, PACKAGE_DEPTH)) {
    const target = join(packagesFolder(shared), path)
    if (lstatSync(join(from, path)).isSymbolicLink()) continue
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    if (existsSync(target)) rmSync(join(from, path), { recursive: true, force: true })
    else {
      try {
        renameSync(join(from, path), target)
      } catch {
        // Another run was faster, or the folders are on different disks: this run keeps its own copy.
        continue
      }
    }
    symlinkSync(target, join(from, path))
    moved.push(path)
  }
  return moved
}

function foldersAtDepth(folder: string, depth: number, prefix = ''): readonly string[] {
  if (!existsSync(join(folder, prefix))) return []
  return readdirSync(join(folder, prefix), { withFileTypes: true }).flatMap((entry) => {
    const path = prefix === '' ? entry.name : join(prefix, entry.name)
    if (depth === 1) return entry.isDirectory() || entry.isSymbolicLink() ? [path] : []
    return entry.isDirectory() ? foldersAtDepth(folder, depth - 1, path) : []
  })
}
