// What is read from a management cluster of the older project.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, CAPTMachine, kindRef, SecretKind, WorkspaceTemplateApply } from '#api'
import type { Connected } from '#kube'
import { memoryCluster } from '#testing'
import { surveyOlder } from './survey.ts'

const WORKSPACE = kindRef('tf.upbound.io/v1beta1', 'Workspace', false)
const object = (
  kind: { readonly group: string; readonly version: string },
  name: string,
  metadata: object = {},
): AnyObject => ({
  apiVersion: `${kind.group}/${kind.version}`,
  kind: '',
  metadata: { name, namespace: 'team', ...metadata },
})

describe('a survey of the older project', () => {
  const cluster = memoryCluster()
  const from = { objects: cluster.objects, namespace: 'team', server: 'https://older' } as unknown as Connected

  it('finds nothing where there is nothing', async () => {
    await assert.rejects(surveyOlder(from), { code: 'CAPT_KUBE_NOT_FOUND' })
  })

  it('reads the objects of a namespace, their Workspaces and states, and no other Secret', async () => {
    cluster.seed(WorkspaceTemplateApply, object(WorkspaceTemplateApply, 'demo-vpc'))
    cluster.seed(CAPTMachine, object(CAPTMachine, 'one'))
    cluster.seed(CAPTMachine, object(CAPTMachine, 'elsewhere', { namespace: 'other' }))
    for (const name of ['demo-vpc', 'of-somebody'])
      cluster.seed(WORKSPACE, { apiVersion: 'tf.upbound.io/v1beta1', kind: 'Workspace', metadata: { name } })
    const secret = { apiVersion: 'v1', kind: 'Secret' }
    const labels = { tfstate: 'true' }
    cluster.seed(SecretKind, {
      ...secret,
      metadata: { name: 'tfstate-demo-vpc-x', namespace: 'crossplane-system', labels },
    })
    cluster.seed(SecretKind, { ...secret, metadata: { name: 'password', namespace: 'team' } })
    const { given, kept } = await surveyOlder(from)
    assert.deepEqual(given.map(({ object: { kind, metadata } }) => `${kind}/${metadata.name}`).sort(), [
      'CAPTMachine/one',
      'Workspace/demo-vpc',
      'WorkspaceTemplateApply/demo-vpc',
    ])
    assert.deepEqual(
      kept.map(({ metadata }) => metadata.name),
      ['tfstate-demo-vpc-x'],
    )
  })
})
