// The AWS partitions: how hosts, ARNs and service principals are spelt in each.
import { CaptError } from '#lib'

interface Partition {
  readonly name: string
  readonly regions: RegExp
  readonly dnsSuffix: string
  /** The region that global services such as IAM are signed for. */
  readonly homeRegion: string
  readonly iamHost: string
  /** Has the services that Karpenter needs, with the principals we know. */
  readonly hasKarpenter?: true
}

const partition = (name: string, regions: RegExp, dnsSuffix: string, homeRegion: string): Partition => ({
  name,
  regions,
  dnsSuffix,
  homeRegion,
  iamHost: `iam.${homeRegion}.${dnsSuffix}`,
})

/** The first that matches a region counts. */
const PARTITIONS: readonly Partition[] = [
  { ...partition('aws-cn', /^cn-/, 'amazonaws.com.cn', 'cn-north-1'), hasKarpenter: true },
  {
    ...partition('aws-us-gov', /^us-gov-/, 'amazonaws.com', 'us-gov-west-1'),
    iamHost: 'iam.us-gov.amazonaws.com',
    hasKarpenter: true,
  },
  partition('aws-iso', /^us-iso-/, 'c2s.ic.gov', 'us-iso-east-1'),
  partition('aws-iso-b', /^us-isob-/, 'sc2s.sgov.gov', 'us-isob-east-1'),
  partition('aws-iso-f', /^us-isof-/, 'csp.hci.ic.gov', 'us-isof-south-1'),
  partition('aws-iso-e', /^eu-isoe-/, 'cloud.adc-e.uk', 'eu-isoe-west-1'),
  partition('aws-eusc', /^eusc-/, 'amazonaws.eu', 'eusc-de-east-1'),
  { ...partition('aws', /./, 'amazonaws.com', 'us-east-1'), iamHost: 'iam.amazonaws.com', hasKarpenter: true },
]

export const partitionOfRegion = (region: string): Partition =>
  PARTITIONS.find(({ regions }) => regions.test(region)) ?? PARTITIONS.at(-1)!

/** The partitions in which Karpenter can be installed, by name. */
export function partitionNames(): string[] {
  return PARTITIONS.filter(({ hasKarpenter }) => hasKarpenter)
    .map(({ name }) => name)
    .sort()
}

/** Refuses the others: a role made with a wrong suffix looks right and never works. */
export function partitionOf(name: string): Partition {
  const found = PARTITIONS.find((one) => one.hasKarpenter && one.name === name)
  if (found) return found
  throw new CaptError(
    'CAPT_PARTITION_UNSUPPORTED',
    `Partition ${name} lacks services that Karpenter needs, or is unknown`,
    { hint: `capt knows ${partitionNames().join(', ')}` },
  )
}

/** The principal that EC2 uses to assume a node role. */
export const ec2ServiceOf = (name: string): string => `ec2.${partitionOf(name).dnsSuffix}`
