// States as Crossplane kept them: which apply they belong to, and which cannot be taken over.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { UnknownObject } from '#api'
import type { MappedApply } from './map.ts'
import { assignStates, readStates } from './states.ts'

const textOf = (serial: number, extra = ''): string =>
  JSON.stringify({ version: 4, serial, lineage: 'l', outputs: {}, resources: [], extra })
const secret = (name: string, data: Buffer, labels: Record<string, string> = {}): UnknownObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'crossplane-system', labels: { tfstate: 'true', ...labels } },
  data: { tfstate: data.toString('base64') },
})
const LABELS = { tfstateWorkspace: 'demo-vpc', tfstateSecretSuffix: 'aws' }
const whole = (labels: Record<string, string> = LABELS, name = 'tfstate-demo-vpc-aws') =>
  secret(name, gzipSync(textOf(3)), labels)
const lease = (holderIdentity?: string): UnknownObject => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'lock-tfstate-demo-vpc-aws', namespace: 'crossplane-system' },
  spec: { ...(holderIdentity === undefined ? {} : { holderIdentity }) },
})
const apply = (name: string, namespace = 'default'): MappedApply => ({
  object: { apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply', metadata: { name, namespace } },
  wasApplied: false,
})
const workspace = (name: string, metadata: object): UnknownObject => ({
  apiVersion: 'tf.upbound.io/v1beta1',
  kind: 'Workspace',
  metadata: { name, ...metadata },
})
const assign = (name: string, kept: readonly UnknownObject[], workspaces: readonly UnknownObject[] = []) =>
  assignStates([apply(name)], readStates(kept), workspaces)[0]

describe('a state of Crossplane', () => {
  it('belongs to the apply whose Workspace it is named after', () => {
    assert.equal(assign('demo-vpc', [whole()])?.state?.info.serial, 3)
    assert.equal(assign('demo-vpc-apply', [whole()])?.state?.text, textOf(3))
    assert.equal(assign('other', [whole()])?.state, undefined)
  })

  it('is found by the external name, by the uid, and without labels', () => {
    const external = workspace('demo-vpc', { annotations: { 'crossplane.io/external-name': 'moved' } })
    assert.ok(assign('demo-vpc', [whole({ tfstateWorkspace: 'moved' })], [external])?.state)
    const byUid = whole({ tfstateWorkspace: 'default', tfstateSecretSuffix: 'u-1' }, 'tfstate-default-u-1')
    assert.ok(assign('demo-vpc', [byUid], [workspace('demo-vpc', { uid: 'u-1' })])?.state)
    assert.ok(assign('demo-vpc', [whole({}, 'tfstate-demo-vpc')])?.state)
  })

  it('is put together from its parts in any order', () => {
    const packed = gzipSync(textOf(5, randomBytes(3000).toString('base64')))
    const parts = [
      secret('tfstate-demo-vpc-aws-part-2', packed.subarray(2000), LABELS),
      secret('tfstate-demo-vpc-aws', packed.subarray(0, 1000), LABELS),
      secret('tfstate-demo-vpc-aws-part-1', packed.subarray(1000, 2000), LABELS),
    ]
    assert.equal(assign('demo-vpc', parts)?.state?.info.serial, 5)
    assert.match(assign('demo-vpc', parts.slice(1, 2))?.refusal?.reason ?? '', /cut or damaged/)
  })

  for (const [what, kept, reason] of [
    ['a lock', [whole(), lease('somebody')], /locked by somebody/],
    ['damage', [secret('tfstate-demo-vpc-aws', Buffer.from('x'), LABELS)], /cut or damaged/],
    ['an old format', [secret('tfstate-demo-vpc-aws', gzipSync('{"version":3}'), LABELS)], /format version 4/],
    ['a second one', [whole(), whole(LABELS, 'tfstate-demo-vpc-other')], /several states/],
  ] as const)
    it(`is refused with ${what}`, () => assert.match(assign('demo-vpc', kept)?.refusal?.reason ?? '', reason))

  it('is taken when its lock is free', () => assert.ok(assign('demo-vpc', [whole(), lease()])?.state))

  it('is refused when two namespaces shared it', () => {
    const found = assignStates([apply('demo-vpc', 'a'), apply('demo-vpc', 'b')], readStates([whole()]), [])
    for (const { refusal } of found)
      assert.match(refusal?.reason ?? '', /a\/demo-vpc and b\/demo-vpc shared one Workspace/)
  })
})
