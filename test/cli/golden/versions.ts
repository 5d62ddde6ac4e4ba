// Command lines of the group "Versions and errors", and help.
import type { Table } from '../../support/golden/table.ts'

export const VERSIONS: Table = {
  explain: {
    normal: [
      'explain CAPT_KUBECONFIG_NAME_TAKEN',
      'explain VcpuLimitExceeded',
      'explain UnauthorizedOperation',
      "explain 'Error acquiring the state lock'",
      'explain spot',
    ],
    json: ['explain CAPT_KUBECONFIG_NAME_TAKEN -o json'],
    error: ['explain CAPT_NO_SUCH_CODE', 'explain spot -o wide'],
  },
  matrix: {
    normal: ['matrix'],
    wide: ['matrix -o wide'],
    json: ['matrix -o json'],
    error: ['matrix -o xml', 'matrix 1.35'],
  },
  'matrix check': {
    normal: [
      'matrix check --kubernetes 1.35',
      'matrix check --kubernetes 1.34 --karpenter 1.0.7',
      'matrix check --kubernetes 1.30',
    ],
    json: ['matrix check --kubernetes 1.35 -o json'],
    error: [
      'matrix check',
      'matrix check --kubernetes new',
      'matrix check -f FOLDER/none.yaml',
      'matrix check --kubernetes 1.35 -o wide',
    ],
  },
}
