import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { planManagedAdoption, refuseFirstPlan } from './adopt.ts'
import { template } from './older-examples.ts'

const EKS = { name: 'shop', endpoint: 'https://eks.example.com' }
const stateWith = (rest: object) =>
  JSON.stringify({
    version: 4,
    serial: 3,
    lineage: 'l',
    terraform_version: '1.9.0',
    outputs: {},
    resources: [],
    ...rest,
  })
const cluster = (name: string, module?: string) => ({
  resources: [
    { mode: 'managed', type: 'aws_eks_cluster', name: 'this', module, instances: [{ attributes: { name } }] },
  ],
})
const adopt = (text: string, manifests = [template('eks')]) =>
  planManagedAdoption({ name: 'shop', namespace: 'default', eks: EKS, manifests, state: { text, file: 'a.tfstate' } })

describe('the adoption of a cluster with its state', () => {
  it('gives the state to the apply that the control plane asks for, which may destroy nothing yet', () => {
    const { assignment, mapped } = adopt(stateWith(cluster('shop')))
    assert.partialDeepStrictEqual(assignment.apply, {
      owner: 'CAPTControlPlane shop',
      object: {
        metadata: { name: 'shop-eks-controlplane-apply', namespace: 'default' },
        spec: { templateRef: { name: 'eks' }, variables: { cluster_name: 'shop' }, retainWorkspaceOnDelete: true },
      },
    })
    assert.deepEqual(
      mapped.objects.map(({ kind }) => kind),
      ['WorkspaceTemplate'],
    )
  })

  for (const [what, text] of [
    ['a resource', stateWith(cluster('shop'))],
    ['a resource of a module', stateWith(cluster('shop', 'module.eks'))],
    ['an output', stateWith({ outputs: { url: { value: EKS.endpoint, type: 'string' } } })],
  ] as const)
    it(`knows the cluster by ${what}`, () => assert.equal(adopt(text).assignment.state?.info.serial, 3))

  const refused: readonly (readonly [string, () => unknown, string, RegExp])[] = [
    [
      'a state of another cluster',
      () => adopt(stateWith(cluster('other'))),
      'CAPT_ADOPT_STATE',
      /does not know EKS cluster shop/,
    ],
    ['a state without the cluster', () => adopt(stateWith({})), 'CAPT_ADOPT_STATE', /does not know/],
    ['what is no state', () => adopt('{"version": 3}'), 'CAPT_ADOPT_STATE', /not a whole Terraform state/],
    ['a state that was cut', () => adopt(stateWith(cluster('shop')).slice(0, -5)), 'CAPT_ADOPT_STATE', /not a whole/],
    ['no template', () => adopt(stateWith(cluster('shop')), []), 'CAPT_ADOPT_TEMPLATE', /must be one/],
    [
      'two templates',
      () => adopt(stateWith(cluster('shop')), [template('a'), template('b')]),
      'CAPT_ADOPT_TEMPLATE',
      /one/,
    ],
  ]
  for (const [what, call, code, message] of refused) it(`refuses ${what}`, () => assert.throws(call, { code, message }))

  it('refuses a first plan that changes anything, and names it', () => {
    const change = (action: string, address: string) => ({ action, address, lines: [] }) as never
    const error = refuseFirstPlan({ changes: [change('update', 'b.b'), change('delete', 'a.a')] })
    assert.equal(error?.code, 'CAPT_ADOPT_PLAN')
    assert.match(error?.message ?? '', /Terraform would delete a\.a, update b\.b$/)
    assert.match(error?.hint ?? '', /nothing was changed$/)
    assert.equal(refuseFirstPlan({ changes: [] }), undefined)
  })
})
