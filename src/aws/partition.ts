// How AWS spells its hosts in each partition. Global services answer in one region of a partition and want to be signed
// for that one.
interface Partition {
  readonly region: RegExp
  readonly suffix: string
  /** Region for which calls to IAM are signed. */
  readonly home: string
  readonly iamHost: string
}

const PARTITIONS: readonly Partition[] = [
  { region: /^cn-/, suffix: 'amazonaws.com.cn', home: 'cn-north-1', iamHost: 'iam.cn-north-1.amazonaws.com.cn' },
  { region: /^us-gov-/, suffix: 'amazonaws.com', home: 'us-gov-west-1', iamHost: 'iam.us-gov.amazonaws.com' },
  { region: /^us-iso-/, suffix: 'c2s.ic.gov', home: 'us-iso-east-1', iamHost: 'iam.us-iso-east-1.c2s.ic.gov' },
  { region: /^us-isob-/, suffix: 'sc2s.sgov.gov', home: 'us-isob-east-1', iamHost: 'iam.us-isob-east-1.sc2s.sgov.gov' },
  {
    region: /^us-isof-/,
    suffix: 'csp.hci.ic.gov',
    home: 'us-isof-south-1',
    iamHost: 'iam.us-isof-south-1.csp.hci.ic.gov',
  },
  {
    region: /^eu-isoe-/,
    suffix: 'cloud.adc-e.uk',
    home: 'eu-isoe-west-1',
    iamHost: 'iam.eu-isoe-west-1.cloud.adc-e.uk',
  },
  { region: /^eusc-/, suffix: 'amazonaws.eu', home: 'eusc-de-east-1', iamHost: 'iam.eusc-de-east-1.amazonaws.eu' },
  { region: /./, suffix: 'amazonaws.com', home: 'us-east-1', iamHost: 'iam.amazonaws.com' },
]

const partitionOf = (region: string): Partition => PARTITIONS.find((partition) => partition.region.test(region))!

export type Service = 'sts' | 'iam' | 'tagging' | 'ec2' | 'elasticloadbalancing'

/** Where things that have no region are listed: IAM, above all. */
export const homeRegionOf = (region: string): string => partitionOf(region).home

export interface Address {
  readonly host: string
  readonly signingRegion: string
}

export function addressOf(service: Service, region: string): Address {
  const { suffix, home, iamHost } = partitionOf(region)
  if (service === 'iam') return { host: iamHost, signingRegion: home }
  return { host: `${service}.${region}.${suffix}`, signingRegion: region }
}
