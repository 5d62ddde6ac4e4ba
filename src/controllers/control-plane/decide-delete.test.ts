import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { CAPTControlPlane, CONTROL_PLANE_FINALIZER } from '#api'
import { ADDON_TEARDOWN_LIMIT_SECONDS, decideDelete } from './decide-delete.ts'
import type { Delivery, Observed, Worker } from './observe.ts'

const DELETED_MS = Date.UTC(2026, 0, 1)

interface Given {
  readonly cleared?: Observed['results']['cleared']
  readonly swept?: Observed['results']['swept']
  readonly isUp?: boolean
  readonly isDestroyed?: boolean
  readonly isAdopted?: boolean
  readonly workers?: readonly Worker[]
}

function observed(deliveries: readonly Delivery[], secondsSince: number, given: Given = {}): Observed {
  return {
    object: {
      apiVersion: CAPTControlPlane.apiVersion,
      kind: CAPTControlPlane.kind,
      metadata: {
        name: 'demo',
        namespace: 'default',
        deletionTimestamp: new Date(DELETED_MS).toISOString(),
        finalizers: [CONTROL_PLANE_FINALIZER],
      },
      spec: given.isAdopted ? { policy: 'Adopted' } : {},
      status: { initialization: { controlPlaneInitialized: given.isUp ?? true } },
    },
    cluster: undefined,
    apply:
      given.isDestroyed || given.isAdopted
        ? undefined
        : { metadata: { name: 'demo-eks-controlplane-apply', namespace: 'default' } },
    facts: { deleting: false, state: { is: 'applied' } },
    deliveries,
    workers: given.workers ?? [],
    kubeconfig: undefined,
    results: { isRefreshing: true, cleared: given.cleared ?? { is: 'yes' }, swept: given.swept ?? { is: 'yes' } },
    nowMs: DELETED_MS + secondsSince * 1000,
  } as unknown as Observed
}

const delivery = (over: Partial<Delivery>): Delivery => ({
  name: 'demo',
  pipeline: { namespace: 'capt-system', name: 'default' },
  tornDown: false,
  mayBeDelivered: true,
  message: '',
  components: [],
  ...over,
})

