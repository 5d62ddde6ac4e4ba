// What the parts of a cluster cost in dollars an hour, as AWS lists them for US East (N. Virginia), with day and source. For
// estimates that err high; docs/tutorial.md has the same figures.

interface Price {
  readonly dollars: number
  readonly source: string
  /** Month in which it was read or announced. */
  readonly read: string
}

export const PRICES = {
  controlPlane: { dollars: 0.1, source: 'https://aws.amazon.com/eks/pricing/', read: '2024-01' },
  controlPlaneExtended: { dollars: 0.6, source: 'https://aws.amazon.com/eks/pricing/', read: '2024-01' },
  't3.large': { dollars: 0.0832, source: 'https://aws.amazon.com/ec2/pricing/on-demand/', read: '2026-04' },
  natGateway: { dollars: 0.045, source: 'https://aws.amazon.com/vpc/pricing/', read: '2026-02' },
  publicAddress: { dollars: 0.005, source: 'https://aws.amazon.com/vpc/pricing/', read: '2026-02' },
} as const satisfies Record<string, Price>
