// Plans that people read and approve, by the shipped program with Terraform: approve, change, deny, expire, guard.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { WorkspaceTemplateApply } from '#api'
import { connect, loadKubeconfig } from '#kube'
import { planted } from '../../support/secrets/planted.ts'
import { findTool, RUN_TOOL, TOOL_OF_TEMPLATE } from '../../support/tools.ts'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const skip = findTool(RUN_TOOL) ? false : `${RUN_TOOL} is not installed`
const SECRET = planted('plan')

const MODULE = `variable "cidr" { type = string }
variable "size" { type = number }
variable "password" {
  type      = string
  sensitive = true
}
resource "terraform_data" "vpc" {
  input            = { cidr = var.cidr, password = var.password }
  triggers_replace = [var.cidr]
}
resource "terraform_data" "subnet" {
  count = var.size
  input = "subnet"
}`

interface Apply {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly status?: {
    readonly phase?: string
    readonly appliedHash?: string
    readonly plan?: Readonly<Record<string, unknown>> & {
      readonly hash?: string
      readonly changes?: readonly { readonly address: string; readonly action: string; readonly reason?: string }[]
    }
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason: string
      readonly message: string
    }[]
  }
}

describe('plans of the shipped program', { skip }, () => {
  let shipped: Shipped
  let home: UpHome
  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up()
    await open()
  })
  after(async () => {
    await connection?.close()
    await shipped.end()
  })

  const at = () => ['--kubeconfig', home.kubeconfig]
  // In this process: a program for each look would take longer than the runs.
  let connection: ReturnType<typeof connect> | undefined
  const open = async () => {
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
  }
  const get = async (name: string): Promise<Apply> =>
    (await connection!.objects.get(WorkspaceTemplateApply, { namespace: 'default', name })) as unknown as Apply
  const ready = (apply: Apply) => apply.status?.conditions?.find(({ type }) => type === 'Ready')
  const until = async (name: string, what: string, test: (apply: Apply) => boolean): Promise<Apply> => {
    let last: Apply | undefined
    await waitUntil(
      `${name}: ${what}`,
      async () => {
        last = await get(name)
        return test(last)
      },
      120_000,
      () => JSON.stringify(last?.status),
    )
    return last!
  }
  const untilReason = (name: string, reason: string, hashBefore?: string) =>
    until(name, reason, (apply) => ready(apply)?.reason === reason && apply.status?.plan?.hash !== (hashBefore ?? ''))
  const untilApplied = (name: string, test: (apply: Apply) => boolean = () => true) =>
    until(name, 'Applied', (apply) => apply.status?.phase === 'Applied' && test(apply))

  /** An apply with a template of the same name. */
  function manifest(name: string, spec: object, values: { cidr: string; size: number }, as = name): string {
    const api = 'infrastructure.cluster.x-k8s.io/v1beta1'
    const forProvider = { source: 'Inline', module: MODULE }
    const objects = [
      {
        apiVersion: api,
        kind: 'WorkspaceTemplate',
        metadata: { name },
        spec: { template: { spec: { forProvider, ...TOOL_OF_TEMPLATE } } },
      },
      {
        apiVersion: api,
        kind: 'WorkspaceTemplateApply',
        metadata: { name },
        spec: { templateRef: { name }, values: { password: SECRET, ...values }, ...spec },
      },
    ]
    const file = join(shipped.folder, `${as}.json`)
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
    return file
  }
  const write = (name: string, spec: object, values: { cidr: string; size: number }) =>
    shipped.captOk(['apply', '-f', manifest(name, spec, values), ...at()])
  const refused = async (args: readonly string[], code: RegExp) => {
    const { code: exit, err } = await shipped.capt([...args, ...at()])
    assert.equal(exit, 1, err)
    assert.match(err, code)
  }

  it('wait for approval when approval is Manual, and an approval passes no other plan', async () => {
    await write('manual', { approval: 'Manual' }, { cidr: '10.0.0.0/16', size: 1 })
    const first = await untilReason('manual', 'ApprovalRequired')
    const hash = first.status!.plan!.hash!
    assert.partialDeepStrictEqual(first.status!.plan!, {
      add: 2,
      change: 0,
      destroy: 0,
      replace: 0,
      approval: 'Required',
    })
    assert.equal(first.status!.appliedHash, undefined)
    assert.ok(first.status!.conditions!.some(({ type, status }) => type === 'ApprovalRequired' && status === 'True'))

    const shown = await shipped.captOk(['plan', 'manual', ...at()])
    assert.match(shown, /# terraform_data\.vpc will be created/)
    assert.match(shown, /\+ cidr += "10\.0\.0\.0\/16"/)
    assert.match(shown, /password += \(sensitive value\)/)
    assert.match(shown, /Plan: 2 to add, 0 to change, 0 to destroy\./)
    assert.doesNotMatch(shown, /\u001b/)
    const events = await shipped.captOk(['describe', 'wtapply', 'manual', ...at()])
    assert.match(events, /capt approve manual --plan/)

    await refused(['approve', 'manual', '--plan', 'ffffffffffffffff'], /CAPT_PLAN_CHANGED/)
    await refused(['approve', 'absent', '--plan', hash], /absent/)

    // Another plan replaces it: the approval of the first one is refused, and would not count.
    await write('manual', { approval: 'Manual' }, { cidr: '10.0.0.0/16', size: 2 })
    const second = await untilReason('manual', 'ApprovalRequired', hash)
    assert.equal(second.status!.plan!['add'], 3)
    await refused(['approve', 'manual', '--plan', hash], /CAPT_PLAN_CHANGED/)
    const annotation = `capt.appthrust.com/approved-plan=${hash}`
    await shipped.kubectl(home.kubeconfig, ['annotate', 'wtapply', 'manual', annotation])
    const ignored = await until('manual', 'the answer to the other approval', (apply) =>
      /does not count/.test(ready(apply)?.message ?? ''),
    )
    assert.equal(ignored.status!.appliedHash, undefined)

    const said = await shipped.captOk(['approve', 'manual', '--plan', second.status!.plan!.hash!, ...at()])
    assert.match(said, /as kubernetes-admin/)
    const applied = await untilApplied('manual')
    assert.partialDeepStrictEqual(applied.status!.plan!, {
      hash: second.status!.plan!.hash!,
      approval: 'Approved',
      approvedBy: 'kubernetes-admin',
      approver: 'verified',
    })
    assert.match(await shipped.captOk(['logs', 'manual', ...at()]), /Applying the plan of .* that was approved/)
    await refused(['approve', 'manual', '--plan', second.status!.plan!.hash!], /CAPT_PLAN_ABSENT/)
  })

  it('that are denied stop until they are made again', async () => {
    await write('manual', { approval: 'Manual' }, { cidr: '10.1.0.0/16', size: 2 })
    const waiting = await until(
      'manual',
      'replacement',
      (apply) => apply.status?.plan?.['replace'] === 1 && ready(apply)?.reason === 'ApprovalRequired',
    )
    const vpc = waiting.status!.plan!.changes!.find(({ address }) => address === 'terraform_data.vpc')
    assert.deepEqual(vpc, {
      address: 'terraform_data.vpc',
      action: 'replace',
      reason: 'it cannot be updated in place: triggers_replace',
    })
    await shipped.captOk(['approve', 'manual', '--deny', ...at()])
    const denied = await untilReason('manual', 'PlanDenied')
    assert.equal(denied.status!.phase, 'Stalled')
    assert.partialDeepStrictEqual(denied.status!.plan!, { approval: 'Denied', approvedBy: 'kubernetes-admin' })
    await shipped.captOk(['retry', 'manual', ...at()])
    await untilReason('manual', 'ApprovalRequired', waiting.status!.plan!.hash)
  })

  it('that replace a guarded resource wait even with approval Auto, and a deletion approves itself', async () => {
    const guard = ['terraform_data.vpc', 'aws_vcp']
    await write('guarded', { guard }, { cidr: '10.0.0.0/16', size: 2 })
    const applied = await untilApplied('guarded')
    const unknown = applied.status!.conditions!.find(({ type }) => type === 'GuardUnknown')
    assert.match(unknown?.message ?? '', /aws_vcp/)
    // A resource that is not guarded goes by itself.
    await write('guarded', { guard }, { cidr: '10.0.0.0/16', size: 1 })
    await untilApplied('guarded', ({ status }) => status?.plan?.['destroy'] === 1)
    await write('guarded', { guard }, { cidr: '10.1.0.0/16', size: 1 })
    const waiting = await untilReason('guarded', 'ApprovalRequired')
    assert.match(ready(waiting)!.message, /guarded resources: terraform_data\.vpc/)
    await shipped.captOk(['approve', 'guarded', '--plan', waiting.status!.plan!.hash!, ...at()])
    await untilApplied('guarded', ({ status }) => status?.plan?.['replace'] === 1)
    await shipped.captOk(['delete', 'wtapply', 'guarded', '--yes', ...at()])
    await waitUntil(
      'the end of the deletion',
      async () => (await shipped.capt(['get', 'wtapply', 'guarded', ...at()])).code !== 0,
    )
  })

  it('that are speculative show what other values would change, and change nothing', async () => {
    await write('real', {}, { cidr: '10.0.0.0/16', size: 1 })
    const before = await untilApplied('real')
    assert.match(await shipped.captOk(['plan', 'real', ...at()]), /No changes\./)
    const file = manifest('real', {}, { cidr: '10.9.0.0/16', size: 2 }, 'other')
    const shown = await shipped.captOk(['plan', '-f', file, ...at()])
    assert.match(shown, /Speculative plan for default\/real/)
    assert.match(shown, /# terraform_data\.vpc must be replaced/)
    assert.match(shown, /~ cidr += "10\.0\.0\.0\/16" -> "10\.9\.0\.0\/16"/)
    assert.match(shown, /Plan: 2 to add, 0 to change, 1 to destroy\./)
    assert.ok(!shown.includes(SECRET))
    const after = await get('real')
    assert.deepEqual(after.status, before.status)
    await waitUntil('the end of the speculative applies', async () => {
      const { out } = await shipped.capt(['get', 'wtapply', ...at()])
      return !/real-plan-/.test(out)
    })
    // Another template is refused.
    await write('another', {}, { cidr: '10.0.0.0/16', size: 1 })
    const { code, err } = await shipped.capt([
      'plan',
      '-f',
      manifest('real', { templateRef: { name: 'another' } }, { cidr: 'x', size: 1 }, 'wrong'),
      ...at(),
    ])
    assert.equal(code, 1)
    assert.match(err, /CAPT_PLAN_FAILED/)
    assert.match(err, /another template/)
  })

  it('expire, cannot be approved then, and are made again', async () => {
    await connection?.close()
    await home.stop()
    home = await shipped.up('short', ['--plan-expiry', '6s', '--approval', 'Manual'])
    await open()
    await write('short', {}, { cidr: '10.0.0.0/16', size: 1 })
    const first = (await untilReason('short', 'ApprovalRequired')).status!.plan!.hash!
    await untilReason('short', 'ApprovalRequired', first)
    await refused(['approve', 'short', '--plan', first], /CAPT_PLAN_(CHANGED|ABSENT|EXPIRED)/)
    assert.equal((await get('short')).status!.appliedHash, undefined)
  })

  it('leave no secret in anything that is stored but state and plan themselves', async () => {
    const { out } = await shipped.kubectl(home.kubeconfig, ['get', 'secrets,wtapply,events', '-A', '-o', 'json'])
    const { items } = JSON.parse(out) as {
      items: { kind: string; metadata: { name: string }; data?: Record<string, string> }[]
    }
    const { gunzipSync } = await import('node:zlib')
    const records = items.filter(({ data }) => data?.['record'] !== undefined)
    assert.ok(
      records.some(({ data }) => data!['plan'] !== undefined),
      'a stored summary is there to be searched',
    )
    for (const { data = {} } of records)
      for (const [key, value] of Object.entries(data)) {
        const bytes = Buffer.from(value, 'base64')
        const text = (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString('utf8')
        assert.ok(!text.includes(SECRET), `${key} holds the secret`)
      }
    for (const { kind, ...rest } of items.filter((item) => item.kind === 'Event'))
      assert.ok(!JSON.stringify(rest).includes(SECRET), kind)
    const applies = items.filter((item) => item.kind === 'WorkspaceTemplateApply') as unknown as { status: unknown }[]
    for (const { status } of applies) assert.ok(!JSON.stringify(status).includes(SECRET))
  })
})
