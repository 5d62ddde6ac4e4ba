// Every combination that decides about the name of a cluster in AWS.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Claim, type CloudAnswer, chooseName, extendedName, type Holder, type NameFacts } from './choose.ts'
import { queueName } from './observe.ts'

const PLACE = { namespace: 'team-a', cluster: 'demo', region: 'eu-west-1' }
const ACCOUNT = '123456789012'
const EXTENDED = extendedName(PLACE, ACCOUNT)
const UNASKED = extendedName(PLACE, '')

const free: CloudAnswer = { is: 'answered', account: ACCOUNT, holders: [] }
const notAsked: CloudAnswer = { is: 'not-asked' }
const denied: CloudAnswer = { is: 'unknown', message: 'denied', hint: 'allow it', mayPass: false }
const silent: CloudAnswer = { is: 'unknown', message: 'no answer', hint: 'wait', mayPass: true }
const held = (name: string, isOwn = false): Holder => ({ what: `EKS cluster ${name}`, name, isOwn })
const holding = (...holders: readonly Holder[]): CloudAnswer => ({ is: 'answered', account: ACCOUNT, holders })
const claim = (over: Partial<Claim> = {}): Claim => ({
  what: 'a cluster of another namespace',
  name: 'demo',
  account: 'same',
  isChosen: true,
  isEarlier: false,
  ...over,
})
const earlier = { isChosen: false, isEarlier: true }
const later = { isChosen: false, isEarlier: false }

type Row = readonly [string, Partial<NameFacts>, string]
const ROWS: readonly Row[] = [
  ['nobody has the name', { cloud: free }, 'demo'],
  ['nobody knows of another, and AWS is not asked', { cloud: notAsked }, 'demo'],
  ['an EKS cluster of somebody else has it', { cloud: holding(held('demo')) }, EXTENDED],
  ['its own EKS cluster has it', { cloud: holding(held('demo', true)) }, 'demo'],
  ['its own EKS cluster and a foreign queue have it', { cloud: holding(held('demo', true), held('demo')) }, EXTENDED],
  ['its own EKS cluster has the extended name', { cloud: holding(held('demo'), held(EXTENDED, true)) }, EXTENDED],
  ['others have both names', { cloud: holding(held('demo'), held(EXTENDED)) }, 'refused'],
  ['another cluster of the account has it', { cloud: free, claims: [claim()] }, EXTENDED],
  ['another cluster has it, and AWS is not asked', { claims: [claim()] }, UNASKED],
  ['another cluster of the account would get it, earlier', { claims: [claim(earlier)] }, UNASKED],
  ['another cluster of the account would get it, later', { claims: [claim(later)] }, 'demo'],
  ['a cluster of another account has it', { cloud: free, claims: [claim({ account: 'other' })] }, 'demo'],
  ['a cluster of another account would get it', { claims: [claim({ account: 'other', ...earlier })] }, 'demo'],
  ['a cluster of an unknown account has it', { claims: [claim({ account: 'unknown' })] }, UNASKED],
  ['the same, and AWS knows of none', { cloud: free, claims: [claim({ account: 'unknown' })] }, 'demo'],
  ['the same, and AWS denies', { cloud: denied, claims: [claim({ account: 'unknown' })] }, UNASKED],
  [
    'one of an unknown account would get it',
    { cloud: free, claims: [claim({ account: 'unknown', ...earlier })] },
    EXTENDED,
  ],
  ['another cluster has the extended name too', { claims: [claim(), claim({ name: UNASKED })] }, 'refused'],
  ['another cluster has only the extended name', { claims: [claim({ name: UNASKED })] }, 'demo'],
  ['AWS denies the answer', { cloud: denied }, 'demo, unchecked'],
  ['AWS does not answer yet', { cloud: silent }, 'waiting'],
  ['a person chose a name that is free', { explicit: 'shop', cloud: free }, 'shop'],
  ['a person chose a name of their own cluster', { explicit: 'shop', cloud: holding(held('shop', true)) }, 'shop'],
  ['a person chose a name that is taken in AWS', { explicit: 'shop', cloud: holding(held('shop')) }, 'refused'],
  ['a person chose a name that another has', { explicit: 'shop', claims: [claim({ name: 'shop' })] }, 'refused'],
  [
    'a person chose a name that another only names',
    { explicit: 'shop', claims: [claim({ name: 'shop', ...earlier })] },
    'shop',
  ],
  [
    'a person chose a name in an unknown account',
    { explicit: 'shop', claims: [claim({ name: 'shop', account: 'unknown' })] },
    'shop',
  ],
  ['a person chose a name and AWS denies', { explicit: 'shop', cloud: denied }, 'shop, unchecked'],
]

describe('the name of a cluster in AWS', () => {
  for (const [when, facts, expected] of ROWS)
    it(`is ${expected} when ${when}`, () => {
      const whole: NameFacts = { ...PLACE, explicit: undefined, claims: [], cloud: notAsked, ...facts }
      const choice = chooseName(whole, true)
      const unchecked = choice.is === 'chosen' && choice.report?.reason === 'ClusterNameUnchecked' ? ', unchecked' : ''
      assert.equal(choice.is === 'chosen' ? `${choice.name}${unchecked}` : choice.is, expected)
      if (choice.is === 'chosen' && choice.name.startsWith('demo-')) {
        assert.equal(choice.report?.reason, 'ClusterNameExtended', 'an extended name is reported')
        assert.match(choice.report?.message ?? '', new RegExp(`demo is taken by .*${choice.name}`))
      }
      if (choice.is === 'refused') assert.match(choice.hint, /delete this Cluster and make it again/)
    })

  it('is waited for only so long when AWS does not answer', () => {
    const choice = chooseName({ ...PLACE, explicit: undefined, claims: [], cloud: silent }, false)
    assert.equal(choice.is === 'chosen' && choice.report?.reason, 'ClusterNameUnchecked')
  })

  it('differs by account, region, namespace and name, and stays within the limits of EKS and SQS', () => {
    const longest = { namespace: 'n'.repeat(63), cluster: 'c'.repeat(63), region: 'us-gov-west-1' }
    const names = [
      EXTENDED,
      extendedName(PLACE, '210987654321'),
      extendedName({ ...PLACE, region: 'eu-west-2' }, ACCOUNT),
      extendedName({ ...PLACE, namespace: 'team-b' }, ACCOUNT),
      extendedName({ ...PLACE, cluster: 'demo2' }, ACCOUNT),
      extendedName(longest, ACCOUNT),
    ]
    assert.equal(new Set(names).size, names.length)
    for (const name of names) assert.match(name, /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/)
    assert.equal(queueName('demo'), 'Karpenter-demo')
    assert.equal(queueName(names.at(-1)!).length, 80)
  })
})
