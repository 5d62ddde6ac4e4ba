// The command table: names and one-line summaries, known without loading any command, and how to load each.
import type { Command } from './command.ts'

export interface Entry {
  readonly name: string
  readonly summary: string
  load(): Promise<{ readonly command: Command }>
}

const entry = (name: string, summary: string, load: Entry['load']): Entry => ({ name, summary, load })

export const COMMANDS: readonly Entry[] = [
  entry(
    'demo',
    'See all of it on this machine, without a cluster, a cloud account or Docker',
    () => import('./demo.ts'),
  ),
  entry('up', 'Run an embedded control plane in one process', () => import('./up.ts')),
  entry('manager', 'Run the controllers against a management cluster', () => import('./manager.ts')),
  entry('apply', 'Check manifests field by field, then apply them', () => import('./apply.ts')),
  entry('get', 'List clusters, applies, deliveries and the other kinds of capt', () => import('./get.ts')),
  entry('describe', 'Show a cluster as a tree, and what to do when it stopped', () => import('./describe.ts')),
  entry('delete', 'Delete an object and what was made for it', () => import('./delete.ts')),
  entry('explain', 'Say what an error code means, how to check it and how to fix it', () => import('./explain.ts')),
  entry('matrix', 'Show which versions of EKS, Flux and Karpenter fit together', () => import('./matrix.ts')),
  entry('matrix check', 'Check a version, a pair or a manifest against the matrix', () => import('./matrix-check.ts')),
  entry(
    'karpenter convert',
    'Convert Provisioners and v1beta1 pools to Karpenter v1',
    () => import('./karpenter-convert.ts'),
  ),
  entry(
    'doctor',
    'Say what needs a person: suspects, locks, lost runs, and what no state knows',
    () => import('./doctor.ts'),
  ),
  entry('logs', 'Show what Terraform said, live or of past runs', () => import('./logs.ts')),
  entry('retry', 'Start another run of an apply', () => import('./retry.ts')),
  entry('cancel', 'Stop the run of an apply', () => import('./cancel.ts')),
  entry('state', 'List, show and restore Terraform state', () => import('./state.ts')),
  entry('forget', 'Let go of a workspace and leave its resources alone', () => import('./forget.ts')),
  entry('runner', 'Do one Terraform run; managers start it, people need not', () => import('./runner.ts')),
  entry('kubeconfig', 'Print a kubeconfig for a cluster', () => import('./kubeconfig.ts')),
  entry('move', 'Hand clusters to another management API, state included', () => import('./move.ts')),
]
