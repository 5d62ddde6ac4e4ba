// Identities of workspaces: what is deleted under a run is made again, and what is left of a workspace that is gone is removed.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type AnyObject,
  type KindRef,
  LeaseKind,
  RoleBindingKind,
  RoleKind,
  type Secret,
  SecretKind,
  ServiceAccountKind,
  WorkspaceTemplateApply,
} from '#api'
import { KubeError, type Objects } from '#kube'
import { silentLog } from '#lib'
import { anApply, manualClock, memoryCluster } from '#testing'
import { checksKey, KEEP_FINALIZER, leaseName, recordName, slotName, stateName, suffixOf } from '../names.ts'
import { newRecord, type Run } from '../record/record.ts'
import type { ObjectKey } from '../workspace.ts'
import { repairIdentity } from './keep-identity.ts'
import { identityName } from './render-identity.ts'
import { retryDenied } from './retry-denied.ts'
import { sweepIdentities } from './sweep-identities.ts'

const key = { namespace: 'default', name: 'demo' }
const name = identityName(suffixOf(key))
type Role = AnyObject & { readonly rules: readonly { readonly resourceNames: readonly string[] }[] }
const run = { id: 'r', job: { namespace: 'runs', name: 'capt-demo' }, timeoutSeconds: 60 } as Run
const record = { ...newRecord('w'), run }
const NEEDED = {
  ServiceAccount: [ServiceAccountKind, { namespace: 'runs', name }],
  Role: [RoleKind, { namespace: 'default', name }],
  RoleBinding: [RoleBindingKind, { namespace: 'default', name }],
  Secret: [SecretKind, run.job!],
} as const satisfies Record<string, readonly [KindRef, { namespace: string; name: string }]>
type Needed = keyof typeof NEEDED

describe('What a run needs and somebody deleted', () => {
  async function world() {
    const { objects } = memoryCluster()
    const tokens: string[] = []
    const withTokens: Objects = {
      ...objects,
      list: (kind, options) => objects.list(kind, options),
      async create(kind, object, how) {
        if (object.kind !== 'TokenRequest') return objects.create(kind, object, how)
        tokens.push(`token-${tokens.length}`)
        return { ...object, status: { token: tokens.at(-1) } } as never
      },
    }
    const options = {
      objects: withTokens,
      clock: manualClock(),
      log: silentLog,
      runNamespace: 'runs',
      image: 'i',
      accountOf: () => 'capt-run',
      access: { server: 'https://10.0.0.1' },
    }
    const repairOf = (of: ObjectKey, its = record) => repairIdentity(options, of, its)
    const repair = () => repairOf(key)
    assert.deepEqual(await repair(), Object.keys(NEEDED), 'at first nothing is there')
    return { objects, repair, repairOf, tokens }
  }

  // The Secret is owned by the account, and goes with it.
  const cases: readonly (readonly [readonly Needed[], boolean])[] = [
    [[], false],
    [['Role'], false],
    [['RoleBinding'], false],
    [['Role', 'RoleBinding'], false],
    [['Secret'], true],
    [['ServiceAccount', 'Secret'], true],
    [['ServiceAccount', 'Role', 'RoleBinding', 'Secret'], true],
  ]
  for (const [victims, hasNewToken] of cases)
    it(`is made again: ${victims.join(', ') || 'nothing'}${hasNewToken ? ', with another token' : ''}`, async () => {
      const { objects, repair, tokens } = await world()
      for (const victim of victims) {
        const [kind, at] = NEEDED[victim]
        if (!(await objects.get(kind, at))) continue
        await objects.patch(kind, at, { type: 'merge', body: { metadata: { finalizers: null } } })
        await objects.delete(kind, at)
      }
      assert.deepEqual(await repair(), victims)
      for (const [kind, at] of Object.values(NEEDED)) assert.ok(await objects.get(kind, at), kind.kind)
      assert.equal(tokens.length, hasNewToken ? 2 : 1)
      const secret = await objects.get<Secret>(SecretKind, run.job!)
      assert.equal(Buffer.from(secret?.data?.['token'] ?? '', 'base64').toString(), tokens.at(-1))
      assert.deepEqual(await repair(), [], 'once')
    })

  const check = { ...record, run: { ...run, isCheck: true } as Run }
  for (const [what, of, spec, its, target] of [
    ['an apply', { ...key, name: 'own' }, {}, record, undefined],
    ['a speculative apply', { ...key, name: 'other-values' }, { speculativeFor: 'demo' }, record, 'demo'],
    ['a drift check', checksKey({ ...key, name: 'checked' }), {}, check, 'checked'],
  ] as const)
    it(`has the rights of ${what} again, ${target ? 'which reads the state of another' : 'and no others'}`, async () => {
      const { objects, repairOf } = await world()
      await objects.create(WorkspaceTemplateApply, anApply(spec, { name: target === 'checked' ? target : of.name }))
      await repairOf(of, its)
      const role = await objects.get<Role>(RoleKind, { ...of, name: identityName(suffixOf(of)) })
      const names = role?.rules.flatMap(({ resourceNames }) => resourceNames)
      const states = names?.filter((one) => one.startsWith('tfstate-') && !one.includes('-part-'))
      const readable = [of.name, ...(target ? [target] : [])].map((one) => stateName(suffixOf({ ...key, name: one })))
      assert.deepEqual(states, readable)
    })
})