describe('EKS of a deleted control plane', () => {
  const beyond = ADDON_TEARDOWN_LIMIT_SECONDS + 1
  for (const [what, deliveries, seconds, expected] of [
    ['goes at once without deliveries', [], 0, 'delete-apply'],
    ['goes when every delivery is torn down', [delivery({ tornDown: true })], 0, 'delete-apply'],
    ['waits for delivered add-ons', [delivery({})], 10, 'WaitingForAddons'],
    ['waits for one of two', [delivery({ tornDown: true }), delivery({ name: 'b' })], 10, 'WaitingForAddons'],
    ['waits for a delivery that never delivered', [delivery({ mayBeDelivered: false })], 10, 'WaitingForAddons'],
    ['goes without it after the limit', [delivery({ mayBeDelivered: false })], beyond, 'delete-apply'],
    ['stays after the limit while add-ons may be there', [delivery({})], beyond, 'AddonsNotRemoved'],
    ['stays after a day while add-ons may be there', [delivery({})], 86_400, 'AddonsNotRemoved'],
  ] as const)
    it(what, () => {
      const decision = decideDelete(observed(deliveries, seconds))
      const found = decision.is === 'act' ? decision.actions[0]!.do : decision.is === 'done' ? 'done' : decision.reason
      assert.equal(found, expected)
      if (decision.is === 'stalled') {
        assert.match(decision.hint, /add-on controllers/)
        assert.match(decision.hint, /delete the AddonDelivery/)
      }
    })

  const unknown = { is: 'unknown' } as const
  const waits = { is: 'no', message: '1 Service (web) left', hint: '', retryAfterSeconds: 3 } as const
  for (const [what, deliveries, given, expected] of [
    ['is cleared first when there is no delivery', [], { cleared: unknown }, 'clear-cluster'],
    ['waits while it is cleared', [], { cleared: waits }, 'ClearingCluster'],
    ['goes when it is cleared', [], { cleared: { is: 'yes' } }, 'delete-apply'],
    ['is not cleared twice', [delivery({ tornDown: true })], { cleared: unknown }, 'delete-apply'],
    ['leaves its network to be searched', [], { isDestroyed: true, swept: unknown }, 'clear-cluster'],
    ['is not over while its network is cleared', [], { isDestroyed: true, swept: waits }, 'ClearingNetwork'],
    ['is over when its network is clear', [], { isDestroyed: true }, 'remove-finalizer'],
    ['is over at once when it never was', [], { isDestroyed: true, isUp: false, swept: unknown }, 'remove-finalizer'],
    [
      'is only detached when it was adopted',
      [],
      { isAdopted: true, swept: unknown, cleared: unknown },
      'remove-finalizer',
    ],
    ['is not detached before its add-ons are gone', [delivery({})], { isAdopted: true }, 'WaitingForAddons'],
    ['is not cleared when its API was never up', [], { cleared: unknown, isUp: false }, 'delete-apply'],
  ] as const)
    it(what, () => {
      const decision = decideDelete(observed(deliveries, 0, given))
      const found = decision.is === 'act' ? decision.actions[0]!.do : decision.is === 'done' ? 'done' : decision.reason
      assert.equal(found, expected)
    })

  const worker = (kind: string, name: string, over: Partial<Worker> = {}): Worker => ({
    kind: { group: 'infrastructure.cluster.x-k8s.io', version: 'v1beta1', kind, plural: '', namespaced: true },
    name,
    uid: name,
    deleting: false,
    owned: false,
    ...over,
  })
  for (const [what, workers, expected] of [
    ['deletes a deployment before EKS', [worker('CAPTMachineDeployment', 'a')], 'delete a'],
    [
      'leaves machines to the set that owns them',
      [worker('CAPTMachineSet', 'a'), worker('CAPTMachine', 'a-1', { owned: true })],
      'delete a',
    ],
    [
      'waits for what goes, by kind and name',
      [worker('CAPTMachineSet', 'a', { deleting: true }), worker('CAPTMachine', 'a-1', { owned: true })],
      'Waiting for CAPTMachine a-1 and CAPTMachineSet a to be deleted',
    ],
  ] as const)
    it(what, () => {
      const decision = decideDelete(observed([], 0, { workers }))
      const [action] = decision.is === 'act' ? decision.actions : []
      const found =
        action?.do === 'delete-workers'
          ? `delete ${action.workers.map(({ name }) => name).join(', ')}`
          : decision.is === 'waiting'
            ? decision.message
            : decision.is
      assert.equal(found, expected)
    })

  it('is cleared when its delivery never delivered and nobody tears it down', () => {
    const decision = decideDelete(observed([delivery({ mayBeDelivered: false })], beyond, { cleared: unknown }))
    assert.deepEqual(decision.is === 'act' && decision.actions[0]!.do, 'clear-cluster')
  })

  it('never goes before delivered add-ons are torn down, whatever the deliveries and however long it takes', () => {
    const one = fc.record({
      name: fc.string({ minLength: 1, maxLength: 5 }),
      pipeline: fc.constant({ namespace: 'capt-system', name: 'default' }),
      tornDown: fc.boolean(),
      mayBeDelivered: fc.boolean(),
      message: fc.string({ maxLength: 5 }),
      components: fc.constant([]),
    })
    fc.assert(
      fc.property(fc.array(one, { maxLength: 4 }), fc.integer({ min: 0, max: 1_000_000 }), (deliveries, seconds) => {
        const decision = decideDelete(observed(deliveries, seconds))
        const isDestroyed = decision.is === 'act' && decision.actions.some((action) => action.do === 'delete-apply')
        const isHeld = deliveries.some(({ tornDown, mayBeDelivered }) => !tornDown && mayBeDelivered)
        assert.ok(!(isDestroyed && isHeld))
      }),
    )
  })
})
