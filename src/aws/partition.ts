// Where an AWS service answers, and the region its calls are signed for.
import { partitionOfRegion } from '#catalog'

export type Service = 'sts' | 'iam' | 'tagging' | 'ec2' | 'elasticloadbalancing' | 'eks' | 'ssm' | 'sqs' | 'events'

/** The region in which resources without a region are listed, those of IAM above all. */
export const homeRegionOf = (region: string): string => partitionOfRegion(region).homeRegion

interface Address {
  readonly host: string
  readonly signingRegion: string
}

export function addressOf(service: Service, region: string): Address {
  const { dnsSuffix, homeRegion, iamHost } = partitionOfRegion(region)
  if (service === 'iam') return { host: iamHost, signingRegion: homeRegion }
  return { host: `${service}.${region}.${dnsSuffix}`, signingRegion: region }
}
