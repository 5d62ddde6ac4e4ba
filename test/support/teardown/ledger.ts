// The one question of every teardown story: does the cloud hold nothing of a deleted Cluster but what was reported? A ledger is
// the simulated cloud with the runs of Terraform, or an AWS account in moto; both name their objects in the words of a report.
import assert from 'node:assert/strict'

/** Every kind of object that a cluster may leave, made by its controllers or by Terraform. */
const CLOUD_KINDS = [
  'instance',
  'volume',
  'load balancer',
  'target group',
  'network interface',
  'security group',
  'role',
  'policy',
  'instance profile',
  'queue',
  'rule',
] as const

export interface CloudLedger {
  /** Everything that the cloud holds. */
  held(): Promise<readonly string[]>
  /** What was reported as left behind. */
  reported(): Promise<readonly string[]> | readonly string[]
}

interface Besides {
  /** Held, and not of this cluster. */
  readonly others?: readonly string[]
  /** Reported, and no object of the cloud. */
  readonly alsoReported?: readonly string[]
}

/** The cloud holds exactly these of the cluster, and exactly these were reported. */
export async function assertLedger(
  ledger: CloudLedger,
  expected: readonly string[],
  { others = [], alsoReported = [] }: Besides = {},
): Promise<void> {
  assert.deepEqual((await ledger.held()).toSorted(), [...expected, ...others].sort(), 'what the cloud holds')
  assert.deepEqual(
    (await ledger.reported()).toSorted(),
    [...expected, ...alsoReported].sort(),
    'what was reported as left behind',
  )
}

/** Before the deletion: a ledger that never had a kind of object proves nothing about it. */
export function assertEveryKind(held: readonly string[], but: readonly (typeof CLOUD_KINDS)[number][] = []): void {
  const kinds = new Set(held.map((one) => one.slice(0, one.lastIndexOf(' '))))
  const missing = CLOUD_KINDS.filter((kind) => !kinds.has(kind))
  assert.deepEqual(missing, but, `kinds without an object:\n${held.join('\n')}`)
}
