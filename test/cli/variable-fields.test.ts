// Every variable that a cluster sets is shown by the field it comes from.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CAPTCluster, CAPTControlPlane } from '#api'
import { vpcRequest } from '../../src/controllers/cluster/variables.ts'
import { eksRequest } from '../../src/controllers/control-plane/variables.ts'
import { VARIABLE_FIELDS } from '../../src/view/fields.ts'

const identity = { roleArn: 'arn:aws:iam::1:role/x', externalId: 'x' }
/** Variables that no field of the object itself sets. */
const ELSEWHERE = ['cluster_owner', 'vpc_id', 'private_subnets', 'public_subnets', 'cluster_name']

describe('Fields of variables', () => {
  const names = (request: { spec: { variables?: object; values?: object } } | undefined) =>
    Object.keys({ ...request?.spec.variables, ...request?.spec.values }).filter((name) => !name.startsWith('tags_'))

  it('are known for every variable that CAPTCluster sets', () => {
    const spec = {
      region: 'eu-west-1',
      vpcTemplateRef: { name: 'vpc' },
      vpcConfig: { name: 'n', cidr: '10.0.0.0/16', singleNatGateway: true },
      additionalTags: { Team: 'x' },
      identity,
    }
    const object = { metadata: { name: 'demo' }, spec } as unknown as CAPTCluster
    assert.deepEqual(
      names(vpcRequest(object, 'demo', 'demo')).sort(),
      Object.keys(VARIABLE_FIELDS['CAPTCluster']!).sort(),
    )
  })

  it('are known for every variable that CAPTControlPlane sets', () => {
    const spec = {
      version: '1.34',
      workspaceTemplateRef: { name: 'eks' },
      additionalTags: { Team: 'x' },
      controlPlaneConfig: {
        region: 'eu-west-1',
        endpointAccess: { public: true, private: true, publicCIDRs: ['10.0.0.0/8'] },
        access: [{ principalARN: 'arn' }],
        addons: [{ name: 'x' }],
      },
      identity,
    }
    const object = { metadata: { name: 'demo' }, spec } as unknown as CAPTControlPlane
    const network = {
      region: undefined,
      vpcId: 'vpc-1',
      privateSubnets: ['a'],
      publicSubnets: ['b'],
      clusterName: 'demo',
      identity: undefined,
      vpcApply: undefined,
    }
    const made = names(eksRequest(object, 'demo', network, 'eu-west-1')).filter((name) => !ELSEWHERE.includes(name))
    assert.deepEqual(made.sort(), Object.keys(VARIABLE_FIELDS['CAPTControlPlane']!).sort())
  })
})
