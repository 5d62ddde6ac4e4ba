// One object that breaks each CEL rule of our kinds and one that keeps it. A rule that speaks of a change has the spec
// that was there before. The test over them fails when a rule has no case.
import type { JsonObject } from '#lib'
import { stageTypes } from '../../../../src/api/kinds/stage-types.ts'
import { inTemplate, type RuleCase, template } from './rule-case.ts'
import { NODE_RULE_CASES } from './rule-cases-nodes.ts'

const REGION = { region: 'eu-west-1' }
const MADE = { ...REGION, vpcTemplateRef: { name: 'vpc' } }
const FOUND = { ...REGION, existingVpcId: 'vpc-1' }
const STAGE_TYPES = new Intl.ListFormat('en-GB').format(Object.keys(stageTypes))
const CHART_TYPES = Object.entries(stageTypes).flatMap(([type, { schema }]) =>
  schema.properties?.['source'] ? [[type, schema] as const] : [],
)
const ROLE = { roleArn: 'arn:aws:iam::123456789012:role/capt', externalId: 'abc' }

/** What holds for a cluster and for a template of clusters. */
const SHARED_CLUSTER: readonly RuleCase[] = [
  {
    rule: '.spec: retainVpcOnDelete needs vpcTemplateRef: an existing VPC is never deleted',
    breaks: { ...FOUND, retainVpcOnDelete: true },
    keeps: { ...MADE, retainVpcOnDelete: true },
  },
  {
    rule: '.spec: existingSubnets needs existingVpcId, the VPC they belong to',
    breaks: { ...MADE, existingSubnets: { private: ['subnet-1'] } },
    keeps: { ...FOUND, existingSubnets: { private: ['subnet-1'] } },
  },
  {
    rule: '.spec: vpcConfig needs vpcTemplateRef: an existing VPC is not configured',
    breaks: { ...FOUND, vpcConfig: { name: 'demo' } },
    keeps: { ...MADE, vpcConfig: { name: 'demo' } },
  },
  {
    rule: '.spec.region: the region of a cluster cannot be changed',
    before: MADE,
    breaks: { ...MADE, region: 'eu-west-2' },
    keeps: { ...MADE, additionalTags: { team: 'a' } },
  },
  {
    rule: '.spec.existingVpcId: a cluster cannot move to another VPC',
    before: FOUND,
    breaks: { ...FOUND, existingVpcId: 'vpc-2' },
    keeps: { ...FOUND, existingSubnets: { public: ['subnet-2'] } },
  },
  {
    rule: '.spec.vpcConfig.cidr: the address block of a VPC cannot be changed',
    before: { ...MADE, vpcConfig: { cidr: '10.0.0.0/16' } },
    breaks: { ...MADE, vpcConfig: { cidr: '10.1.0.0/16' } },
    keeps: { ...MADE, vpcConfig: { cidr: '10.0.0.0/16', singleNatGateway: true } },
  },
  {
    rule: '.spec.identity: externalId needs roleArn, the role that asks for it',
    breaks: { ...MADE, identity: { externalId: 'abc' } },
    keeps: { ...MADE, identity: ROLE },
  },
]

const PLANE = { version: 'v1.35.0', workspaceTemplateRef: { name: 'eks' } }
const ADOPTED = { version: 'v1.35.0', policy: 'Adopted' }
const access = (endpointAccess: JsonObject): JsonObject => ({ ...PLANE, controlPlaneConfig: { endpointAccess } })

