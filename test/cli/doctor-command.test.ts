// capt doctor as a person calls it: the text it prints, the data it gives, how it ends, and that no secret gets out.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  AddonDelivery,
  CAPTCluster,
  CAPTControlPlane,
  LeaseKind,
  SecretKind,
  WORKSPACE_ID_ANNOTATION,
  WorkspaceTemplateApply,
} from '#api'
import { AwsError } from '#aws'
import { leaseName, type Owner, restoreState, suffixOf } from '#engine'
import { anApply, manualClock, memoryCluster } from '#testing'
import type { Io } from '../../src/cli/command.ts'
import { doctorCommand } from '../../src/cli/commands/clusters/doctor.ts'
import { readArguments, report } from '../../src/cli/run.ts'
import { cloudOf } from '../../src/doctor/cloud.ts'
import { newRecord, type RunRecord } from '../../src/engine/record/record.ts'
import { writeRecord } from '../../src/engine/record/record-store.ts'
import { planted } from '../support/secrets/planted.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const RUN = '1a2b3c4d-0000-4000-8000-000000000000'
const PASSWORD = planted('in-a-state')
const VPC = 'arn:aws:ec2:eu-west-1:123456789012:vpc/vpc-0aaa'
const ORPHAN = 'arn:aws:ec2:eu-west-1:123456789012:subnet/subnet-0bbb'

const stateText = JSON.stringify({
  version: 4,
  serial: 13,
  lineage: 'line',
  outputs: {},
  resources: [
    {
      mode: 'managed',
      type: 'aws_vpc',
      name: 'this',
      provider: 'provider["registry.terraform.io/hashicorp/aws"]',
      instances: [{ attributes: { id: 'vpc-0aaa', arn: VPC, password: PASSWORD } }],
    },
    {
      mode: 'data',
      type: 'aws_subnet',
      name: 'found',
      provider: 'provider["registry.terraform.io/hashicorp/aws"]',
      instances: [{ attributes: { id: 'subnet-0bbb', arn: ORPHAN } }],
    },
  ],
})

type Answer = readonly string[] | AwsError

async function open(answers: Readonly<Record<string, Answer>> = {}) {
  const clock = manualClock(NOW)
  const { objects, seed } = memoryCluster({ clock })
  const asked: { region: string; tags: unknown; identity: unknown }[] = []
  const aws = {
    async findTagged(identity: unknown, region: string, tags: Readonly<Record<string, string>>) {
      asked.push({ region, tags, identity })
      const answer = answers[region] ?? []
      if (answer instanceof AwsError) throw answer
      return answer.map((arn) => ({ arn, tags: { ...tags } }))
    },
    accessKeyCreation: async () => undefined,
  }
  const spec = { variables: { region: 'eu-west-1' }, templateRef: { name: 'network' } }
  const made = await objects.create(WorkspaceTemplateApply, anApply(spec, { name: 'demo-vpc' }))
  const { apiVersion, kind, metadata } = made
  const owner: Owner = { namespace: 'default', name: 'demo-vpc', uid: metadata.uid ?? '', apiVersion, kind }
  const keep = async (record: Partial<RunRecord> = {}) => {
    await writeRecord(objects, owner, undefined, { ...newRecord('w-1'), ...record })
    await restoreState(objects, clock, owner, stateText)
  }
  const call = async (line = '') => {
    const out: string[] = []
    const err: string[] = []
    const io: Io = {
      stdout: { write: (text) => void out.push(text), isTerminal: false, columns: 110 },
      stderr: { write: (text) => void err.push(text), isTerminal: false, columns: 110 },
      stdin: (async function* () {})(),
      env: {},
      cwd: '/',
      clock,
      signal: new AbortController().signal,
      colour: false,
      connect: async () => ({
        objects,
        namespace: 'default',
        server: '',
        raw: async () => ({ status: 200, body: '{"versions":[{"version":"v1beta2"}]}' }),
        close: async () => undefined,
      }),
    }
    const command = doctorCommand(
      async (found) => cloudOf(found, aws, {}),
      async () => undefined,
    )
    const code = await Promise.resolve()
      .then(() => command.run(readArguments(command, ['doctor', ...line.split(' ').filter(Boolean)]), io))
      .catch((error: unknown) => report(error, io))
    return { code, out: out.join(''), err: err.join('') }
  }
  return { objects, seed, owner, keep, call, asked }
}

