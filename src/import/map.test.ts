// What holds for an import as a whole: applies and their owners, pools, machines of sets, credentials, any input.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  apply,
  at,
  GROUP,
  group,
  INFRASTRUCTURE,
  MACHINE,
  make,
  map,
  network,
  plane,
  template,
} from './older-examples.ts'

describe('applies of an import', () => {
  it('of a cluster say as little as their owner needs, and who that is', () => {
    const { applies } = map([
      network(),
      plane({ workspaceTemplateApplyName: 'own' }),
      apply('demo-vpc', { variables: { environment: 'x' } }, { status: { applied: true } }),
    ])
    assert.deepEqual(
      applies.map(({ object, owner, wasApplied }) => [object.metadata.name, object['spec'], owner, wasApplied]),
      [
        ['demo-vpc', { templateRef: { name: 'vpc' }, variables: { cluster_name: 'demo' } }, 'CAPTCluster demo', true],
        ['own', { templateRef: { name: 'eks' }, variables: { cluster_name: 'demo' } }, 'CAPTControlPlane demo', false],
      ],
    )
  })

  it('that stand alone keep what they say', () => {
    const [standing] = map([apply('bucket', { variables: { a: 'b' } })]).applies
    assert.deepEqual([standing?.owner, at(standing?.object, 'spec.variables')], [undefined, { a: 'b' }])
  })
})

describe('a ManagedNodeGroup template', () => {
  it('becomes a pool of the Cluster on request, with its number of nodes', () => {
    const { objects } = map([group(GROUP), network()], { withPools: true })
    assert.deepEqual(
      objects.map(({ kind }) => kind),
      ['CAPTMachinePoolTemplate', 'MachinePool', 'CAPTMachinePool', 'CAPTBootstrapConfig', 'CAPTCluster'],
    )
    assert.deepEqual([at(objects[1], 'spec.clusterName'), at(objects[1], 'spec.replicas')], ['demo', 3])
  })

  it('makes no nodes otherwise, because the older project made none', () => {
    const { objects, outcomes } = map([group(GROUP), network()])
    assert.deepEqual(
      objects.map(({ kind }) => kind),
      ['CAPTMachinePoolTemplate', 'CAPTCluster'],
    )
    assert.match(outcomes[0]?.needs.join() ?? '', /--with-pools/)
  })
})

describe('machines of a set', () => {
  const reference = (kind: string, name: string) => ({
    ownerReferences: [{ apiVersion: INFRASTRUCTURE, kind, name, uid: 'u' }],
  })
  const set = (metadata: object = {}) =>
    make('CAPTMachineSet', 'workers', { spec: { template: { spec: MACHINE } } }, metadata)
  const machine = make('CAPTMachine', 'one', { spec: MACHINE }, reference('CaptMachineSet', 'workers'))

  it('get the labels that the set selects them by', () => {
    const { objects } = map([machine, set(), network()])
    const selected = at(objects[1], 'spec.selector.matchLabels') as Record<string, string>
    assert.partialDeepStrictEqual(objects[0]?.metadata.labels, selected)
  })

  it('are refused where a deployment would replace them', () => {
    const owned = set(reference('CaptMachineDeployment', 'd'))
    const deployment = make('CAPTMachineDeployment', 'd', {
      spec: { template: { metadata: { labels: { a: 'b' } }, spec: MACHINE } },
    })
    const { outcomes } = map([machine, owned, deployment, network()])
    assert.deepEqual(
      outcomes.map(({ is }) => is),
      ['refused', 'dropped', 'changed', 'kept'],
    )
  })
})

describe('any input', () => {
  it('is mapped or refused, and never throws', () => {
    const kinds = [
      'CAPTCluster',
      'CAPTControlPlane',
      'CAPTMachine',
      'CAPTMachineSet',
      'CAPTMachineTemplate',
      'WorkspaceTemplate',
      'WorkspaceTemplateApply',
      'ProviderConfig',
      'Secret',
      'Cluster',
    ]
    const field = fc.constantFrom(
      'template',
      'spec',
      'templateRef',
      'nodeType',
      'scaling',
      'selector',
      'forProvider',
      'varFiles',
      'name',
      'waitForWorkspaces',
    )
    const nested = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(field, tie('value'), { maxKeys: 4 }),
      ),
    })).value
    fc.assert(
      fc.property(fc.constantFrom(...kinds), nested, (kind, spec) => {
        const { outcomes } = map([make(kind, 'a', { spec }), network()], { withPools: true })
        assert.ok(outcomes[0])
      }),
      { numRuns: 300 },
    )
  })
})

describe('credentials of an import', () => {
  const objects = [template('vpc', { providerConfigRef: { name: 'aws' } }), apply('a')]
  for (const [credentials, expected] of [
    [undefined, { name: 'aws' }],
    ['team', { name: 'team' }],
    ['none', undefined],
  ] as const)
    it(`come from ${expected ? `Secret ${expected.name}` : 'capt itself'} with --credentials ${credentials ?? 'left out'}`, () => {
      const { outcomes, applies } = map(objects, credentials === undefined ? {} : { credentials })
      assert.deepEqual(at(applies[0]?.object, 'spec.credentialsRef'), expected)
      assert.equal(
        outcomes[0]?.needs.some((need) => need.startsWith('Secret ')),
        expected !== undefined,
      )
    })
})
