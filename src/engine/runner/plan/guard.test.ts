// Which changes the guard stops, and which entries it does not know.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEFAULT_GUARD, guardedAddresses, unknownEntries } from './guard.ts'

const VPC = 'module.network.aws_vpc.this[0]'

describe('The guard', () => {
  for (const [what, guard, change, stops] of [
    ['a replaced type', DEFAULT_GUARD, { address: VPC, action: 'replace' }, true],
    ['a destroyed type', DEFAULT_GUARD, { address: 'aws_subnet.a["eu-west-1a.b"]', action: 'delete' }, true],
    ['an updated type', DEFAULT_GUARD, { address: VPC, action: 'update' }, false],
    ['a made one', DEFAULT_GUARD, { address: VPC, action: 'create' }, false],
    ['a moved one', DEFAULT_GUARD, { address: VPC, action: 'move', from: 'aws_vpc.old' }, false],
    ['another type', DEFAULT_GUARD, { address: 'aws_route.x', action: 'replace' }, false],
    ['a type that begins alike', DEFAULT_GUARD, { address: 'aws_vpc_endpoint.x', action: 'delete' }, false],
    ['a name that is a type', DEFAULT_GUARD, { address: 'aws_route.aws_vpc', action: 'delete' }, false],
    [
      'a key that looks like an address',
      DEFAULT_GUARD,
      { address: 'aws_route.x["a.aws_vpc.b"]', action: 'delete' },
      false,
    ],
    ['a resource by type and name', ['aws_vpc.this'], { address: VPC, action: 'delete' }, true],
    ['another name', ['aws_vpc.that'], { address: VPC, action: 'delete' }, false],
    ['an address without its index', ['module.network.aws_vpc.this'], { address: VPC, action: 'delete' }, true],
    ['an address', [VPC], { address: VPC, action: 'delete' }, true],
    ['one of several', ['module.network.aws_vpc.this[1]'], { address: VPC, action: 'delete' }, false],
    [
      'what was moved and replaced',
      ['aws_vpc.old'],
      { address: 'x_y.z', action: 'replace', from: 'aws_vpc.old' },
      true,
    ],
    ['nothing when it is empty', [], { address: VPC, action: 'delete' }, false],
  ] as const)
    it(`${stops ? 'stops' : 'lets pass'}: ${what}`, () => {
      assert.deepEqual(guardedAddresses([change], guard), stops ? [change.address] : [])
    })

  it('names the entries that match no resource', () => {
    const guard = ['aws_vpc', 'aws_vcp', 'aws_vpc.this', 'aws_vpc.that']
    assert.deepEqual(unknownEntries(guard, [VPC, 'aws_route.x']), ['aws_vcp', 'aws_vpc.that'])
  })
})
