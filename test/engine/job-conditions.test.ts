// What the condition of an apply says when the pod of its run does not start, or ends by no fault of its own. All of them at once:
// each apply has one trouble.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { CoreEventKind, conditionOf } from '#api'
import { defaultLimits } from '#engine'
import { hasProgram, type JobWorld, jobWorld } from '../support/engine/job-world.ts'
import { hasTerraform } from '../support/engine/world.ts'

const SLOW = 'resource "terraform_data" "slow" {\n  provisioner "local-exec" { command = "sleep 300" }\n}'
const waits = (reason: string, message: string) => ({
  containerStatuses: [
    { name: 'runner', image: 'x', imageID: '', ready: false, restartCount: 0, state: { waiting: { reason, message } } },
  ],
})
const disrupted = (reason: string, message: string) => ({
  conditions: [{ type: 'DisruptionTarget', status: 'True', reason, message }],
})

interface Trouble {
  readonly name: string
  /** Status of a pod that does not start. */
  readonly pending?: object
  /** Why there is no pod. */
  readonly refusal?: string
  /** How the container of a run in progress ends. */
  readonly end?: { readonly reason: string; readonly status?: object }
  readonly reason: 'RunQueued' | 'RetriesExhausted'
  readonly message: RegExp
}

const TROUBLES: readonly Trouble[] = [
  {
    name: 'image-pull',
    pending: waits('ImagePullBackOff', 'no such image'),
    reason: 'RunQueued',
    message: /the image of the runner cannot be pulled: no such image .*--runner-image/,
  },
  {
    name: 'unschedulable',
    pending: {
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' }],
    },
    reason: 'RunQueued',
    message: /no node takes the pod of the run: 0\/3 nodes .*--run-memory/,
  },
  {
    name: 'quota',
    refusal: 'pods "x" is forbidden: exceeded quota: small',
    reason: 'RunQueued',
    message: /the quota refuses the pod of the run: .*small .*ResourceQuota/,
  },
  {
    name: 'admission',
    refusal: 'admission webhook "guard" denied the request: no',
    reason: 'RunQueued',
    message: /the pod of the run is refused: admission webhook "guard" .*policy or the webhook/,
  },
  {
    name: 'memory',
    end: { reason: 'OOMKilled' },
    reason: 'RetriesExhausted',
    message: /the runner ran out of memory and was killed.*--run-memory/,
  },
  {
    name: 'eviction',
    end: { reason: 'Error', status: { reason: 'Evicted', message: 'low on ephemeral-storage' } },
    reason: 'RetriesExhausted',
    message: /the runner was evicted.*low on ephemeral-storage.*--run-storage/,
  },
  {
    name: 'node-loss',
    end: { reason: 'Error', status: disrupted('DeletionByTaintManager', 'the node is unreachable') },
    reason: 'RetriesExhausted',
    message: /the node of the runner is gone.*unreachable/,
  },
]

describe('the pod of a run in trouble', { skip: !hasProgram || !hasTerraform }, () => {
  let world: JobWorld
  before(async () => {
    world = await jobWorld()
    // All of them have the same identity, and none waits for another.
    await world.jobManager({ limits: { ...defaultLimits('job'), perIdentity: 20 } })
    for (const { name, pending, refusal } of TROUBLES) {
      if (pending) world.actor.hold(pending, `capt-${name}-`)
      if (refusal !== undefined) world.actor.refuse(`capt-${name}-`, refusal)
      await world.make(name, SLOW, {}, { retry: { limit: 0 } })
    }
  })
  after(() => world?.close())

  for (const { name, end, reason, message } of TROUBLES)
    it(`is named in the condition: ${name}`, async () => {
      if (end) {
        await world.until(name, ({ status }) => status?.run?.phase === 'Apply')
        await world.actor.kill(end.reason, { job: `capt-${name}-`, status: end.status ?? {} })
      }
      const apply = await world.until(name, (one) => message.test(conditionOf(one, 'Ready')?.message ?? ''))
      assert.equal(conditionOf(apply, 'Ready')?.reason, reason)
    })

  it('that had begun is a Warning on the apply too', async () => {
    const warned = new Map<string, string>()
    for await (const event of world.connection.objects.list<WarnEvent>(CoreEventKind, { namespace: 'default' }))
      if (event.involvedObject?.kind === 'WorkspaceTemplateApply' && event.type === 'Warning')
        warned.set(event.involvedObject.name, event.message)
    const ended = TROUBLES.filter((one) => one.end)
    assert.deepEqual([...warned.keys()].sort(), ended.map(({ name }) => name).sort())
  })
})

interface WarnEvent {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly type: string
  readonly message: string
  readonly involvedObject?: { readonly kind: string; readonly name: string }
}
