// What the engine keeps of the applies in the golden world: runs, a log, a state, and a plan that waits for approval.
import type { PlanText, RunRecord } from '#engine'
import type { Workspace } from '../../../src/engine/workspace.ts'

const HASH = '6f1c2d3e4a5b6c7d'
const RUN = '11111111-0000-4000-8000-000000000000'
const FAILED_RUN = '22222222-0000-4000-8000-000000000000'
const holder = { pid: 4321, start: '1', host: 'laptop', machine: 'm', boot: 'b', space: 's' }

interface Held {
  readonly name: string
  readonly record: Partial<RunRecord>
  readonly log?: { readonly runId: string; readonly text: string }
  readonly plan?: PlanText
  readonly state?: string
  /** The inputs that were kept with its last run. */
  readonly inputs?: Workspace
}

const run = (id: string, phase: 'Succeeded' | 'Failed'): Partial<RunRecord> => {
  const times = { startedAt: '2026-01-01T11:50:00Z', finishedAt: '2026-01-01T11:52:00Z' }
  const same = { id, verb: 'apply' as const, phase, attempt: 1, ...times }
  const message = phase === 'Failed' ? { message: 'aws_vpc.this: InvalidVpc.Range' } : {}
  return {
    run: { ...same, hash: 'h', holder, resumed: 0, folder: '/nowhere', timeoutSeconds: 3600 },
    history: [{ ...same, ...message }],
  }
}

const stateOf = (types: readonly string[]): string =>
  JSON.stringify({
    version: 4,
    serial: 1,
    lineage: 'line',
    outputs: {},
    resources: types.map((type) => ({
      mode: 'managed',
      type,
      name: 'this',
      provider: 'provider["registry.terraform.io/hashicorp/aws"]',
      instances: [{ attributes: { id: `${type}-1` } }],
    })),
  })
const state = stateOf(['aws_vpc', 'aws_subnet'])
const eksState = stateOf(Array.from({ length: 25 }, (_, i) => `aws_eks_part_${i}`))

const inputs = (name: string, texts: Workspace['variables']['texts']): Workspace => ({
  name,
  source: { kind: 'inline' },
  files: {
    'main.tf': Object.keys(texts)
      .map((key) => `variable "${key}" {}\n`)
      .join(''),
  },
  variables: { offered: {}, given: {}, texts, exact: {} },
  varFiles: [],
  env: {},
  secretEnv: [],
  credentials: [],
  args: { init: [], plan: [], apply: [], destroy: [] },
  connectionSecret: undefined,
  secretValues: [],
  logToManager: false,
  hash: 'h',
})

const update = { address: 'aws_vpc.this', action: 'update' as const }

export const HELD: readonly Held[] = [
  {
    name: 'blog-vpc',
    record: {
      ...run(RUN, 'Succeeded'),
      proposed: {
        hash: HASH,
        salt: 's',
        run: RUN,
        inputs: 'h',
        policy: 'p',
        because: 'Manual',
        changes: { listed: [update], more: 0 },
        madeAt: '2026-01-01T11:55:00Z',
        expiresAt: '2026-01-01T12:55:00Z',
      },
    },
    log: {
      runId: RUN,
      text: '11:50:01 aws_vpc.this: Creating...\n11:51:59 aws_vpc.this: Creation complete after 1m58s\n11:52:00 Apply complete! Resources: 2 added, 0 changed, 0 destroyed.\n',
    },
    plan: {
      changes: [{ ...update, lines: ['~ enable_dns_hostnames = false -> true'] }],
      without: 0,
      outputs: [],
    },
    state,
    inputs: inputs('blog-vpc', { vpc_cidr: '10.1.0.0/16' }),
  },
  {
    name: 'blog-eks-controlplane-apply',
    record: run(RUN, 'Succeeded'),
    state: eksState,
    inputs: inputs('blog-eks-controlplane-apply', {}),
  },
  {
    name: 'shop-vpc',
    record: run(FAILED_RUN, 'Failed'),
    log: {
      runId: FAILED_RUN,
      text: '11:50:01 aws_vpc.this: Creating...\n11:52:00 Error: InvalidVpc.Range: The CIDR is invalid\n',
    },
  },
]
