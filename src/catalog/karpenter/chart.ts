// Where the Karpenter chart is and how its versions are spelt. Public ECR lists no tags, so the exact tag matters:
// with a v up to 0.34, without from 0.35 on.
import { CaptError } from '#lib'
import { isAtLeast, toVersion } from '../version.ts'

/** Of the release, and of its chart. */
export const KARPENTER_RELEASE = 'karpenter'

/** Full address of one chart, as an OCIRepository wants it. */
export function chartUrl(chart: string = KARPENTER_RELEASE): string {
  return `oci://public.ecr.aws/karpenter/${chart}`
}

export function chartTag(version: string): string {
  const { major, minor, patch } = toVersion(version, 'Karpenter')
  const plain = `${major}.${minor}.${patch}`
  if (!isAtLeast(plain, '0.17.0'))
    throw new CaptError('CAPT_MATRIX_UNKNOWN', `Karpenter ${plain} was not published as an OCI chart`, {
      hint: 'choose a version from capt matrix',
    })
  return isAtLeast(plain, '0.35.0') ? plain : `v${plain}`
}

/** What Flux is asked for; `url` is that of a mirror. */
export function karpenterChart(version: string, url: string = chartUrl()) {
  return { name: KARPENTER_RELEASE, url, tag: chartTag(version) }
}
