// What a plan would do to each resource: action, reason and where it moved from. Pure. The same shape is made from
// Terraform's messages (every run has them) and from `terraform show -json` (only where a plan must be approved).

export interface PlannedChange {
  readonly address: string
  /** `create`, `update`, `delete`, `replace`, `move`, or another word of Terraform's. */
  readonly action: string
  /** Why it is replaced or destroyed, in words. */
  readonly reason?: string
  /** Its earlier address. */
  readonly from?: string
}

/** The changes that the status lists, the most destructive first. */
export interface ListedChanges {
  readonly listed: readonly PlannedChange[]
  /** Further ones, only counted. */
  readonly more: number
}

const MAX_LISTED = 20
const ORDER = ['replace', 'delete', 'update', 'move', 'create']

export function listChanges(changes: readonly PlannedChange[], redact = (text: string) => text): ListedChanges {
  const rank = ({ action }: PlannedChange) => (ORDER.indexOf(action) + ORDER.length) % ORDER.length
  const listed = changes
    .toSorted((a, b) => rank(a) - rank(b) || (a.address < b.address ? -1 : 1))
    .slice(0, MAX_LISTED)
    .map(({ address, action, reason, from }) => ({
      address: redact(address),
      action,
      ...(reason === undefined ? {} : { reason: redact(reason) }),
      ...(from === undefined ? {} : { from: redact(from) }),
    }))
  return { listed, more: changes.length - listed.length }
}

const REASONS: Readonly<Record<string, string>> = {
  cannot_update: 'it cannot be updated in place',
  tainted: 'it is tainted',
  requested: 'its replacement was requested',
  by_request: 'its replacement was requested',
  by_triggers: 'replace_triggered_by names what changed',
  no_resource_config: 'it is not in the configuration any more',
  wrong_repetition: 'its use of count or for_each changed',
  count_index: 'its index is out of range for count',
  each_key: 'its key is not in for_each any more',
  no_module: 'its module is not in the configuration any more',
  no_move_target: 'it was moved to an address that is not in the configuration',
}

/** Terraform's code of a reason in words; `paths` are the attributes that force a replacement. */
export function reasonText(code: string, paths: readonly string[] = []): string | undefined {
  if (code === '' || code === 'none') return undefined
  const short = code.replace(/^(?:replace|delete)_(?:because_)?/, '')
  const text = REASONS[short] ?? short.replaceAll('_', ' ')
  return paths.length === 0 ? text : `${text}: ${paths.slice(0, 5).join(', ')}`
}
