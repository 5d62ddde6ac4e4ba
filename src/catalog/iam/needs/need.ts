// What one action of IAM is needed for, and on what.

export interface Scope {
  /** ARN patterns; everything when left out, which is how most actions of EC2 and EKS can be scoped at all. */
  readonly resources?: readonly string[]
  readonly condition?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>
}

export interface Need extends Scope {
  /** A resource type of Terraform (`aws_vpc`), a data source (`data.aws_subnets`), or a part of capt. */
  readonly of: string
  readonly actions: readonly string[]
  readonly reason: string
}

/** `actions('ec2', 'CreateVpc DeleteVpc')` */
export const actions = (service: string, words: string): readonly string[] =>
  words
    .trim()
    .split(/\s+/)
    .map((word) => `${service}:${word}`)
