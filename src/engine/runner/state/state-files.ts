// Where the state of a workspace lies on disk: in the folder that Terraform last ran in, or aside while that is
// recreated.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Folder, readText } from '../inputs/folder.ts'

export const STATE_FILE = 'terraform.tfstate'

/** Does something to the work folder while its state waits outside. */
export function keepState(folder: Folder, work: () => void): void {
  const from = findState(folder)
  if (from !== undefined) renameSync(from, folder.stateAside)
  work()
}

/** The state file that Terraform left, in whichever entrypoint it ran. */
export function findState(folder: Folder): string | undefined {
  return existsSync(folder.work) ? findBelow(folder.work, STATE_FILE) : undefined
}

function findBelow(folder: string, name: string): string | undefined {
  const own = join(folder, name)
  if (existsSync(own)) return own
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name === '.terraform') continue
    const found = findBelow(join(folder, entry.name), name)
    if (found !== undefined) return found
  }
  return undefined
}

/** Text of the state in the folder: where Terraform left it, or where it waits while a module is fetched. */
export function stateInFolder(folder: Folder): string | undefined {
  for (const path of [findState(folder), folder.stateAside]) {
    const text = path === undefined ? undefined : readText(path)
    if (text !== undefined && text.trim() !== '') return text
  }
  return undefined
}

/** Puts the chosen state where Terraform will look for it, and nowhere else. */
export function placeState(folder: Folder, root: string, text: string | undefined): void {
  const path = join(root, STATE_FILE)
  for (const old of [findState(folder), folder.stateAside]) {
    if (old !== undefined && old !== path) rmSync(old, { force: true })
  }
  if (text === undefined) {
    rmSync(path, { force: true })
    return
  }
  if (readText(path) === text) return
  mkdirSync(root, { recursive: true, mode: 0o700 })
  writeFileSync(path, text, { mode: 0o600 })
}
