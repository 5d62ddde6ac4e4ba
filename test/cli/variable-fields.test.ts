// Every variable that a cluster sets is shown by the field it comes from.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CAPTCluster, type CAPTControlPlane, TERRAFORM_FIELDS } from '#api'
import { vpcRequest } from '../../src/controllers/cluster/variables.ts'
import { eksRequest, networkOf } from '../../src/controllers/control-plane/variables.ts'
import { wholeClusterSpec, wholePlaneSpec } from '../support/cluster/field-rows.ts'

/** Variables that no field of the object itself sets. */
const ELSEWHERE = ['cluster_owner', 'vpc_id', 'private_subnets', 'public_subnets', 'cluster_name']

describe('Fields of variables', () => {
  const infra = { metadata: { name: 'demo' }, spec: wholeClusterSpec() } as unknown as CAPTCluster
  const names = (request: { spec: { variables?: object; values?: object } } | undefined): readonly string[] =>
    Object.keys({ ...request?.spec.variables, ...request?.spec.values }).filter((name) => !name.startsWith('tags_'))
  const known = (kind: keyof typeof TERRAFORM_FIELDS) => TERRAFORM_FIELDS[kind].map(({ variable }) => variable)

  it('are known for every variable that CAPTCluster sets', () => {
    assert.deepEqual(names(vpcRequest(infra, 'demo', 'demo')).toSorted(), known('CAPTCluster').toSorted())
  })

  it('are known for every variable that CAPTControlPlane sets', () => {
    const object = { metadata: { name: 'demo' }, spec: wholePlaneSpec() } as unknown as CAPTControlPlane
    const made = names(eksRequest(object, 'demo', networkOf(infra, 'demo'), 'eu-west-1'))
    assert.deepEqual(made.filter((name) => !ELSEWHERE.includes(name)).toSorted(), known('CAPTControlPlane').toSorted())
  })
})
