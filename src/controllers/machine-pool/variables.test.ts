// Every field of a CAPTMachinePool has an effect: set alone, it shows in what the run receives.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CAPTMachinePool } from '#api'
import { shippedModule } from '#testing'
import { nodeGroupName, nodeGroupRequest, type Place } from './variables.ts'

const ROLE = 'arn:aws:iam::123456789012:role/other'
const PLACE: Place = {
  cluster: 'demo',
  inAws: 'demo-1a2b3c4d',
  region: 'eu-west-1',
  vpcId: 'vpc-1',
  privateSubnets: ['subnet-1'],
  identity: { roleArn: ROLE, externalId: 'x1', secretRef: { name: 'keys' } },
  eksApply: 'demo-eks',
}
const requestOf = (spec: object, pool = { replicas: 2, isAutoscaled: false }, earlier?: number, place = PLACE) =>
  nodeGroupRequest(
    {
      apiVersion: CAPTMachinePool.apiVersion,
      kind: CAPTMachinePool.kind,
      metadata: { name: 'workers', namespace: 'default' },
      spec: { workspaceTemplateRef: { name: 'node-group' }, ...spec },
    } as CAPTMachinePool,
    pool,
    place,
    '1.35',
    earlier === undefined ? undefined : ({ spec: { values: { desired_size: earlier } } } as never),
  ).spec

/** Field, value, and what the run receives of it. */
const ROWS: readonly (readonly [string, unknown, Record<string, unknown>])[] = [
  ['workspaceTemplateRef', { name: 'other' }, { templateRef: { namespace: 'default', name: 'other' } }],
  ['instanceTypes', ['m7i.large', 'm6i.large'], { instance_types: ['m7i.large', 'm6i.large'] }],
  ['amiType', 'BOTTLEROCKET_x86_64', { ami_type: 'BOTTLEROCKET_x86_64' }],
  ['capacityType', 'SPOT', { capacity_type: 'SPOT' }],
  ['diskSize', 80, { disk_size: 80 }],
  ['scaling', { minSize: 1, maxSize: 7 }, { min_size: 1, max_size: 7, desired_size: 2 }],
  ['labels', { team: 'a' }, { labels: { team: 'a' } }],
  [
    'taints',
    [
      { key: 'gpu', value: 'yes', effect: 'NoSchedule' },
      { key: 'old', effect: 'NoExecute' },
    ],
    {
      taints: [
        { key: 'gpu', value: 'yes', effect: 'NO_SCHEDULE' },
        { key: 'old', effect: 'NO_EXECUTE' },
      ],
    },
  ],
  ['updateConfig', { maxUnavailable: 3 }, { max_unavailable: 3 }],
  ['updateConfig', { maxUnavailablePercentage: 25 }, { max_unavailable_percentage: 25 }],
  ['subnets', ['subnet-9'], { subnets: ['subnet-9'] }],
  ['additionalTags', { Team: 'a' }, { tags: { Team: 'a' }, tags_Team: 'a' }],
]

describe('what a node group is asked for', () => {
  it('has a row for every field that people write', () => {
    const fields = Object.keys(CAPTMachinePool.spec.schema.properties ?? {}).filter((name) => name !== 'providerIDList')
    assert.deepEqual([...new Set(ROWS.map(([field]) => field))].sort(), fields.sort())
  })

  for (const [field, value, expected] of ROWS)
    it(`shows ${field} as ${Object.keys(expected).join(' and ')}`, () => {
      const { variables, values, ...rest } = requestOf({ [field]: value })
      const sent: Record<string, unknown> = { ...rest, ...variables, ...values }
      for (const [name, one] of Object.entries(expected)) assert.deepEqual(sent[name], one, name)
    })

  for (const folder of ['node-group', 'simulation-node-group'])
    it(`is declared by the template ${folder}`, () => {
      const text = shippedModule(folder)
      const declared = new Set([...text.matchAll(/^variable "(\w+)"/gm)].map(([, name]) => name!))
      const all = Object.fromEntries(ROWS.map(([field, value]) => [field, value]))
      const { variables, values } = requestOf({
        ...all,
        updateConfig: { maxUnavailable: 1, maxUnavailablePercentage: 1 },
      })
      const sent = [...Object.keys(variables), ...Object.keys(values)].filter((name) => !name.startsWith('tags_'))
      assert.deepEqual(
        sent.filter((name) => !declared.has(name)),
        [],
      )
      assert.deepEqual(
        [...declared].filter((name) => !sent.includes(name)),
        [],
      )
    })

  it('joins the cluster of its control plane, with the identity of that', () => {
    const { variables, values, credentialsRef, waitForWorkspaces } = requestOf({})
    assert.equal(variables['cluster_name'], 'demo-1a2b3c4d')
    assert.equal(variables['kubernetes_version'], '1.35')
    assert.deepEqual(values['subnets'], ['subnet-1'])
    assert.equal(values['assume_role_arn'], ROLE)
    assert.deepEqual(credentialsRef, { name: 'keys' })
    assert.deepEqual(waitForWorkspaces, [{ name: 'demo-eks' }])
  })

  it('waits for no run where the control plane is adopted', () => {
    const place = { ...PLACE, eksApply: undefined }
    assert.ok(!('waitForWorkspaces' in requestOf({}, undefined, undefined, place)))
  })

  it('has exactly the replicas without bounds, and room for one node where there is none', () => {
    assert.deepEqual(sizes(requestOf({})), [2, 2, 2])
    assert.deepEqual(sizes(requestOf({}, { replicas: 0, isAutoscaled: false })), [0, 0, 1])
  })

  it('does not follow an autoscaler, and stays within the bounds', () => {
    const scaling = { minSize: 1, maxSize: 5 }
    const autoscaled = { replicas: 4, isAutoscaled: true }
    assert.deepEqual(sizes(requestOf({ scaling }, autoscaled)), [1, 4, 5])
    assert.deepEqual(sizes(requestOf({ scaling }, autoscaled, 2)), [1, 2, 5])
    assert.deepEqual(sizes(requestOf({ scaling }, autoscaled, 9)), [1, 5, 5])
  })
})

const sizes = ({ values }: ReturnType<typeof requestOf>) => [
  values['min_size'],
  values['desired_size'],
  values['max_size'],
]

describe('the name of a node group', () => {
  const long = `${'pool-'.repeat(20)}a`
  for (const [name, expected] of [
    ['workers', 'workers'],
    ['a'.repeat(36), 'a'.repeat(36)],
  ] as const)
    it(`is that of its pool: ${name.slice(0, 10)}`, () => assert.equal(nodeGroupName(name), expected))

  it('is short enough for EKS, and different for every pool', () => {
    assert.ok(nodeGroupName(long).length <= 36)
    assert.notEqual(nodeGroupName(long), nodeGroupName(`${long}b`))
    assert.match(nodeGroupName('team.workers'), /^team-workers-[0-9a-f]{8}$/)
    assert.notEqual(nodeGroupName('team.workers'), nodeGroupName('team-workers'))
  })
})
