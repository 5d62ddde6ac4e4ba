import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CAPTCluster } from '#api'
import { neededActions } from '#catalog'
import {
  type Asked,
  type AwsFacts,
  examinePreflight,
  isOverlapping,
  type ObservedPreflight,
  policiesOf,
} from './decide.ts'
import { planOf } from './observe.ts'

const known = <T>(value: T): Asked<T> => ({ is: 'known', value })
const FACTS: AwsFacts = {
  account: '123456789012',
  caller: 'arn:aws:iam::123456789012:user/me',
  denied: [],
  vpcs: known([]),
  addresses: known({ used: 0, most: 5 }),
}
const FINE: ObservedPreflight = {
  namespace: 'default',
  region: 'eu-west-1',
  blocks: ['10.0.0.0/16'],
  templates: ['vpc'],
  tool: known({ name: 'terraform', version: '1.11.4' }),
  clusterApi: 'v1beta2',
  isServed: true,
  missingTemplates: [],
  refused: [],
  aws: known(FACTS),
}
const wordsOf = (observed: ObservedPreflight) =>
  examinePreflight(observed).flatMap(({ findings }) => findings.map(({ word, weight }) => `${word} ${weight}`))
const withAws = (facts: Partial<AwsFacts>): ObservedPreflight => ({ ...FINE, aws: known({ ...FACTS, ...facts }) })
const twice = (word: string) => [word, word]
const vpc = (cidr: string) => ({ id: 'vpc-1', cidr })

describe('The preflight check', () => {
  for (const [what, observed, words] of [
    ['everything in place', FINE, []],
    [
      'no terraform',
      { ...FINE, tool: { is: 'unknown', message: 'no terraform', hint: 'install it' } },
      ['tool person'],
    ],
    ['no Cluster API', { ...FINE, clusterApi: undefined }, ['server person']],
    ['no capt', { ...FINE, isServed: false }, ['server person']],
    ['a template that does not exist', { ...FINE, missingTemplates: ['vpc'] }, ['template person']],
    ['a refused action', { ...FINE, refused: ['create clusters'] }, ['permission person']],
    ['a server that cannot be asked', { ...FINE, refused: undefined }, ['permission know']],
    ['no region', { ...FINE, region: undefined }, ['region person']],
    ['no credentials', { ...FINE, aws: { is: 'unknown', message: 'none', hint: 'set' } }, ['credentials person']],
    ['AWS left out', { ...FINE, aws: undefined, region: undefined }, []],
    ['a denied action', withAws({ denied: ['eks:CreateCluster'] }), ['permission person']],
    [
      'actions of two policies',
      withAws({ denied: ['ec2:CreateVpc', 'eks:CreateCluster'] }),
      twice('permission person'),
    ],
    ['an action that only deletion needs', withAws({ denied: ['tag:GetResources'] }), ['permission know']],
    ['policies that cannot be simulated', withAws({ denied: undefined }), ['permission know']],
    ['a block that is in use', withAws({ vpcs: known([vpc('10.0.128.0/20')]) }), ['addresses know']],
    ['many VPCs', withAws({ vpcs: known(Array.from({ length: 5 }, () => vpc('172.16.0.0/16'))) }), ['quota know']],
    ['no address left', withAws({ addresses: known({ used: 5, most: 5 }) }), ['quota person']],
    ['no known quota', withAws({ addresses: known({ used: 5, most: undefined }) }), []],
  ] as const satisfies readonly (readonly [string, ObservedPreflight, readonly string[]])[])
    it(`reports ${what}`, () => assert.deepEqual(wordsOf(observed), words))

  it('shortens a long list of denied actions, and names the policy that allows them', () => {
    const denied = neededActions(['network']).flatMap(({ actions }) => actions)
    const [finding, ...others] = examinePreflight(withAws({ denied })).flatMap(({ findings }) => findings)
    assert.deepEqual(others, [])
    assert.match(finding!.what, new RegExp(`, ${denied.length - 5} more are denied to this identity$`))
    assert.match(finding!.todo, /config\/iam\/network\.json/)
  })

  it('asks nothing about a network that is there already', () => {
    assert.deepEqual(policiesOf({ blocks: [] }), ['cluster', 'capt'])
    assert.deepEqual(policiesOf({ blocks: ['10.0.0.0/16'] }), ['network', 'cluster', 'capt'])
  })

  it('finds address blocks that overlap', () => {
    for (const [a, b, expected] of [
      ['10.0.0.0/16', '10.0.255.0/24', true],
      ['10.0.0.0/16', '10.1.0.0/16', false],
      ['10.0.0.0/8', '10.200.0.0/16', true],
      ['192.168.0.0/17', '192.168.128.0/17', false],
      ['not a block', '10.0.0.0/8', false],
    ] as const)
      assert.equal(isOverlapping(a, b), expected, `${a} ${b}`)
  })

  it('takes region, block and templates from the manifests', () => {
    const cluster = {
      kind: 'CAPTCluster',
      metadata: { name: 'shop' },
      spec: { region: 'us-west-2', vpcTemplateRef: { name: 'net' }, vpcConfig: { cidr: '10.9.0.0/16' } },
    } as unknown as CAPTCluster
    assert.deepEqual(planOf([cluster], { AWS_REGION: 'eu-west-1' }), {
      region: 'us-west-2',
      blocks: ['10.9.0.0/16'],
      templates: ['net'],
    })
    assert.deepEqual(planOf([], { AWS_REGION: 'eu-west-1' }), {
      region: 'eu-west-1',
      blocks: ['10.0.0.0/16'],
      templates: ['vpc', 'eks-controlplane'],
    })
  })
})
