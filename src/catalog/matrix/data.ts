// The version matrix as data. Every row names where it was read and when; rows are added, never dropped, because
// people upgrade from old versions too. `phase` is what a newcomer should think of an EKS version; a test holds it to the dates.

type Phase = 'current' | 'aging' | 'retired'

interface Source {
  readonly source: string
  /** Day on which the source was read, YYYY-MM-DD. */
  readonly checked: string
}

export interface EksRow extends Source {
  readonly component: 'eks'
  readonly line: string
  readonly released: string
  readonly standardUntil: string
  readonly extendedUntil: string
  readonly phase: Phase
}

export interface SupportRow extends Source {
  readonly component: 'flux' | 'karpenter'
  readonly line: string
  /** First patch this row speaks of; the line's first when left out. */
  readonly from?: string
  /** Newest patch known on `checked`. */
  readonly newest: string
  readonly kubernetes: { readonly min: string; readonly max: string }
  /** False for lines that are only a place to come from. */
  readonly installable: boolean
  /** Patches that must not be used, each with the reason. */
  readonly avoid?: Readonly<Record<string, string>>
}

export type MatrixRow = EksRow | SupportRow

const EKS: Source = {
  source: 'https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html',
  checked: '2026-08-22',
}
const FLUX: Source = { source: 'https://fluxcd.io/flux/releases/', checked: '2026-08-31' }
const KARPENTER: Source = { source: 'https://karpenter.sh/docs/upgrading/compatibility/', checked: '2026-08-20' }

const eks = (line: string, released: string, standardUntil: string, extendedUntil: string, phase: Phase): EksRow => ({
  component: 'eks',
  line,
  released,
  standardUntil,
  extendedUntil,
  phase,
  ...EKS,
})

const flux = (line: string, newest: string, min: string, max: string, installable: boolean): SupportRow => ({
  component: 'flux',
  line,
  newest,
  kubernetes: { min, max },
  installable,
  ...FLUX,
})

const karpenter = (
  line: string,
  newest: string,
  min: string,
  max: string,
  more: Partial<Pick<SupportRow, 'from' | 'avoid' | 'installable'>> = {},
): SupportRow => ({
  component: 'karpenter',
  line,
  newest,
  kubernetes: { min, max },
  installable: !line.startsWith('0.'),
  ...KARPENTER,
  ...more,
})

export const matrix: readonly MatrixRow[] = [
  eks('1.36', '2026-06-02', '2027-08-02', '2028-08-02', 'current'),
  eks('1.35', '2026-01-28', '2027-03-27', '2028-03-27', 'current'),
  eks('1.34', '2025-10-06', '2026-12-02', '2027-12-02', 'aging'),
  eks('1.33', '2025-05-28', '2026-07-29', '2027-07-29', 'aging'),
  eks('1.32', '2025-01-25', '2026-03-23', '2027-03-23', 'aging'),
  eks('1.31', '2024-09-26', '2025-11-26', '2026-11-26', 'retired'),
  eks('1.30', '2024-05-23', '2025-07-23', '2026-07-23', 'retired'),
  eks('1.29', '2024-01-23', '2025-03-23', '2026-03-23', 'retired'),
  eks('1.28', '2023-09-26', '2024-11-26', '2025-11-26', 'retired'),
  eks('1.27', '2023-05-24', '2024-07-24', '2025-07-24', 'retired'),

  flux('2.9', '2.9.5', '1.34', '1.36', true),
  flux('2.8', '2.8.8', '1.33', '1.35', true),
  flux('2.7', '2.7.5', '1.32', '1.34', true),
  flux('2.6', '2.6.4', '1.31', '1.33', true),
  flux('2.5', '2.5.1', '1.30', '1.32', false),
  flux('2.4', '2.4.0', '1.28', '1.31', false),
  flux('2.3', '2.3.0', '1.28', '1.30', false),

  karpenter('1.14', '1.14.1', '1.26', '1.36'),
  karpenter('1.13', '1.13.0', '1.26', '1.36'),
  karpenter('1.12', '1.12.0', '1.26', '1.35'),
  karpenter('1.11', '1.11.0', '1.26', '1.35'),
  karpenter('1.10', '1.10.0', '1.26', '1.35'),
  karpenter('1.9', '1.9.0', '1.26', '1.35'),
  karpenter('1.8', '1.8.0', '1.26', '1.34', { avoid: { '1.8.4': 'kubernetes-sigs/karpenter#2785' } }),
  karpenter('1.7', '1.7.0', '1.26', '1.34'),
  karpenter('1.6', '1.6.3', '1.26', '1.34'),
  karpenter('1.5', '1.5.0', '1.26', '1.33'),
  karpenter('1.4', '1.4.0', '1.25', '1.32'),
  karpenter('1.3', '1.3.3', '1.25', '1.32'),
  karpenter('1.2', '1.2.0', '1.25', '1.32'),
  karpenter('1.1', '1.1.0', '1.25', '1.31'),
  karpenter('1.0', '1.0.14', '1.25', '1.31', { from: '1.0.5' }),
  karpenter('1.0', '1.0.4', '1.25', '1.30', { from: '1.0.0', installable: false }),
  karpenter('0.37', '0.37.7', '1.23', '1.30'),
  karpenter('0.36', '0.36.9', '1.23', '1.29'),
  karpenter('0.35', '0.35.12', '1.23', '1.29'),
  karpenter('0.34', '0.34.13', '1.23', '1.29'),
  karpenter('0.33', '0.33.12', '1.23', '1.28'),
  karpenter('0.32', '0.32.10', '1.23', '1.28'),
  karpenter('0.31', '0.31.4', '1.23', '1.28'),
  karpenter('0.30', '0.30.0', '1.23', '1.27'),
  karpenter('0.29', '0.29.2', '1.23', '1.27', { avoid: { '0.29.1': 'leaks memory' } }),
  karpenter('0.28', '0.28.1', '1.23', '1.27', { avoid: { '0.28.0': 'broken on Kubernetes 1.26 and later' } }),
  karpenter('0.27', '0.27.3', '1.21', '1.25'),
  karpenter('0.26', '0.26.1', '1.21', '1.25'),
  karpenter('0.25', '0.25.0', '1.21', '1.25'),
  karpenter('0.24', '0.24.0', '1.21', '1.24'),
  karpenter('0.23', '0.23.0', '1.21', '1.24'),
  karpenter('0.22', '0.22.0', '1.21', '1.24'),
  karpenter('0.21', '0.21.0', '1.21', '1.24'),
]
