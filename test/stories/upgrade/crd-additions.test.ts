// CRDs change by additions: what commit ededa56 served is compared with what is generated today.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { parse } from 'yaml'
import { type Definition, findBreaks } from '../../support/upgrade/crd-changes.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const FIXTURE = join(ROOT, 'test', 'support', 'fixtures', 'home-ededa56', 'crds.json.gz')

/** The rule with the words of a pattern must know how long a text may be. */
const NOT_LONGER = 'nothing that the field is for is longer'

/** What differs, and why objects written before satisfy it, keep their meaning or were of no use. */
const ACCEPTED: Readonly<Record<string, string>> = {
  "CAPTControlPlane: .spec: has the rule (has(self.controlPlaneConfig) && has(self.controlPlaneConfig.compute) ? self.controlPlaneConfig.compute : 'NodeGroups') == (has(oldSelf.controlPlaneConfig) && has(oldSelf.controlPlaneConfig.compute) ? oldSelf.controlPlaneConfig.compute : 'NodeGroups')":
    'a field that no older object has; left out it means what was done before',
  "CAPTControlPlane: .spec: has the rule (has(self.controlPlaneConfig) && has(self.controlPlaneConfig.karpenter) && has(self.controlPlaneConfig.karpenter.__namespace__) ? self.controlPlaneConfig.karpenter.__namespace__ : 'kube-system') == (has(oldSelf.controlPlaneConfig) && has(oldSelf.controlPlaneConfig.karpenter) && has(oldSelf.controlPlaneConfig.karpenter.__namespace__) ? oldSelf.controlPlaneConfig.karpenter.__namespace__ : 'kube-system')":
    'a field that no older object has; left out it means what was done before',
  "CAPTControlPlane: .spec: has the rule (has(self.policy) && self.policy == 'Adopted') != has(self.workspaceTemplateRef)":
    'the policy is new, and workspaceTemplateRef was required',
  "CAPTControlPlane: .spec: has the rule (has(self.policy) ? self.policy : 'Managed') == (has(oldSelf.policy) ? oldSelf.policy : 'Managed')":
    'the field is new',
  "CAPTControlPlane: .spec.controlPlaneConfig: has the rule !has(self.karpenter) || !has(self.compute) || self.compute != 'AutoMode'":
    'two fields that no older object has',
  'CAPTControlPlane: .spec.controlPlaneConfig.region: maxLength is 32, was nothing': NOT_LONGER,
  'CAPTControlPlane: .spec.controlPlaneConfig.endpointAccess.publicCIDRs[]: maxLength is 64, was nothing': NOT_LONGER,
  "CAPTControlPlaneTemplate: .spec.template.spec.controlPlaneConfig: has the rule !has(self.karpenter) || !has(self.compute) || self.compute != 'AutoMode'":
    'two fields that no older object has',
  'CAPTControlPlaneTemplate: .spec.template.spec.controlPlaneConfig.region: maxLength is 32, was nothing': NOT_LONGER,
  'CAPTControlPlaneTemplate: .spec.template.spec.controlPlaneConfig.endpointAccess.publicCIDRs[]: maxLength is 64, was nothing':
    NOT_LONGER,
  'AddonPipeline: .spec.stages[].flux.version: maxLength is 32, was nothing': NOT_LONGER,
  'AddonPipeline: .spec.stages[].flux.imageDigests[]: maxLength is 71, was nothing': NOT_LONGER,
  'AddonPipeline: .spec.stages[].flux.manifest.sha256: maxLength is 64, was nothing': NOT_LONGER,
  'AddonPipeline: .spec.stages[].karpenter.version: maxLength is 32, was nothing': NOT_LONGER,
  'AddonPipeline: .spec.stages[].nodePool.amiAlias: default was "al2023@latest", is nothing':
    'older objects have the default in their spec, so their clusters keep it',
  'CAPTCluster: .spec.region: maxLength is 32, was nothing': NOT_LONGER,
  'CAPTCluster: .spec.existingSubnets.private[]: maxLength is 64, was nothing': NOT_LONGER,
  'CAPTCluster: .spec.existingSubnets.public[]: maxLength is 64, was nothing': NOT_LONGER,
  'CAPTCluster: .spec.vpcConfig.cidr: maxLength is 18, was nothing': NOT_LONGER,
  'CAPTCluster: .spec.clusterName: maxLength is 100, was nothing': NOT_LONGER,
  'CAPTClusterTemplate: .spec.template.spec.region: maxLength is 32, was nothing': NOT_LONGER,
  'CAPTClusterTemplate: .spec.template.spec.existingSubnets.private[]: maxLength is 64, was nothing': NOT_LONGER,
  'CAPTClusterTemplate: .spec.template.spec.existingSubnets.public[]: maxLength is 64, was nothing': NOT_LONGER,
  'CAPTClusterTemplate: .spec.template.spec.vpcConfig.cidr: maxLength is 18, was nothing': NOT_LONGER,
  "WorkspaceTemplateApply: .: has the rule !self.metadata.name.endsWith('.capt-drift')": 'a name that nobody chose',
  'WorkspaceTemplateApply: .: has the rule !has(self.spec.speculativeFor) || self.spec.speculativeFor != self.metadata.name':
    'the field is new',
  'WorkspaceTemplateApply: .: has the rule has(self.spec.speculativeFor) == has(oldSelf.spec.speculativeFor) && (!has(self.spec.speculativeFor) || self.spec.speculativeFor == oldSelf.spec.speculativeFor)':
    'the field is new',
  'WorkspaceTemplateApply: .: has the rule !has(self.spec.waitForWorkspaces) || !self.spec.waitForWorkspaces.exists(other, !has(other.__namespace__) && other.name == self.metadata.name)':
    'such an object waited for itself and never ran',
}

