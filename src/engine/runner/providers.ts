// Provider packages, shared between workspaces. Terraform's own plugin cache breaks when two inits write to it, so we
// offer a mirror that nobody writes to during an init: a package is moved into it whole, after the init that fetched it.
import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeWhole } from './folder.ts'

export const packagesFolder = (shared: string): string => join(shared, 'providers')

/**
 * The CLI configuration of a run. A person's own configuration is left alone: it may name mirrors and credentials.
 * With a mirror of their own, nothing is fetched from anywhere else.
 */
export function cliConfigFile(
  shared: string,
  mirror: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (mirror === undefined && hasOwnConfig(env)) return undefined
  const path = join(shared, mirror === undefined ? 'shared.tfrc' : 'mirror.tfrc')
  writeWhole(path, mirror === undefined ? sharedConfig(packagesFolder(shared)) : mirrorConfig(mirror))
  return path
}

function hasOwnConfig(env: Readonly<Record<string, string | undefined>>): boolean {
  const named = env['TF_CLI_CONFIG_FILE']
  if (named !== undefined && named !== '') return existsSync(named)
  const home = env['HOME'] ?? ''
  return ['.terraformrc', '.tofurc'].some((name) => home !== '' && existsSync(join(home, name)))
}

function sharedConfig(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return `provider_installation {\n  filesystem_mirror {\n    path = ${JSON.stringify(path)}\n  }\n  direct {}\n}\n`
}

function mirrorConfig(path: string): string {
  return `provider_installation {\n  filesystem_mirror {\n    path = ${JSON.stringify(path)}\n  }\n}\n`
}

/** Moves the packages that this init fetched to where others find them; a link stays in their place. */
export function sharePackages(root: string, shared: string): readonly string[] {
  const from = join(root, '.terraform', 'providers')
  const moved: string[] = []
  // host / namespace / type / version / platform
  for (const path of foldersAtDepth(from, 5)) {
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
