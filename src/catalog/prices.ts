// What the parts of a cluster cost in dollars an hour, in US East (N. Virginia). The figures are those that
// pages about AWS quoted in the given month; `source` is where AWS lists them now. For estimates that err high.

interface Price {
  readonly dollars: number
  readonly source: string
  /** Month for which it was quoted. */
  readonly read: string
}

export const PRICES = {
  controlPlane: { dollars: 0.1, source: 'https://aws.amazon.com/eks/pricing/', read: '2024-04' },
  controlPlaneExtended: { dollars: 0.6, source: 'https://aws.amazon.com/eks/pricing/', read: '2024-04' },
  't3.large': { dollars: 0.0832, source: 'https://aws.amazon.com/ec2/pricing/on-demand/', read: '2026-04' },
  natGateway: { dollars: 0.045, source: 'https://aws.amazon.com/vpc/pricing/', read: '2026-02' },
  publicAddress: { dollars: 0.005, source: 'https://aws.amazon.com/vpc/pricing/', read: '2026-02' },
} as const satisfies Record<string, Price>