describe('CRDs of an earlier version', () => {
  it('are those of today without what was added since', () => {
    const before = JSON.parse(gunzipSync(readFileSync(FIXTURE)).toString('utf8')) as readonly Definition[]
    const folder = join(ROOT, 'config', 'crd')
    const now = readdirSync(folder)
      .filter((name) => name !== 'kustomization.yaml')
      .map((name) => parse(readFileSync(join(folder, name), 'utf8')) as Definition)
    assert.equal(before.length, 8)
    assert.deepEqual(findBreaks(before, now), Object.keys(ACCEPTED))
  })
})

describe('the comparison of CRDs', () => {
  const define = (schema: Readonly<Record<string, unknown>>, version = 'v1'): Definition => ({
    metadata: { name: 'things.example.com' },
    spec: {
      scope: 'Namespaced',
      names: { kind: 'Thing' },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  })
  const text = { type: 'string' }
  const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
  const oneOf = (...names: readonly string[]) => {
    const rule = `[${names.map((name) => `has(self.${name})`).join(', ')}].filter(x, x).size() == 1`
    return { 'x-kubernetes-validations': [{ rule }] }
  }
  const cases: readonly {
    readonly what: string
    readonly before: object
    readonly now: object
    readonly found: RegExp | undefined
  }[] = [
    { what: 'a field that was added', before: object({}), now: object({ a: text }), found: undefined },
    { what: 'a field that is gone', before: object({ a: text }), now: object({}), found: /has no a/ },
    {
      what: 'another type, deep inside',
      before: { items: object({ a: text }) },
      now: { items: object({ a: { type: 'integer' } }) },
      found: /^Thing: \[\]\.a: type was "string"/,
    },
    { what: 'a default that was added', before: text, now: { ...text, default: 'x' }, found: undefined },
    {
      what: 'another default',
      before: { ...text, default: 'y' },
      now: { ...text, default: 'x' },
      found: /default was "y"/,
    },
    { what: 'one more value', before: { enum: ['a'] }, now: { enum: ['a', 'b'] }, found: undefined },
    {
      what: 'a value that is refused now',
      before: { enum: ['a', 'b'] },
      now: { enum: ['a'] },
      found: /no longer takes "b"/,
    },
    {
      what: 'values that are listed now',
      before: text,
      now: { ...text, enum: ['a'] },
      found: /no longer takes "anything"/,
    },
    {
      what: 'a field that is required now',
      before: object({ a: text }),
      now: object({ a: text }, { required: ['a'] }),
      found: /requires a/,
    },
    {
      what: 'one that has a default',
      before: object({}),
      now: object({ a: { ...text, default: 'x' } }, { required: ['a'] }),
      found: undefined,
    },
    { what: 'a lower limit', before: { maxItems: 5 }, now: { maxItems: 4 }, found: /maxItems is 4, was 5/ },
    { what: 'a higher limit', before: { maxItems: 5 }, now: { maxItems: 6 }, found: undefined },
    { what: 'a limit where there was none', before: {}, now: { minLength: 1 }, found: /minLength is 1/ },
    {
      what: 'another rule',
      before: {},
      now: { 'x-kubernetes-validations': [{ rule: 'self.a' }] },
      found: /has the rule self\.a/,
    },
    {
      what: 'one more field of which exactly one is set',
      before: object({ a: text, b: text }, oneOf('a', 'b')),
      now: object({ a: text, b: text, c: text }, oneOf('a', 'c', 'b')),
      found: undefined,
    },
    {
      what: 'an old field of which exactly one is set now',
      before: object({ a: text, b: text, c: text }, oneOf('a', 'b')),
      now: object({ a: text, b: text, c: text }, oneOf('a', 'b', 'c')),
      found: /has the rule \[has\(self\.a\)/,
    },
  ]
  for (const { what, before, now, found } of cases)
    it(`${found ? 'reports' : 'accepts'} ${what}`, () => {
      const breaks = findBreaks([define(before as never)], [define(now as never)])
      if (found) assert.match(breaks.join('\n'), found)
      else assert.deepEqual(breaks, [])
    })

  it('reports a kind that is gone, and a version that is not served', () => {
    assert.deepEqual(findBreaks([define({})], []), ['things.example.com: is gone'])
    assert.deepEqual(findBreaks([define({})], [define({}, 'v2')]), ['Thing: version v1 is not served'])
  })
})