const denied = new AwsError('AccessDenied', 'tag:GetResources was refused: AccessDenied: no', {
  hint: 'allow tag:GetResources to the identity of this cluster',
})

describe('capt doctor', () => {
  it('ends with 0 and says so when nothing is wrong', async () => {
    const { keep, call, asked } = await open({ 'eu-west-1': [VPC] })
    await keep()
    assert.deepEqual(await call(), {
      code: 0,
      out: 'WorkspaceTemplateApply/demo-vpc  nothing found   1 resource, serial 14; 1 with its tag in eu-west-1, us-east-1\n\nNothing was found.\n',
      err: '',
    })
    assert.deepEqual(asked, [
      { region: 'eu-west-1', tags: { 'capt-workspace': 'w-1' }, identity: {} },
      { region: 'us-east-1', tags: { 'capt-workspace': 'w-1' }, identity: {} },
    ])
  })

  it('finds by their tag what a workspace has of which nothing else is left', async () => {
    const { objects, call, asked } = await open({ 'eu-west-1': [VPC, ORPHAN] })
    const unknown = await call()
    assert.deepEqual([unknown.code, asked], [0, []], 'one that never ran is not asked for')
    const body = { metadata: { annotations: { [WORKSPACE_ID_ANNOTATION]: 'w-1' } } }
    await objects.patch(WorkspaceTemplateApply, { namespace: 'default', name: 'demo-vpc' }, { type: 'merge', body })
    const { code, out } = await call()
    assert.equal(code, 1)
    assert.match(out, /the state is gone while 2 resources are recorded/)
    assert.deepEqual(asked[0], { region: 'eu-west-1', tags: { 'capt-workspace': 'w-1' }, identity: {} })
    const skipped = await call('--skip-aws')
    assert.equal(skipped.code, 0)
  })

  it('prints one line for each thing, what to do below it, and ends with 1', async () => {
    const { keep, call, seed } = await open({ 'eu-west-1': [VPC, ORPHAN] })
    const finishedAt = new Date(NOW - 6 * 60_000).toISOString()
    await keep({
      suspects: [{ address: 'aws_subnet.a', action: 'create', run: RUN }],
      history: [{ id: RUN, verb: 'apply', phase: 'Lost', attempt: 1, startedAt: finishedAt, finishedAt }],
    })
    seed(LeaseKind, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        namespace: 'default',
        name: leaseName(suffixOf({ namespace: 'default', name: 'demo-vpc' })),
        annotations: {
          'app.terraform.io/lock-info': JSON.stringify({ Who: 'ann@laptop', Operation: 'OperationTypePlan' }),
        },
      },
      spec: { holderIdentity: 'someone' },
    } as never)
    seed(CAPTControlPlane, {
      apiVersion: CAPTControlPlane.apiVersion,
      kind: CAPTControlPlane.kind,
      metadata: { namespace: 'default', name: 'demo' },
      spec: {},
      status: {
        conditions: [
          {
            type: 'Stalled',
            status: 'True',
            reason: 'RegionMissing',
            message: 'The region is not known. Set it',
            lastTransitionTime: finishedAt,
          },
        ],
      },
    } as never)
    const { code, out } = await call()
    assert.equal(code, 1)
    const lease = leaseName(suffixOf({ namespace: 'default', name: 'demo-vpc' }))
    assert.equal(
      out,
      `WorkspaceTemplateApply/demo-vpc  1 resource, serial 14; 2 with its tag in eu-west-1, us-east-1
  suspect    aws_subnet.a was being created when run 1a2b3c4d was killed; it is not in the state            6m
             → look for it in the cloud: keep it by an import block in the template, or delete it; then:
               capt retry demo-vpc --clear-suspects
  lock       held by a person, not by capt: ann@laptop, OperationTypePlan
             → wait for them, or ask them; only when nobody works there any more:
               kubectl -n default patch lease ${lease} --type merge -p '{"spec":{"holderIdentity":null}}'
  run        run 1a2b3c4d (apply) was lost                                                                  6m
  untracked  ${ORPHAN} found by tag, in no state
             → keep it by an import block with id = "subnet-0bbb" in WorkspaceTemplate network, or delete it; what was deleted within the last hour may still be listed
CAPTControlPlane/demo
  stalled    The region is not known. Set it                                                                6m
             → see the whole of it:
               capt describe captcontrolplane demo

4 things need a person, 1 to know.
`,
    )
  })

  const at = (secondsAgo: number) => new Date(NOW - secondsAgo * 1000).toISOString()
  const notReady = (reason: string, message: string) => ({
    type: 'Ready',
    status: 'False',
    reason,
    message,
    lastTransitionTime: at(300),
    observedGeneration: 1,
  })
  const lastError = { kind: 'credentials', code: 'CAPT_TF_CREDENTIALS', message: 'AccessDenied', hint: 'renew it' }
  const applyWith = (status: object, metadata: object = {}) => ({
    ...anApply({}, { namespace: 'default', name: 'sick', generation: 1, creationTimestamp: at(900), ...metadata }),
    status,
  })
  const stages = [
    {
      name: 'flux',
      state: 'Checking',
      startedAt: at(400),
      healthy: { status: 'False', since: at(300), evidence: ['source-controller: CrashLoopBackOff'] },
    },
  ]
  for (const [what, kind, object, expected] of [
    [
      'a template that does not exist',
      WorkspaceTemplateApply,
      applyWith({ phase: 'Waiting', conditions: [notReady('TemplateMissing', 'There is no WorkspaceTemplate vpc')] }),
      /There is no WorkspaceTemplate vpc/,
    ],
    [
      'an apply that fails again and again',
      WorkspaceTemplateApply,
      applyWith({
        phase: 'Running',
        attempts: 24,
        lastError,
        run: { verb: 'apply' },
        conditions: [notReady('RunInProgress', 'Terraform apply is running')],
      }),
      /attempt 24 of terraform apply failed: AccessDenied/,
    ],
    [
      'a destroy that failed seven times',
      WorkspaceTemplateApply,
      applyWith(
        {
          phase: 'Deleting',
          attempts: 7,
          lastError,
          run: { verb: 'destroy' },
          conditions: [notReady('RetryScheduled', 'Attempt 7 to destroy failed')],
        },
        { deletionTimestamp: at(300), finalizers: ['a.b/c'] },
      ),
      /attempt 7 of terraform destroy failed: AccessDenied/,
    ],
    [
      'Flux that crashes in a loop',
      AddonDelivery,
      {
        apiVersion: AddonDelivery.apiVersion,
        kind: AddonDelivery.kind,
        metadata: { namespace: 'default', name: 'sick', generation: 1, creationTimestamp: at(900) },
        spec: { clusterName: 'sick', pipelineRef: { name: 'default' } },
        status: { conditions: [notReady('NotHealthy', 'flux is not healthy')], stages },
      },
      /flux: source-controller: CrashLoopBackOff/,
    ],
  ] as const)
    it(`finds ${what}`, async () => {
      const { keep, call, seed } = await open({ 'eu-west-1': [VPC] })
      await keep()
      seed(kind, object as never)
      const { code, out } = await call()
      assert.match(out, expected)
      assert.doesNotMatch(out, /Nothing was found/)
      assert.equal(code, 1)
    })

  it('gives the same as data', async () => {
    const { keep, call } = await open({ 'eu-west-1': [ORPHAN] })
    await keep()
    const { code, out } = await call('-o json')
    assert.equal(code, 1)
    const { needsPerson, namespace, examined } = JSON.parse(out)
    assert.deepEqual([needsPerson, namespace, examined.length], [true, 'default', 1])
    assert.deepEqual([examined[0].findings[0].word, examined[0].findings[0].weight], ['untracked', 'person'])
    assert.match((await call('-o yaml')).out, /needsPerson: true/)
    assert.equal((await call('-o table')).code, 2)
  })

  it('never prints what is in the state but ids', async () => {
    const { keep, call } = await open({ 'eu-west-1': [ORPHAN] })
    await keep()
    for (const line of ['', '-o json', '-o yaml']) assert.ok(!(await call(line)).out.includes(PASSWORD))
  })

  it('says that AWS refused, and prints the rest', async () => {
    const { keep, call } = await open({ 'eu-west-1': denied })
    await keep({ suspects: [{ address: 'aws_subnet.a', action: 'create', run: RUN }] })
    const { code, out } = await call()
    assert.equal(code, 1)
    assert.match(out, /suspect {2}aws_subnet\.a/)
    assert.match(out, /unknown {2}AWS was not asked: tag:GetResources was refused/)
    assert.match(out, /→ allow tag:GetResources to the identity of this cluster/)
  })

  it('says which region did not answer when only the global one is refused', async () => {
    const { keep, call } = await open({ 'eu-west-1': [VPC], 'us-east-1': denied })
    await keep()
    const { code, out } = await call()
    assert.equal(code, 1)
    assert.match(out, /AWS did not say what is in us-east-1/)
    assert.match(out, /1 with its tag in eu-west-1\n/)
  })

  it('says that the credentials of the workspace are missing, and prints the rest', async () => {
    const { keep, call, objects, asked } = await open()
    await keep()
    const body = { spec: { credentialsRef: { name: 'shop-aws' } } }
    await objects.patch(WorkspaceTemplateApply, { namespace: 'default', name: 'demo-vpc' }, { type: 'merge', body })
    const { code, out } = await call('wtapply demo-vpc')
    assert.equal(code, 1)
    assert.match(out, /AWS was not asked: Secret default\/shop-aws with the AWS identity does not exist/)
    assert.equal(asked.length, 0)
    await objects.create(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name: 'shop-aws' },
      data: {
        AWS_ACCESS_KEY_ID: Buffer.from('AKID').toString('base64'),
        AWS_SECRET_ACCESS_KEY: Buffer.from(planted('keys')).toString('base64'),
      },
    } as never)
    assert.equal((await call('wtapply demo-vpc')).code, 0)
    assert.deepEqual(asked[0]?.identity, { keys: { accessKeyId: 'AKID', secretAccessKey: planted('keys') } })
  })

  it('does not ask AWS with --skip-aws', async () => {
    const { keep, call, asked } = await open({ 'eu-west-1': denied })
    await keep()
    assert.equal((await call('--skip-aws')).code, 0)
    assert.deepEqual(asked, [])
  })

  it('looks at one cluster with all that belongs to it, and at nothing else', async () => {
    const { keep, call, seed, objects } = await open({ 'eu-west-1': [VPC] })
    await keep()
    const labels = { 'cluster.x-k8s.io/cluster-name': 'demo' }
    const own = { metadata: { labels } }
    await objects.patch(
      WorkspaceTemplateApply,
      { namespace: 'default', name: 'demo-vpc' },
      { type: 'merge', body: own },
    )
    await objects.create(WorkspaceTemplateApply, anApply({}, { name: 'foreign' }))
    const Cluster = {
      group: 'cluster.x-k8s.io',
      version: 'v1beta2',
      kind: 'Cluster',
      plural: 'clusters',
      namespaced: true,
    }
    seed(Cluster, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { namespace: 'default', name: 'demo' },
      spec: { infrastructureRef: { apiGroup: CAPTCluster.group, kind: CAPTCluster.kind, name: 'demo' } },
    } as never)
    seed(AddonDelivery, {
      apiVersion: AddonDelivery.apiVersion,
      kind: AddonDelivery.kind,
      metadata: { namespace: 'default', name: 'demo', labels },
      spec: {},
      status: { teardown: { startedAt: new Date(NOW).toISOString(), leftovers: ['instance i-1'] } },
    } as never)
    for (const line of ['demo', 'cluster demo']) {
      const { code, out } = await call(line)
      assert.equal(code, 1)
      assert.match(out, /WorkspaceTemplateApply\/demo-vpc {2}nothing found/)
      assert.match(out, /AddonDelivery\/demo\n {2}left +instance i-1 was left/)
      assert.doesNotMatch(out, /foreign/)
    }
  })

  it('distinguishes wrong usage from failures', async () => {
    const { call } = await open()
    assert.equal((await call('addonpipeline x')).code, 2)
    assert.equal((await call('wtapply nobody')).code, 1)
    assert.match((await call('wtapply nobody')).err, /CAPT_KUBE_NOT_FOUND/)
  })
})
