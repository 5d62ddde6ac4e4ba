// The cases of the kinds that nodes are made from: machines, their sets and deployments, and pools.
import type { JsonObject } from '#lib'
import { inTemplate, type RuleCase } from './rule-case.ts'

const MACHINE = { workspaceTemplateRef: { name: 'machine' }, instanceType: 'm7i.large' }
const LIKE_GROUP = { ...MACHINE, nodeGroupRef: { name: 'workers' } }
const ALONE = { ...MACHINE, subnetIds: ['subnet-1'], securityGroupIds: ['sg-1'], imageId: 'ami-1' }

/** What holds for a machine and wherever one is described. */
const SHARED_MACHINE: readonly RuleCase[] = [
  {
    rule: '.spec: without nodeGroupRef, subnetIds, securityGroupIds and imageId must be set',
    breaks: { ...MACHINE, subnetIds: ['subnet-1'], imageId: 'ami-1' },
    keeps: ALONE,
  },
]

const fixed = (field: string, what: string, change: JsonObject): RuleCase => {
  const before = { ...ALONE, nodeRoleName: 'node' }
  return {
    rule: `.spec.${field}: ${what} of a machine cannot be changed: make another machine, or change its set`,
    before,
    breaks: { ...before, ...change },
    keeps: { ...before, labels: { team: 'a' }, tags: { team: 'a' }, drainTimeoutSeconds: 0 },
  }
}

const APP = { app: 'a' }
const replicas = (selector: JsonObject, labels: JsonObject = APP, spec: JsonObject = LIKE_GROUP): JsonObject => ({
  selector,
  template: { metadata: { labels }, spec },
})
const SAMPLE = replicas({ matchLabels: APP })

/** What holds for a set and for a deployment. */
const SHARED_REPLICAS: readonly RuleCase[] = [
  ...SHARED_MACHINE.map(({ rule, breaks, keeps }) => ({
    rule: rule.replace(/^\.spec/, '.spec.template.spec'),
    breaks: replicas({ matchLabels: APP }, APP, breaks),
    keeps: replicas({ matchLabels: APP }, APP, keeps),
  })),
  {
    rule: '.spec: selector must match template.metadata.labels: machines that are made would not belong to it; give both the same labels',
    breaks: replicas({ matchLabels: APP }, { app: 'b' }),
    keeps: replicas({ matchLabels: APP, matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['b'] }] }),
  },
  {
    rule: '.spec.selector: an empty selector would select every machine: set matchLabels',
    breaks: replicas({ matchLabels: {} }),
    keeps: replicas({ matchExpressions: [{ key: 'app', operator: 'Exists' }] }),
  },
  {
    rule: '.spec.selector: the selector cannot be changed: machines would be left without an owner',
    before: SAMPLE,
    breaks: replicas({ matchLabels: { app: 'b' } }, { app: 'b' }),
    keeps: { ...replicas({ matchLabels: APP }, { ...APP, team: 'a' }), replicas: 2 },
  },
  {
    rule: '.spec.selector.matchExpressions[]: In and NotIn need values; Exists and DoesNotExist take none',
    breaks: replicas({ matchExpressions: [{ key: 'app', operator: 'Exists', values: ['a'] }] }),
    keeps: replicas({ matchExpressions: [{ key: 'app', operator: 'In', values: ['a'] }] }),
  },
]

const strategy = (value: JsonObject): JsonObject => ({ ...SAMPLE, strategy: value })
const rolling = (rollingUpdate: JsonObject): JsonObject => strategy({ rollingUpdate })

const POOL = { workspaceTemplateRef: { name: 'pool' } }

