// Version constraints as Terraform writes them: `~> 1.11.0`, `>= 1.9, < 2.0`.
import { compareVersions } from './versions.ts'

const TERM = /^(=|!=|>=|<=|>|<|~>)?\s*(\d+)(?:\.(\d+))?(?:\.(\d+))?$/

/** A text that is no constraint is satisfied by nothing. */
export function isSatisfied(constraint: string, version: string): boolean {
  return constraint.split(',').every((term) => isTermSatisfied(term.trim(), version))
}

function isTermSatisfied(term: string, version: string): boolean {
  const [, operator = '=', major, minor, patch] = TERM.exec(term) ?? []
  if (major === undefined) return false
  const order = compareVersions(version, `${major}.${minor ?? 0}.${patch ?? 0}`)
  switch (operator) {
    case '=':
      return order === 0
    case '!=':
      return order !== 0
    case '>=':
      return order >= 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '<':
      return order < 0
    default:
      return order >= 0 && compareVersions(version, nextOf(Number(major), minor, patch)) < 0
  }
}

/** Only the last part that is written may grow. */
function nextOf(major: number, minor: string | undefined, patch: string | undefined): string {
  return minor !== undefined && patch !== undefined ? `${major}.${Number(minor) + 1}.0` : `${major + 1}.0.0`
}
