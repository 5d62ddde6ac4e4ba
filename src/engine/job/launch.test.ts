// What a run in a Job is refused for before it starts, and what its Job asks for: over an API that answers as the table says.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { AnyObject, Secret } from '#api'
import { KubeError, type Objects } from '#kube'
import { silentLog } from '#lib'
import { manualClock } from '#testing'
import type { StartRequest } from '../port.ts'
import { newRecord, type Run, type RunRecord } from '../record/record.ts'
import { toRunFault } from '../runner/failure.ts'
import { launchJob } from './launch.ts'

const owner = { namespace: 'team-a', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const request: StartRequest = { owner, verb: 'apply', hash: 'h', timeoutSeconds: 600 }
const run = { id: 'r', resumed: 0, job: { namespace: 'runs', name: 'capt-demo' } } as Run
/** Timeout, grace, closing and saving. */
const NEEDED = 600 + 120 + 60 + 600

interface Answers {
  /** By kind: what a write of it is refused with. */
  readonly refuse?: Readonly<Record<string, KubeError>>
  readonly tokenSeconds?: number
}

async function launch(
  { refuse = {}, tokenSeconds }: Answers,
  more: Partial<StartRequest> = {},
  record: Partial<RunRecord> = {},
) {
  const made: { kind: string; object: AnyObject }[] = []
  const write = async (kind: { kind: string }, object: AnyObject) => {
    const refusal = refuse[object.kind]
    if (refusal) throw refusal
    made.push({ kind: kind.kind, object })
    if (object.kind !== 'TokenRequest') return { ...object, metadata: { ...object.metadata, uid: 'uid' } }
    const { spec } = object as unknown as { spec: { expirationSeconds: number } }
    const expirationSeconds = tokenSeconds ?? spec.expirationSeconds
    return { ...object, spec: { ...spec, expirationSeconds }, status: { token: 'secret-token' } }
  }
  const objects = {
    get: async () => undefined,
    create: write,
    apply: write,
    patch: async () => ({}),
  } as unknown as Objects
  const options = {
    objects,
    clock: manualClock(),
    log: silentLog,
    runNamespace: 'runs',
    image: 'runner:v1',
    accountOf: (namespace: string) => `cloud-of-${namespace}`,
    access: { server: 'https://10.0.0.1' },
  }
  const failed = await launchJob(options, { ...request, ...more }, { ...newRecord('w'), ...record, run }).then(
    () => undefined,
    (error: unknown) => toRunFault(error),
  )
  return { failed, made }
}

describe('A run in a Job is refused before it starts', () => {
  const forbidden = (message: string) => new KubeError('Forbidden', message)
  const cases: readonly (readonly [string, Answers, string, string, RegExp])[] = [
    ['by a shortened token', { tokenSeconds: 3600 - 2800 }, 'CAPT_RUN_TOKEN_SHORTENED', 'user', /800 seconds.*1380/],
    [
      'by a quota on Jobs',
      { refuse: { Job: forbidden('jobs.batch "x" is forbidden: exceeded quota: q, requested: count/jobs.batch=1') } },
      'CAPT_RUN_QUOTA_EXCEEDED',
      'capacity',
      /exceeded quota: q/,
    ],
    [
      'by a quota on Secrets',
      { refuse: { Secret: forbidden('secrets "x" is forbidden: exceeded quota: q') } },
      'CAPT_RUN_QUOTA_EXCEEDED',
      'capacity',
      /exceeded quota: q/,
    ],
    [
      'by a webhook',
      { refuse: { Job: forbidden('admission webhook "w" denied the request: no') } },
      'CAPT_RUN_REFUSED',
      'dependency',
      /admission webhook/,
    ],
    [
      'because the namespace of the runs is missing',
      { refuse: { ServiceAccount: new KubeError('NotFound', 'namespaces "runs" not found') } },
      'CAPT_RUN_REFUSED',
      'dependency',
      /namespaces "runs" not found/,
    ],
    [
      'because a namespace that is being deleted takes no new role',
      { refuse: { Role: new KubeError('NamespaceTerminating', 'it is being terminated') } },
      'CAPT_RUN_REFUSED',
      'dependency',
      /terminated/,
    ],
    [
      'because the manager may not make roles',
      { refuse: { Role: forbidden('roles.rbac.authorization.k8s.io is forbidden: User "m" cannot create resource') } },
      'CAPT_RUN_REFUSED',
      'dependency',
      /cannot create resource/,
    ],
  ]
  for (const [what, answers, code, kind, message] of cases)
    it(what, async () => {
      const { failed, made } = await launch(answers)
      assert.deepEqual([failed?.code, failed?.kind], [code, kind])
      assert.match(failed?.message ?? '', message)
      assert.notEqual(failed?.hint, '')
      assert.ok(!made.some(({ object }) => object.kind === 'Job'), 'no Job is made')
    })

  it('never by its own Job that an earlier attempt has made', async () => {
    const { failed } = await launch({ refuse: { Job: new KubeError('AlreadyExists', 'it exists') } })
    assert.equal(failed, undefined)
  })
})

describe('A run in a Job', () => {
  it('gets a token of its workspace for its whole time, bound to its Secret, and the account of its namespace', async () => {
    const { made, failed } = await launch({})
    assert.equal(failed, undefined)
    assert.deepEqual(
      made.map(({ object }) => object.kind),
      ['ServiceAccount', 'Role', 'RoleBinding', 'Secret', 'TokenRequest', 'Job'],
      'the Job comes last',
    )
    const { spec } = made.find(({ object }) => object.kind === 'TokenRequest')!.object as unknown as { spec: object }
    assert.partialDeepStrictEqual(spec, {
      expirationSeconds: NEEDED,
      boundObjectRef: { kind: 'Secret', name: 'capt-demo', uid: 'uid' },
    })
    const job = made.at(-1)!.object
    assert.ok(JSON.stringify(job).includes('"serviceAccountName":"cloud-of-team-a"'))
    assert.ok(!JSON.stringify(made).includes('secret-token'), 'the token is in the Secret alone')
  })

  it('gets the name of the program that wrote the state', async () => {
    const bundle = { id: 'b', parts: 1, bytes: 1, hash: 'h', tool: 'tofu 1.10.6' }
    const { made } = await launch({}, {}, { bundle })
    const { data } = made.find(({ object }) => object.kind === 'Secret')!.object as Secret
    const text = gunzipSync(Buffer.from(data!['request']!, 'base64')).toString()
    assert.equal((JSON.parse(text) as { lastTool?: string }).lastTool, 'tofu 1.10.6')
  })

  it('asks for the resources of its template', async () => {
    const resources = { limits: { memory: '6Gi' }, requests: { cpu: '2' } }
    const { made } = await launch({}, { workspace: { resources, credentials: [], secretEnv: [] } as never })
    const { spec } = made.at(-1)!.object as unknown as {
      spec: { template: { spec: { containers: { resources: object }[] } } }
    }
    assert.deepEqual(spec.template.spec.containers[0]?.resources, {
      requests: { cpu: '2', memory: '6Gi', 'ephemeral-storage': '1Gi' },
      limits: { memory: '6Gi', 'ephemeral-storage': '8Gi' },
    })
  })
})
