import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkObject } from '../../check-object.ts'
import type { Kind } from '../../define-kind.ts'
import type { UnknownObject } from '../../object.ts'
import { CAPTMachine } from './capt-machine.ts'
import { CAPTMachineDeployment } from './capt-machine-deployment.ts'
import { CAPTMachineSet } from './capt-machine-set.ts'

const machine = {
  workspaceTemplateRef: { name: 'machine' },
  instanceType: 'm7i.large',
  nodeGroupRef: { name: 'nodes' },
}
const alone = {
  workspaceTemplateRef: { name: 'machine' },
  instanceType: 'm7i.large',
  subnetIds: ['subnet-1'],
  securityGroupIds: ['sg-1'],
  imageId: 'ami-1',
}
const { imageId: _image, ...imageless } = alone
const badLabel = { ...machine, labels: { team: 'a b' } }
const set = { selector: { matchLabels: { app: 'a' } }, template: { metadata: { labels: { app: 'a' } }, spec: machine } }

const faults = (kind: Kind, spec: object, old?: object): string => {
  const toObject = (of: object): UnknownObject => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name: 'a' },
    spec: of,
  })
  return checkObject(kind, toObject(spec), old && toObject(old))
    .faults.map(({ path, message }) => `${path}: ${message}`)
    .join('\n')
}
const rolling = (rollingUpdate: object) => ({ ...set, strategy: { rollingUpdate } })
const select = (...matchExpressions: object[]) => ({ ...set, selector: { matchExpressions } })

describe('a machine, a set or a deployment that makes no sense', () => {
  for (const [what, kind, spec, expected] of [
    ['a machine of a node group', CAPTMachine, machine, /^$/],
    ['a machine without a node group that names its parts', CAPTMachine, alone, /^$/],
    ['a machine without a node group or an image', CAPTMachine, imageless, /without nodeGroupRef/],
    ['an instance type of no known form', CAPTMachine, { ...machine, instanceType: 'big' }, /spec.instanceType/],
    ['a label that no Node takes', CAPTMachine, badLabel, /spec.labels/],
    ['one in a set', CAPTMachineSet, { ...set, template: { ...set.template, spec: badLabel } }, /template.spec.labels/],
    ['a set', CAPTMachineSet, set, /^$/],
    ['a set without a selector', CAPTMachineSet, { template: set.template }, /spec.selector/],
    ['an empty selector', CAPTMachineSet, { ...set, selector: {} }, /an empty selector would select every machine/],
    ['no labels to select by', CAPTMachineSet, { ...set, selector: { matchLabels: {} } }, /an empty selector/],
    ['other labels', CAPTMachineSet, { ...set, selector: { matchLabels: { app: 'b' } } }, /must match template/],
    ['a template without labels', CAPTMachineSet, { ...set, template: { spec: machine } }, /must match template/],
    ['an expression that matches', CAPTMachineSet, select({ key: 'app', operator: 'In', values: ['a'] }), /^$/],
    ['one that does not', CAPTMachineSet, select({ key: 'app', operator: 'NotIn', values: ['a'] }), /must match templ/],
    ['a label that is missing', CAPTMachineSet, select({ key: 'tier', operator: 'Exists' }), /must match template/],
    ['a label that must be missing', CAPTMachineSet, select({ key: 'app', operator: 'DoesNotExist' }), /must match/],
    ['In without values', CAPTMachineSet, select({ key: 'app', operator: 'In' }), /In and NotIn need values/],
    ['negative replicas', CAPTMachineSet, { ...set, replicas: -1 }, /spec.replicas/],
    ['a deployment', CAPTMachineDeployment, set, /^$/],
    ['surge alone', CAPTMachineDeployment, rolling({ maxSurge: '25%' }), /^$/],
    ['both 0', CAPTMachineDeployment, rolling({ maxSurge: 0, maxUnavailable: 0 }), /cannot both be 0/],
    ['both 0 as percentages', CAPTMachineDeployment, rolling({ maxSurge: '0%', maxUnavailable: '0%' }), /cannot both/],
    ['surge 0 with the default beside it', CAPTMachineDeployment, rolling({ maxSurge: 0 }), /cannot both be 0/],
    ['a negative surge', CAPTMachineDeployment, rolling({ maxSurge: -1 }), /maxSurge is a number from 0/],
    ['a surge in words', CAPTMachineDeployment, rolling({ maxSurge: 'many' }), /maxSurge is a number from 0/],
    [
      'unavailable beyond 100%',
      CAPTMachineDeployment,
      rolling({ maxUnavailable: '101%' }),
      /maxUnavailable is a number/,
    ],
    [
      'Recreate with the numbers of RollingUpdate',
      CAPTMachineDeployment,
      { ...set, strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } },
      /rollingUpdate is for type/,
    ],
  ] as const)
    it(`${what} is ${expected.source === '^$' ? 'accepted' : 'refused'}`, () =>
      assert.match(faults(kind as Kind, spec), expected))

  for (const [what, kind, before, after, expected] of [
    ['labels and tags', CAPTMachine, machine, { ...machine, labels: { a: 'b' }, tags: { c: 'd' } }, /^$/],
    ['the instance type', CAPTMachine, machine, { ...machine, instanceType: 'm7i.xlarge' }, /cannot be changed/],
    ['the node group', CAPTMachine, machine, { ...alone }, /nodeGroupRef of a machine cannot be changed/],
    ['the image', CAPTMachine, machine, { ...machine, imageId: 'ami-2' }, /cannot be added or removed/],
    ['the instance type of a set', CAPTMachineSet, set, { ...set, template: { ...set.template, spec: alone } }, /^$/],
    [
      'the selector',
      CAPTMachineSet,
      set,
      { ...set, selector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } },
      /the selector cannot be changed/,
    ],
  ] as const)
    it(`${what} ${expected.source === '^$' ? 'may' : 'may not'} be changed`, () =>
      assert.match(faults(kind as Kind, after, before), expected))
})