const SHARED_CONTROL_PLANE: readonly RuleCase[] = [
  {
    rule: '.spec.controlPlaneConfig: karpenter has no effect with compute: AutoMode, which installs none; leave it out',
    breaks: { ...PLANE, controlPlaneConfig: { compute: 'AutoMode', karpenter: { identity: 'IRSA' } } },
    keeps: { ...PLANE, controlPlaneConfig: { compute: 'NodeGroups', karpenter: { identity: 'IRSA' } } },
  },
  {
    rule: '.spec.controlPlaneConfig.region: the region of a control plane cannot be changed',
    before: { ...PLANE, controlPlaneConfig: REGION },
    breaks: { ...PLANE, controlPlaneConfig: { region: 'eu-west-2' } },
    keeps: { ...PLANE, controlPlaneConfig: { ...REGION, ensureSpotServiceLinkedRole: true } },
  },
  {
    rule: '.spec.controlPlaneConfig.endpointAccess: public and private cannot both be false: nobody would reach the API server',
    breaks: access({ public: false, private: false }),
    keeps: access({ public: false, private: true }),
  },
  {
    rule: '.spec.controlPlaneConfig.endpointAccess: publicCIDRs needs a public endpoint',
    breaks: access({ public: false, private: true, publicCIDRs: ['203.0.113.0/24'] }),
    keeps: access({ public: true, publicCIDRs: ['203.0.113.0/24'] }),
  },
  {
    rule: '.spec.identity: externalId needs roleArn, the role that asks for it',
    breaks: { ...PLANE, identity: { externalId: 'abc' } },
    keeps: { ...PLANE, identity: ROLE },
  },
]

const workspace = (forProvider: JsonObject): JsonObject =>
  template({ forProvider: { source: 'Inline', module: 'output "a" { value = 1 }', ...forProvider } })
const APPLY = { templateRef: { name: 'a' } }
const drift = (spec: JsonObject): RuleCase => ({
  rule: '.spec.driftDetection.interval: interval must be at least 10m',
  breaks: { ...spec, driftDetection: { interval: '5m' } },
  keeps: { ...spec, driftDetection: { interval: '10m' } },
})
const KEY = { name: 'a', key: 'b' }
const stages = (...list: JsonObject[]): JsonObject => ({ clusterSelector: {}, stages: list })
const registry = (path: string, within: (source: JsonObject) => JsonObject): RuleCase => ({
  rule: `${path}: certSecretRef has no effect without TLS: set insecure to false, or leave certSecretRef out`,
  breaks: within({ insecure: true, certSecretRef: { name: 'ca' } }),
  keeps: within({ secretRef: { name: 'login' }, certSecretRef: { name: 'ca' } }),
})
const checks = (check: JsonObject): JsonObject => stages({ name: 'a', flux: {}, checks: [{ name: 'x', ...check }] })
const selector = (expression: JsonObject): JsonObject => ({
  ...stages({ name: 'a', flux: {} }),
  clusterSelector: { matchExpressions: [{ key: 'a', ...expression }] },
})

