// Messages as providers and Terraform really word them; the class decides whether another attempt can help.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Progress, readMessage } from '../messages.ts'
import { killed, oomKills } from '../runner/failure.ts'
import { type FaultKind, needsPerson, type Stage, toFault } from './faults.ts'
import { backoffSeconds } from './policy.ts'

const errorOf = (summary: string, detail = '', address = '') => ({ summary, detail, address, at: '' })

const RECORDED: readonly (readonly [FaultKind, string, Stage, string])[] = [
  [
    'credentials',
    'CAPT_TF_ACCESS_DENIED',
    'apply',
    'creating EKS Cluster (demo): operation error EKS: CreateCluster, https response error StatusCode: 403, RequestID: 1, api error AccessDeniedException: User: arn:aws:sts::1:assumed-role/capt is not authorized to perform: eks:CreateCluster',
  ],
  [
    'credentials',
    'CAPT_TF_CREDENTIALS',
    'plan',
    'Retrieving AWS account details: validating provider credentials: retrieving caller identity from STS: operation error STS: GetCallerIdentity, https response error StatusCode: 403, RequestID: 1, api error ExpiredToken: The security token included in the request is expired',
  ],
  ['credentials', 'CAPT_TF_CREDENTIALS', 'plan', 'No valid credential sources found'],
  [
    'throttling',
    'CAPT_TF_THROTTLED',
    'apply',
    'creating EC2 NAT Gateway: operation error EC2: CreateNatGateway, exceeded maximum number of attempts, 25, api error RequestLimitExceeded: Request limit exceeded.',
  ],
  ['throttling', 'CAPT_TF_THROTTLED', 'apply', 'reading IAM Role (x): api error Throttling: Rate exceeded'],
  [
    'capacity',
    'CAPT_TF_QUOTA',
    'apply',
    'creating EC2 VPC: operation error EC2: CreateVpc, api error VpcLimitExceeded: The maximum number of VPCs has been reached.',
  ],
  [
    'capacity',
    'CAPT_TF_QUOTA',
    'apply',
    'creating EC2 EIP: api error AddressLimitExceeded: The maximum number of addresses has been reached.',
  ],
  [
    'capacity',
    'CAPT_TF_CAPACITY',
    'apply',
    'waiting for EKS Node Group (demo:main) create: unexpected state CREATE_FAILED, InsufficientInstanceCapacity: We currently do not have sufficient m7g.large capacity',
  ],
  [
    'dependency',
    'CAPT_TF_DEPENDENCY',
    'destroy',
    'deleting EC2 Subnet (subnet-1): operation error EC2: DeleteSubnet, api error DependencyViolation: The subnet has dependencies and cannot be deleted.',
  ],
  [
    'dependency',
    'CAPT_TF_DEPENDENCY',
    'apply',
    'operation error EKS: UpdateClusterConfig, api error ResourceInUseException: Cluster is already at the desired configuration',
  ],
  [
    'network',
    'CAPT_TF_NETWORK',
    'init',
    'Failed to query available provider packages: could not connect to registry.terraform.io: dial tcp: lookup registry.terraform.io: no such host',
  ],
  [
    'network',
    'CAPT_TF_NETWORK',
    'apply',
    'Post "https://eks.eu-west-1.amazonaws.com/clusters": net/http: TLS handshake timeout',
  ],
  [
    'internal',
    'CAPT_TF_CRASHED',
    'apply',
    'Plugin did not respond: The plugin encountered an error, and failed to respond to the plugin.(*GRPCProvider).ApplyResourceChange call',
  ],
  ['internal', 'CAPT_DISK_FULL', 'apply', 'Failed to save state: write terraform.tfstate: no space left on device'],
  [
    'user',
    'CAPT_TF_EXISTS',
    'apply',
    'creating IAM Role (demo-node): api error EntityAlreadyExists: Role with name demo-node already exists.',
  ],
  [
    'user',
    'CAPT_TF_INVALID',
    'apply',
    'creating EKS Cluster (demo): api error InvalidParameterException: unsupported Kubernetes version',
  ],
  ['user', 'CAPT_TF_INVALID', 'plan', 'Reference to undeclared input variable'],
  ['internal', 'CAPT_TF_FAILED', 'apply', 'local-exec provisioner error'],
]

