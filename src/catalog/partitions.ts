// AWS partitions capt knows: how ARNs and service names are spelt there. A partition that is not listed is refused,
// because a role made with a wrong suffix looks right and never works.
import { CaptError } from '#lib'

export interface Partition {
  readonly name: string
  /** Principal that EC2 uses to assume a node role. */
  readonly ec2Service: string
  /** Regions of the partition begin with one of these. */
  readonly regions: readonly string[]
}

const PARTITIONS: readonly Partition[] = [
  {
    name: 'aws',
    ec2Service: 'ec2.amazonaws.com',
    regions: ['us-', 'eu-', 'ap-', 'ca-', 'sa-', 'me-', 'af-', 'il-', 'mx-'],
  },
  { name: 'aws-cn', ec2Service: 'ec2.amazonaws.com.cn', regions: ['cn-'] },
  { name: 'aws-us-gov', ec2Service: 'ec2.amazonaws.com', regions: ['us-gov-'] },
]

export function partitionNames(): string[] {
  return PARTITIONS.map(({ name }) => name)
}

export function partitionOf(name: string): Partition {
  const found = PARTITIONS.find((partition) => partition.name === name)
  if (found) return found
  throw new CaptError(
    'CAPT_PARTITION_UNSUPPORTED',
    `Partition ${name} lacks services that Karpenter needs, or is unknown`,
    {
      hint: `capt knows ${partitionNames().join(', ')}`,
    },
  )
}

/** The partition a region belongs to; the longest prefix wins, so us-gov- is not us-. */
export function partitionOfRegion(region: string): Partition {
  const candidates = PARTITIONS.flatMap((partition) =>
    partition.regions.filter((prefix) => region.startsWith(prefix)).map((prefix) => ({ partition, prefix })),
  ).sort((a, b) => b.prefix.length - a.prefix.length)
  if (candidates[0] && !/^us-iso|^eu-isoe|^eusc-/.test(region)) return candidates[0].partition
  throw new CaptError('CAPT_PARTITION_UNSUPPORTED', `Region ${region} is in no partition that capt knows`, {
    hint: `capt knows ${partitionNames().join(', ')}`,
  })
}
