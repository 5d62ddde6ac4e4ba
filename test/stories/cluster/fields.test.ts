// Every field that the schema of CAPTCluster and CAPTControlPlane accepts has an effect: changed alone, it shows in what
// the runs receive. A field without a row in field-rows.ts, or without an effect, fails.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CAPTCluster, CAPTControlPlane, type JsonSchema } from '#api'
import { jsonEqual } from '#lib'
import { statusOf } from '../../../src/controllers/cluster/status.ts'
import { vpcRequest } from '../../../src/controllers/cluster/variables.ts'
import { decide } from '../../../src/controllers/control-plane/decide.ts'
import { eksRequest, networkOf, regionOf, reservedValues } from '../../../src/controllers/control-plane/variables.ts'
import { CLUSTER_ROWS, MADE, PLANE, PLANE_ROWS, ROLE, type Spec, withField } from '../../support/cluster/field-rows.ts'
import { anObservedInfra, anObservedPlane } from '../../support/cluster/observed.ts'

/** Paths of everything that can be set: `vpcConfig.name`, `controlPlaneConfig.addons`. References count as one. */
function leavesOf(schema: JsonSchema, prefix = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const isReference = name.endsWith('Ref') || name === 'controlPlaneEndpoint'
    return field.properties && !isReference ? leavesOf(field, path) : [path]
  })
}

function effectsOf(infraSpec: Spec, planeSpec: Spec): Record<string, unknown> {
  const infra = anObservedInfra({ spec: infraSpec as CAPTCluster['spec'] })
  const report = statusOf(infra, { is: 'done' })
  const provisioned = { ...infra.object, status: report.fields } as CAPTCluster
  const network = networkOf(provisioned, 'demo')
  const observed = anObservedPlane({ spec: planeSpec as CAPTControlPlane['spec'], infra: provisioned })
  const region = regionOf(observed.object, network) ?? ''
  return {
    vpc: vpcRequest(infra.object, 'demo', network.clusterName ?? 'demo'),
    eks: eksRequest(observed.object, 'demo', network, region),
    decision: decide(
      anObservedPlane({ spec: planeSpec as CAPTControlPlane['spec'], infra: provisioned, isRequested: false }),
    ),
  }
}

function valueAt(value: unknown, path: string): unknown {
  return path.split('/').reduce<unknown>((inner, key) => (inner as Spec | undefined)?.[key], value)
}

/** Fields that shape no run, and the test that shows what they do instead. */
const ELSEWHERE = [
  // cluster-decide.test.ts: stalls after that many minutes.
  'controlPlaneConfig.timeouts.vpcReadyTimeout',
  // cluster-life.test.ts: written by capt from the run's output.
  'controlPlaneEndpoint',
  // stories/karpenter/adopt.test.ts: an adopted control plane has no run.
  'policy',
]

describe('every field of the spec', () => {
  it('has a row in the table', () => {
    const cluster = leavesOf(CAPTCluster.spec.schema)
    assert.deepEqual(cluster.toSorted(), CLUSTER_ROWS.map(([path]) => path).toSorted())
    const plane = leavesOf(CAPTControlPlane.spec.schema)
    assert.deepEqual(plane.toSorted(), [...PLANE_ROWS.map(([path]) => path), ...ELSEWHERE].toSorted())
  })

  for (const [path, value, where, expected, base = MADE] of CLUSTER_ROWS)
    it(`CAPTCluster ${path} shows in ${where}`, () => {
      const before = effectsOf(base, PLANE)
      const after = effectsOf(withField(base, path, value), PLANE)
      assert.deepEqual(valueAt(after, where), expected)
      assert.ok(!jsonEqual(valueAt(before, where), expected), 'it was so before')
    })

  for (const [path, value, where, expected] of PLANE_ROWS)
    it(`CAPTControlPlane ${path} shows in ${where}`, () => {
      const before = effectsOf(MADE, PLANE)
      const after = effectsOf(MADE, withField(PLANE, path, value))
      assert.deepEqual(valueAt(after, where), expected)
      assert.ok(!jsonEqual(valueAt(before, where), expected), 'it was so before')
    })

  it('is refused by its variable in controlPlaneConfig.values', () => {
    const set = PLANE_ROWS.filter(([path]) => path !== 'controlPlaneConfig.values')
    const plane = set.reduce<Spec>((spec, [path, value]) => withField(spec, path, value), PLANE)
    const { variables, values } = valueAt(effectsOf(MADE, plane), 'eks/spec') as Record<'variables' | 'values', Spec>
    const sent = { ...variables, ...values }
    const spec = withField(plane, 'controlPlaneConfig.values', sent) as CAPTControlPlane['spec']
    const { object } = anObservedPlane({ spec })
    // One variable per tag is for templates of the older project.
    const names = Object.keys(sent)
      .filter((name) => !name.startsWith('tags_'))
      .sort()
    assert.ok(names.length >= PLANE_ROWS.length / 2, 'fields reach the run')
    assert.deepEqual(reservedValues(object), names, 'a variable that is sent is reserved')
  })

  it('lets the identity of the CAPTCluster reach the control plane too, unless that has its own', () => {
    const infra = withField(MADE, 'identity.roleArn', ROLE)
    assert.equal(valueAt(effectsOf(infra, PLANE), 'eks/spec/values/assume_role_arn'), ROLE)
    const own = withField(PLANE, 'identity.secretRef', { name: 'keys' })
    assert.equal(valueAt(effectsOf(infra, own), 'eks/spec/values/assume_role_arn'), undefined)
  })
})