/** By kind; the object is called `sample`. */
export const RULE_CASES: Readonly<Record<string, readonly RuleCase[]>> = {
  ...NODE_RULE_CASES,
  CAPTCluster: [
    ...SHARED_CLUSTER,
    {
      rule: '.spec: exactly one of vpcTemplateRef and existingVpcId must be set',
      breaks: { ...MADE, ...FOUND },
      keeps: MADE,
    },
    {
      rule: '.spec: a cluster cannot switch between vpcTemplateRef and existingVpcId: its VPC would be destroyed',
      before: MADE,
      breaks: FOUND,
      keeps: { ...MADE, vpcTemplateRef: { name: 'other' } },
    },
    {
      rule: '.spec: vpcConfig.cidr cannot be added or removed: the VPC would be destroyed',
      before: MADE,
      breaks: { ...MADE, vpcConfig: { cidr: '10.0.0.0/16' } },
      keeps: { ...MADE, vpcConfig: { name: 'demo' } },
    },
    {
      rule: '.spec: clusterName cannot be changed: the cluster would be made again under the new name',
      before: { ...MADE, clusterName: 'one' },
      breaks: { ...MADE, clusterName: 'two' },
      keeps: { ...MADE, clusterName: 'one', retainVpcOnDelete: true },
    },
    {
      rule: '.spec: workspaceTemplateApplyName cannot be changed: the VPC would be left behind',
      before: MADE,
      breaks: { ...MADE, workspaceTemplateApplyName: 'two' },
      keeps: { ...MADE, retainVpcOnDelete: true },
    },
  ],
  CAPTClusterTemplate: [
    ...inTemplate('.spec.template.spec', SHARED_CLUSTER),
    {
      rule: '.spec.template.spec: at most one of vpcTemplateRef and existingVpcId may be set',
      breaks: template({ ...MADE, ...FOUND }),
      keeps: template({}),
    },
  ],
  CAPTControlPlane: [
    ...SHARED_CONTROL_PLANE,
    {
      rule: '.spec: workspaceTemplateApplyName cannot be changed: the control plane would be left behind',
      before: { ...PLANE, workspaceTemplateApplyName: 'one' },
      breaks: PLANE,
      keeps: { ...PLANE, workspaceTemplateApplyName: 'one', version: 'v1.36.0' },
    },
    {
      rule: '.spec: controlPlaneConfig.compute cannot be changed: nodes and add-ons of one kind would be left behind; make another cluster with it and move the workload',
      before: PLANE,
      breaks: { ...PLANE, controlPlaneConfig: { compute: 'AutoMode' } },
      keeps: { ...PLANE, controlPlaneConfig: { compute: 'NodeGroups' } },
    },
    {
      rule: '.spec: controlPlaneConfig.karpenter.namespace cannot be changed: the Karpenter that runs would lose its credentials; make another cluster with it',
      before: PLANE,
      breaks: { ...PLANE, controlPlaneConfig: { karpenter: { namespace: 'karpenter' } } },
      keeps: { ...PLANE, controlPlaneConfig: { karpenter: { namespace: 'kube-system' } } },
    },
    {
      rule: '.spec: workspaceTemplateRef must be set, and must be left out with policy Adopted: nothing is made then',
      breaks: { ...PLANE, policy: 'Adopted' },
      keeps: ADOPTED,
    },
    {
      rule: '.spec: policy cannot be changed: delete the Cluster, which detaches an adopted one, and create it again',
      before: ADOPTED,
      breaks: PLANE,
      keeps: { ...ADOPTED, version: 'v1.36.0' },
    },
  ],
  CAPTControlPlaneTemplate: inTemplate(
    '.spec.template.spec',
    SHARED_CONTROL_PLANE.map(({ rule, breaks, keeps, before }) => {
      // The version comes from the Cluster, so a template has none.
      const without = ({ version: _version, ...spec }: JsonObject): JsonObject => spec
      return { rule, breaks: without(breaks), keeps: without(keeps), ...(before ? { before: without(before) } : {}) }
    }),
  ),
  WorkspaceTemplate: [
    drift(workspace({})),
    {
      rule: '.spec.template.spec.forProvider: entrypoint is for source Remote; inline text has no folders',
      breaks: workspace({ entrypoint: 'a' }),
      keeps: workspace({ source: 'Remote', module: 'git::https://example.org/a', entrypoint: 'a' }),
    },
    {
      rule: '.spec.template.spec.forProvider: module of source Remote is an address of at most 2048 characters; for text use source Inline',
      breaks: workspace({ source: 'Remote', module: 'a'.repeat(2049) }),
      keeps: workspace({ source: 'Inline', module: 'a'.repeat(2049) }),
    },
    {
      rule: '.spec.template.spec.forProvider.varFiles[]: source ConfigMapKey needs configMapKeyRef alone, source SecretKey needs secretKeyRef alone',
      breaks: workspace({ varFiles: [{ source: 'ConfigMapKey', secretKeyRef: KEY }] }),
      keeps: workspace({ varFiles: [{ source: 'SecretKey', secretKeyRef: KEY }] }),
    },
    {
      rule: '.spec.template.spec.forProvider.env[]: exactly one of value, configMapKeyRef and secretKeyRef must be set',
      breaks: workspace({ env: [{ name: 'A', value: 'a', secretKeyRef: KEY }] }),
      keeps: workspace({ env: [{ name: 'A', configMapKeyRef: KEY }] }),
    },
  ],
  WorkspaceTemplateApply: [
    {
      rule: ': spec.waitForWorkspaces must not name the object itself: it would wait for ever',
      breaks: { ...APPLY, waitForWorkspaces: [{ name: 'sample' }] },
      keeps: { ...APPLY, waitForWorkspaces: [{ name: 'other' }] },
    },
    {
      rule: ': metadata.name must not end in .capt-drift: drift checks use such names',
      breaksAs: 'sample.capt-drift',
      breaks: APPLY,
      keeps: APPLY,
    },
    {
      rule: ': spec.speculativeFor must name another object',
      breaks: { ...APPLY, speculativeFor: 'sample' },
      keeps: { ...APPLY, speculativeFor: 'other' },
    },
    {
      rule: ': spec.speculativeFor cannot be changed: make another object',
      before: { ...APPLY, speculativeFor: 'one' },
      breaks: { ...APPLY, speculativeFor: 'two' },
      keeps: { ...APPLY, speculativeFor: 'one', suspend: true },
    },
    drift(APPLY),
  ],
  AddonPipeline: [
    {
      rule: '.spec: needs must name stages of this pipeline',
      breaks: stages({ name: 'a', needs: ['b'], flux: {} }),
      keeps: stages({ name: 'a', needs: ['b'], flux: {} }, { name: 'b', nodePool: {} }),
    },
    {
      rule: '.spec.clusterSelector.matchExpressions[]: In and NotIn need values; Exists and DoesNotExist take none',
      breaks: selector({ operator: 'In' }),
      keeps: selector({ operator: 'Exists' }),
    },
    {
      rule: `.spec.stages[]: exactly one of ${STAGE_TYPES} must be set`,
      breaks: stages({ name: 'a', flux: {}, karpenter: {} }),
      keeps: stages({ name: 'a', karpenter: {} }),
    },
    ...CHART_TYPES.map(([type, schema]) =>
      registry(`.spec.stages[].${type}.source`, (source) => {
        // What a chart must be given is a version.
        const required = Object.fromEntries((schema.required ?? []).map((name) => [name, '1.0.0']))
        return stages({ name: 'a', [type]: { ...required, source } })
      }),
    ),
    {
      rule: '.spec.stages[]: a stage cannot need itself',
      breaks: stages({ name: 'a', needs: ['a'], flux: {} }),
      keeps: stages({ name: 'a', needs: [], flux: {} }),
    },
    {
      rule: '.spec.stages[].checks[]: Condition needs apiVersion, kind, path and equals',
      breaks: checks({ type: 'Condition', apiVersion: 'v1', kind: 'Node' }),
      keeps: checks({ type: 'Condition', apiVersion: 'v1', kind: 'Node', path: '.status.phase', equals: 'Ready' }),
    },
    {
      rule: '.spec.stages[].checks[]: path and equals belong to Condition',
      breaks: checks({ type: 'DeploymentAvailable', path: '.status.phase', equals: 'Ready' }),
      keeps: checks({ type: 'DeploymentAvailable' }),
    },
  ],
  AddonDelivery: [
    {
      rule: '.spec.clusterName: clusterName cannot change',
      before: { clusterName: 'one', pipelineRef: { name: 'a' } },
      breaks: { clusterName: 'two', pipelineRef: { name: 'a' } },
      keeps: { clusterName: 'one', pipelineRef: { name: 'b' } },
    },
    registry('.spec.overrides[].source', (source) => ({
      clusterName: 'one',
      pipelineRef: { name: 'a' },
      overrides: [{ stage: 'a', source }],
    })),
  ],
}
