// A tree as lines with their depth, without what is folded away.
import type { Branch } from '../messages.ts'

export interface TreeLine {
  readonly branch: Branch
  /** Names from the root, so that it stays the same while the tree changes. */
  readonly path: string
  readonly depth: number
  /** Undefined: there is nothing below it. */
  readonly isOpen: boolean | undefined
}

export function flatten(branch: Branch, closed: ReadonlySet<string>, above = '', depth = 0): readonly TreeLine[] {
  const path = `${above}>${branch.name}`
  const isOpen = branch.children.length === 0 ? undefined : !closed.has(path)
  const below = isOpen ? branch.children.flatMap((child) => flatten(child, closed, path, depth + 1)) : []
  return [{ branch, path, depth, isOpen }, ...below]
}