describe('a Terraform error', () => {
  for (const [kind, code, stage, text] of RECORDED) {
    it(`is ${code} when it says: ${text.slice(0, 60)}`, () => {
      assert.partialDeepStrictEqual(toFault([errorOf(text)], stage), { kind, code })
    })
  }

  it('names the resource and the place, in one line', () => {
    const line = JSON.stringify({
      '@level': 'error',
      type: 'diagnostic',
      diagnostic: {
        severity: 'error',
        summary: 'local-exec provisioner error',
        detail: 'Error running command: exit status 3.\nOutput: no',
        address: 'terraform_data.bad',
        range: { filename: 'main.tf', start: { line: 14 } },
      },
    })
    const progress = new Progress()
    progress.add(readMessage(line)!)
    assert.deepEqual(toFault(progress.errors, 'apply'), {
      kind: 'internal',
      code: 'CAPT_TF_FAILED',
      address: 'terraform_data.bad',
      message: 'main.tf:14: local-exec provisioner error: Error running command: exit status 3. Output: no',
      hint: 'capt logs shows the whole output',
    })
  })

  for (const [what, file, code, offset, detail, address, begins] of [
    ['of JSON', '/w/vars/values.tfvars.json', '{"ä":1,"size":5}', 15, 'Below 3.', 'var.size', 'Invalid value: '],
    ['of HCL', '/w/vars/00.tfvars', 'size = 5', 7, 'Below 3.', 'var.size', 'Invalid value: '],
    ['without a snippet', '/w/vars/00.tfvars', '', 0, 'not for var.size', 'var.size', 'Invalid value: '],
    ['that is no HCL', '/w/vars/01.tfvars', 'size =', 6, 'Expected an expression', 'var.size', 'Invalid value: '],
    ['that cannot be read at all', '/w/vars/01.tfvars', '}', 0, 'Odd', undefined, 'varFiles[1]:4: Invalid'],
  ] as const) {
    it(`about a variables file ${what} names the variable, never the path`, () => {
      const message = readMessage(
        JSON.stringify({
          type: 'diagnostic',
          diagnostic: {
            severity: 'error',
            summary: 'Invalid value',
            detail,
            range: { filename: file, start: { line: 4 } },
            snippet: { code, highlight_start_offset: offset },
          },
        }),
      )
      assert.ok(message?.is === 'diagnostic')
      const fault = toFault([message.diagnostic], 'plan')
      assert.equal(fault?.address, address)
      assert.ok(fault?.message.startsWith(begins), fault?.message)
      assert.ok(!fault?.message.includes('/w/'))
    })
  }

  it('that needs a person outweighs those that pass', () => {
    const fault = toFault([errorOf('Throttling: Rate exceeded'), errorOf('AccessDenied: no')], 'apply')
    assert.equal(fault?.kind, 'credentials')
    assert.match(fault?.message ?? '', /and 1 more/)
    assert.ok(needsPerson('user') && needsPerson('credentials') && !needsPerson('network'))
  })

  it('that was never said, because Terraform was killed, is distinguished from a lack of memory', () => {
    assert.equal(killed('SIGKILL', 'fatal error: out of memory', oomKills()).code, 'CAPT_TF_OUT_OF_MEMORY')
    assert.equal(killed('SIGKILL', '', oomKills() - 1).kind, 'memory', 'the kernel counted one more')
    assert.equal(killed('SIGKILL', '', oomKills()).kind, 'lost')
  })

  it('is waited out longer each time, within bounds', () => {
    assert.deepEqual(
      [1, 2, 3, 20].map((attempt) => backoffSeconds('throttling', attempt)),
      [30, 60, 120, 600],
    )
  })
})

describe('the progress of a run', () => {
  const line = (type: string, addr: string, action: string) =>
    type === 'planned_change'
      ? JSON.stringify({ type, change: { resource: { addr }, action } })
      : JSON.stringify({ type, hook: { resource: { addr }, action } })

  it('counts resources, not lines, and knows what is in flight', () => {
    const progress = new Progress()
    const lines = [
      line('planned_change', 'a', 'create'),
      line('planned_change', 'b', 'replace'),
      line('planned_change', 'c', 'noop'),
      'not json at all',
      line('apply_start', 'a', 'create'),
      line('apply_complete', 'a', 'create'),
      line('apply_start', 'b', 'delete'),
    ]
    for (const text of [...lines, ...lines.slice(0, 3)]) progress.add(readMessage(text)!)
    assert.deepEqual(progress.counts, { add: 1, change: 0, destroy: 0, replace: 1 })
    assert.equal(progress.text, '1 of 3')
    assert.deepEqual([...progress.inFlight.keys()], ['b'])
  })

  it('knows which values Terraform found no variable for', () => {
    const progress = new Progress()
    const detail =
      'The root module does not declare a variable named "whoo" but a value was found in file "values.tfvars.json". If you meant to use this value, add a "variable" block to the configuration.'
    const diagnostic = { severity: 'warning', summary: 'Value for undeclared variable', detail }
    progress.add(readMessage(JSON.stringify({ '@level': 'warn', type: 'diagnostic', diagnostic }))!)
    assert.deepEqual([...progress.undeclared], ['whoo'])
    assert.deepEqual(progress.errors, [])
  })
})
