// The guard: resources that are not replaced or destroyed without approval, even where plans are applied by themselves. Pure.
import type { PlannedChange } from './changes.ts'

/** What a cluster cannot live without, or what cannot be made again as it was. */
export const DEFAULT_GUARD: readonly string[] = [
  'aws_eks_cluster',
  'aws_eks_node_group',
  'aws_iam_role',
  'aws_kms_key',
  'aws_subnet',
  'aws_vpc',
]

const DESTRUCTIVE: readonly string[] = ['delete', 'replace']
const INDEX = /\[(?:"(?:[^"\\]|\\.)*"|\d+)\]/g

/** Addresses of guarded resources that the plan replaces or destroys. */
export function guardedAddresses(changes: readonly PlannedChange[], guard: readonly string[]): readonly string[] {
  return changes
    .filter(({ action, address, from }) => {
      if (!DESTRUCTIVE.includes(action)) return false
      return guard.some((entry) => matches(entry, address) || (from !== undefined && matches(entry, from)))
    })
    .map(({ address }) => address)
    .sort()
}

/** Entries that name none of these resources: misspelt, or of another template. */
export function unknownEntries(guard: readonly string[], addresses: readonly string[]): readonly string[] {
  return guard.filter((entry) => !addresses.some((address) => matches(entry, address)))
}

/** An entry is a type (`aws_vpc`), a resource in any module (`aws_vpc.main`), or an address with or without its index. */
function matches(entry: string, address: string): boolean {
  const bare = address.replace(INDEX, '')
  const [type = '', name = ''] = bare.split('.').slice(-2)
  return [type, `${type}.${name}`, bare, address].includes(entry)
}
