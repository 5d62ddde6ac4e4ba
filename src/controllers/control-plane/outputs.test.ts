// The connection to a control plane, from the outputs of its run and from the connection Secret, which tenants may edit.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Secret } from '#api'
import { readApply } from '../shared/apply.ts'
import { toConnection } from './outputs.ts'

const encode = (text: string): string => Buffer.from(text).toString('base64')
const secret = (data: Readonly<Record<string, string>>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'demo-eks-connection', namespace: 'team-a' },
  data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, encode(value)])),
})
const FROM_RUN = { cluster_endpoint: 'https://demo.eks', cluster_certificate_authority_data: 'Y2E=' }
const connectionWith = (outputs: Record<string, string>, data: Record<string, string>) =>
  toConnection({ ...readApply(undefined), outputs: { ...FROM_RUN, ...outputs } }, secret(data), 'demo-in-aws')

describe('the cluster that tokens are signed for', () => {
  it('is that of the run, whatever a tenant writes into the connection Secret', () => {
    assert.equal(connectionWith({ cluster_name: 'demo' }, { cluster_name: 'prod-of-team-b' }).clusterName, 'demo')
    assert.equal(connectionWith({}, { cluster_name: 'prod-of-team-b' }).clusterName, 'demo-in-aws')
  })

  it('has its sensitive outputs from the Secret', () => {
    const { url, caData } = connectionWith({}, { cluster_certificate_authority_data: 'c2VjcmV0' })
    assert.deepEqual([url, caData], ['https://demo.eks', 'c2VjcmV0'])
  })
})
