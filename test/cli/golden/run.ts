// Command lines of the group "Run capt".
import type { Elsewhere, Table } from '../../support/golden/table.ts'

export const RUN: Table = {
  version: { normal: ['version', 'version --help'], error: ['version 1', 'version --short'] },
  completion: {
    normal: ['completion bash', 'completion zsh', 'completion fish'],
    error: ['completion', 'completion tcsh'],
  },
  __complete: {
    normal: [
      '__complete -- ge',
      { line: '__complete -- get wtapply sh', stillTime: true },
      { line: "__complete -- describe cluster ''", stillTime: true },
      "__complete -- apply -f ''",
      '__complete -- get clusters --ou',
    ],
    error: [
      '__complete -- nothing such',
      { line: '__complete -- get clusters --kubeconfig FOLDER/closed.yaml sh', stillTime: true },
    ],
  },
  dashboard: {
    normal: [{ line: 'dashboard', interruptAfter: /Ctrl-C/ }],
    error: [
      'dashboard --listen here',
      'dashboard --tls-cert a.pem',
      'dashboard --kubeconfig FOLDER/none.yaml',
      'dashboard --kubeconfig FOLDER/closed.yaml',
    ],
  },
  up: {
    normal: [
      {
        line: 'up --data FOLDER/up --engine simulated --dashboard off --log-level error',
        interruptAfter: /capt is ready/,
      },
    ],
    error: [
      'up',
      'up --data FOLDER/up --listen here',
      'up --data FOLDER/up --engine banana',
      'up --data FOLDER/up -f FOLDER/none.yaml',
      'up --data FOLDER/up --wait-ready 5m',
      'up --data FOLDER/up --log-format xml',
      'up --data FOLDER/up --dashboard there',
    ],
  },
  backup: {
    normal: ['backup --data FOLDER/up -o FOLDER/home.backup'],
    error: [
      'backup --data FOLDER/up',
      'backup --data FOLDER/none -o FOLDER/other.backup',
      'backup --data FOLDER/up -o FOLDER/home.backup',
      'backup --data FOLDER/up -o FOLDER/other.backup --key-file FOLDER/none.key',
      'backup --kubeconfig FOLDER/closed.yaml -o FOLDER/other.backup',
    ],
  },
  restore: {
    normal: [
      'restore FOLDER/home.backup --data FOLDER/again --key-file FOLDER/up/encryption.key --dry-run',
      'restore FOLDER/home.backup --data FOLDER/again --key-file FOLDER/up/encryption.key',
    ],
    error: [
      'restore',
      'restore FOLDER/home.backup',
      'restore FOLDER/home.backup --data FOLDER/other',
      'restore FOLDER/none.backup --data FOLDER/other --key-file FOLDER/up/encryption.key',
      'restore FOLDER/home.backup --data FOLDER/up --key-file FOLDER/up/encryption.key',
      'restore FOLDER/kubeconfig --data FOLDER/other --key-file FOLDER/up/encryption.key',
    ],
  },
  'restore settle': {
    normal: ['restore settle --help'],
    error: ['restore settle now', 'restore settle --kubeconfig FOLDER/closed.yaml'],
  },
  demo: { error: ['demo --timeout soon', 'demo --engine banana', 'demo --record FOLDER/none/demo.svg'] },
  manager: {
    normal: ['manager --help'],
    error: [
      'manager --engine banana',
      'manager --enable-controller banana',
      'manager --concurrent-runs none',
      'manager --config FOLDER/none.yaml',
      'manager --kubeconfig FOLDER/none.yaml --engine simulated',
      'manager --kubeconfig FOLDER/closed.yaml --engine simulated --health-probe-bind-address 0',
    ],
  },
  runner: { normal: ['runner --help'], error: ['runner'] },
  'acceptance aws': {
    error: ['acceptance aws', 'acceptance aws --region nowhere', 'acceptance aws --region eu-west-1 --budget much'],
  },
  'acceptance simulation': {
    error: ['acceptance simulation --budget much', 'acceptance simulation --timeout soon'],
  },
}

/** Goldens of long stories, written by the test that runs them anyway. Acceptance in AWS is held up to its question: no test pays for a cluster. */
export const ELSEWHERE: Elsewhere = {
  demo: { normal: 'test/cli/demo.test.ts' },
  'acceptance aws': { normal: 'test/shipped/clusters/acceptance.test.ts' },
  'acceptance simulation': { normal: 'test/shipped/clusters/acceptance.test.ts' },
}