describe('Identities of applies that are gone', () => {
  const account = (apply: string) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: {
      namespace: 'runs',
      name: identityName(suffixOf({ namespace: 'default', name: apply })),
      labels: { 'capt.appthrust.com/workspace': apply },
      annotations: { 'capt.appthrust.com/apply': `default/${apply}`, 'capt.appthrust.com/role-namespaces': 'shared' },
    },
  })
  const roleOf = (apply: string, namespace: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { namespace, name: account(apply).metadata.name, finalizers: [KEEP_FINALIZER] },
  })

  it('are removed with their roles, unless the workspace is still there', async () => {
    const { objects } = memoryCluster()
    for (const apply of ['moved', 'here', 'kept']) {
      await objects.create(ServiceAccountKind, account(apply))
      for (const namespace of ['default', 'shared']) await objects.create(RoleKind, roleOf(apply, namespace))
    }
    await objects.create(WorkspaceTemplateApply, anApply({}, { name: 'here' }))
    const record = { namespace: 'default', name: recordName(suffixOf({ namespace: 'default', name: 'kept' })) }
    await objects.create(SecretKind, { apiVersion: 'v1', kind: 'Secret', metadata: record } as Secret)
    assert.deepEqual(await sweepIdentities(objects, 'runs'), ['default/moved'])
    assert.deepEqual(await sweepIdentities(objects, 'runs'), [], 'once')
    for (const [apply, isThere] of Object.entries({ moved: false, here: true, kept: true })) {
      const { name: identity } = account(apply).metadata
      assert.equal(
        (await objects.get(ServiceAccountKind, { namespace: 'runs', name: identity })) !== undefined,
        isThere,
      )
      for (const namespace of ['default', 'shared'])
        assert.equal((await objects.get(RoleKind, { namespace, name: identity })) !== undefined, isThere, apply)
    }
  })
})

describe('A runner whose role is gone', () => {
  const suffix = suffixOf(key)
  const denied = 'secrets "x" is forbidden: User "u" cannot patch resource "secrets" in API group ""'
  const failing = (times: number, message: string) => {
    let calls = 0
    const objects = {
      get: async () => {
        if (calls++ < times) throw new KubeError('Forbidden', message)
        return { kind: 'Secret' } as AnyObject
      },
    } as unknown as Objects
    return { objects, calls: () => calls }
  }
  const cases: readonly (readonly [string, KindRef, string, string, number, boolean])[] = [
    ['waits with its record', SecretKind, recordName(suffix), denied, 3, true],
    ['waits with its slots', SecretKind, slotName(suffix, 9), denied, 3, true],
    ['waits with its Lease', LeaseKind, leaseName(suffix), denied, 3, true],
    [
      'waits with the state that it reads',
      SecretKind,
      stateName(suffixOf({ ...key, name: 'target' })),
      denied,
      3,
      true,
    ],
    ['waits five minutes and no more', SecretKind, recordName(suffix), denied, 1000, false],
    ['does not wait for what was never its own', SecretKind, 'credentials', denied, 1, false],
    ['does not wait for a quota', SecretKind, recordName(suffix), 'is forbidden: exceeded quota: q', 1, false],
  ]
  for (const [what, kind, at, message, times, succeeds] of cases)
    it(what, async () => {
      const clock = manualClock()
      const { objects } = failing(times, message)
      let ended: 'read' | 'failed' | undefined
      const reading = retryDenied(objects, key, clock, 'target')
        .get(kind, { namespace: 'default', name: at })
        .then(
          () => (ended = 'read'),
          () => (ended = 'failed'),
        )
      for (let i = 0; i < 70 && ended === undefined; i++) await clock.advance(5_000)
      await reading
      assert.equal(ended, succeeds ? 'read' : 'failed')
    })
})