/** What holds for a pool and for a template of pools. */
const SHARED_POOL: readonly RuleCase[] = [
  {
    rule: '.spec.labels: labels of eks.amazonaws.com are set by EKS',
    breaks: { ...POOL, labels: { 'eks.amazonaws.com/nodegroup': 'a' } },
    keeps: { ...POOL, labels: { 'example.org/nodegroup': 'a' } },
  },
  {
    rule: '.spec.scaling: minSize must not be greater than maxSize',
    breaks: { ...POOL, scaling: { minSize: 3, maxSize: 2 } },
    keeps: { ...POOL, scaling: { minSize: 2, maxSize: 2 } },
  },
  {
    rule: '.spec.updateConfig: exactly one of maxUnavailable and maxUnavailablePercentage must be set',
    breaks: { ...POOL, updateConfig: { maxUnavailable: 1, maxUnavailablePercentage: 50 } },
    keeps: { ...POOL, updateConfig: { maxUnavailablePercentage: 50 } },
  },
]

export const NODE_RULE_CASES: Readonly<Record<string, readonly RuleCase[]>> = {
  CAPTMachine: [
    ...SHARED_MACHINE,
    fixed('instanceType', 'the instance type', { instanceType: 'm7i.xlarge' }),
    fixed('subnetIds', 'the subnets', { subnetIds: ['subnet-2'] }),
    fixed('nodeRoleName', 'the node role', { nodeRoleName: 'other' }),
    fixed('imageId', 'the image', { imageId: 'ami-2' }),
    {
      rule: '.spec: subnetIds, nodeRoleName and imageId cannot be added or removed: the instance would be made again',
      before: LIKE_GROUP,
      breaks: { ...LIKE_GROUP, imageId: 'ami-1' },
      keeps: { ...LIKE_GROUP, securityGroupIds: ['sg-1'] },
    },
    {
      rule: '.spec: nodeGroupRef of a machine cannot be changed: make another machine, or change its set',
      before: LIKE_GROUP,
      breaks: { ...LIKE_GROUP, nodeGroupRef: { name: 'other' } },
      keeps: { ...LIKE_GROUP, tags: { team: 'a' } },
    },
    {
      rule: '.spec.providerID: providerID cannot be changed',
      before: { ...LIKE_GROUP, providerID: 'aws:///eu-west-1a/i-1' },
      breaks: { ...LIKE_GROUP, providerID: 'aws:///eu-west-1a/i-2' },
      keeps: { ...LIKE_GROUP, providerID: 'aws:///eu-west-1a/i-1', labels: { team: 'a' } },
    },
  ],
  CAPTMachineTemplate: inTemplate('.spec.template.spec', SHARED_MACHINE),
  CAPTMachineSet: SHARED_REPLICAS,
  CAPTMachineDeployment: [
    ...SHARED_REPLICAS,
    {
      rule: '.spec.strategy: rollingUpdate is for type RollingUpdate',
      breaks: strategy({ type: 'Recreate', rollingUpdate: { maxSurge: 1 } }),
      keeps: strategy({ type: 'Recreate' }),
    },
    {
      rule: '.spec.strategy.rollingUpdate: maxSurge and maxUnavailable cannot both be 0: no machine could ever be replaced; set one of them to 1 or more',
      breaks: rolling({ maxSurge: 0, maxUnavailable: '0%' }),
      keeps: rolling({ maxSurge: 0, maxUnavailable: 1 }),
    },
    {
      rule: '.spec.strategy.rollingUpdate.maxSurge: maxSurge is a number from 0, or a percentage from 0% to 100%',
      breaks: rolling({ maxSurge: '101%' }),
      keeps: rolling({ maxSurge: '100%' }),
    },
    {
      rule: '.spec.strategy.rollingUpdate.maxUnavailable: maxUnavailable is a number from 0, or a percentage from 0% to 100%',
      breaks: rolling({ maxUnavailable: -1 }),
      keeps: rolling({ maxUnavailable: 0 }),
    },
  ],
  CAPTMachinePool: SHARED_POOL,
  CAPTMachinePoolTemplate: inTemplate('.spec.template.spec', SHARED_POOL),
}
