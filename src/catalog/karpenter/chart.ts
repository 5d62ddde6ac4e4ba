// Where the Karpenter chart is and how its versions are spelt. Public ECR lists no tags, so the exact tag matters:
// with a v up to 0.34, without from 0.35 on.
import { CaptError } from '#lib'
import { isAtLeast, toVersion } from '../version.ts'

/** Parent of both charts: what a HelmRepository or helm_release calls the repository. */
export const ociUrl = 'oci://public.ecr.aws/karpenter'
export const chartName = 'karpenter'

/** Full address of one chart, as an OCIRepository wants it. */
export function chartUrl(chart: string = chartName): string {
  return `${ociUrl}/${chart}`
}

export function chartTag(version: string): string {
  const { major, minor, patch } = toVersion(version, 'Karpenter')
  const plain = `${major}.${minor}.${patch}`
  if (!isAtLeast(plain, '0.17.0'))
    throw new CaptError('CAPT_MATRIX_UNKNOWN', `Karpenter ${plain} was not published as an OCI chart`, {
      hint: 'choose a version from docs/compatibility.md',
    })
  return isAtLeast(plain, '0.35.0') ? plain : `v${plain}`
}
