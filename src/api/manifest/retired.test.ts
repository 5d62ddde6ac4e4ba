import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OLDER_CONTROL_PLANE_TEMPLATE, OLDER_WORKSPACE_TEMPLATE } from '#testing'
import { checkManifests, readManifests } from './manifest.ts'
import { upgradeManifests } from './upgrade.ts'

const check = (text: string) => {
  const { manifests, notes } = upgradeManifests(readManifests(text, 'a.yaml'))
  return { manifests, notes, faults: checkManifests(manifests) }
}

describe('a manifest of the older project', () => {
  it('may have metadata in a CAPTControlPlaneTemplate: labels and annotations are kept, the rest is left out with a note', () => {
    const { manifests, notes, faults } = check(OLDER_CONTROL_PLANE_TEMPLATE)
    assert.deepEqual(faults, [])
    const { spec } = manifests[0]!.object as unknown as { spec: { template: { metadata: unknown } } }
    assert.deepEqual(spec.template.metadata, { labels: { team: 'platform' }, annotations: { note: 'kept' } })
    assert.equal(notes.length, 1)
    assert.match(notes[0]!, /^CAPTControlPlaneTemplate\/older: spec\.template\.metadata\.name, \.namespace is left out/)
  })

  const gone: readonly (readonly [string, string, string, RegExp])[] = [
    [
      'version',
      `${OLDER_CONTROL_PLANE_TEMPLATE}      version: "1.31"\n`,
      'spec.template.spec.version',
      /set spec\.topology\.version there/,
    ],
    [
      'deletionPolicy',
      `${OLDER_WORKSPACE_TEMPLATE}      deletionPolicy: Orphan\n`,
      'spec.template.spec.deletionPolicy',
      /retainWorkspaceOnDelete: true/,
    ],
    [
      'managementPolicies',
      `${OLDER_WORKSPACE_TEMPLATE}      managementPolicies: ["*"]\n`,
      'spec.template.spec.managementPolicies',
      /spec\.suspend/,
    ],
    [
      'publishConnectionDetailsTo',
      `${OLDER_WORKSPACE_TEMPLATE}      publishConnectionDetailsTo: {name: x}\n`,
      'spec.template.spec.publishConnectionDetailsTo',
      /writeConnectionSecretToRef/,
    ],
    [
      'policy',
      `${OLDER_WORKSPACE_TEMPLATE}      providerConfigRef: {name: a, policy: {resolve: Always}}\n`,
      'spec.template.spec.providerConfigRef.policy',
      /remove it/,
    ],
    [
      'the outer connection Secret',
      `${OLDER_WORKSPACE_TEMPLATE}  writeConnectionSecretToRef: {name: a, namespace: b}\n`,
      'spec.writeConnectionSecretToRef',
      /move it to spec\.template\.spec/,
    ],
  ]
  for (const [name, text, path, hint] of gone)
    it(`is answered with what replaces ${name}`, () => {
      const { faults } = check(text)
      assert.deepEqual(
        faults.map((fault) => [fault.path, fault.message]),
        [[path, 'is a field that capt does not have']],
      )
      assert.match(faults[0]!.hint ?? '', hint)
    })

  for (const [old, kind] of [
    ['CaptMachine', 'CAPTMachine'],
    ['CaptMachineSet', 'CAPTMachineSet'],
    ['CaptMachineDeployment', 'CAPTMachineDeployment'],
    ['CaptMachineTemplate', 'CAPTMachineTemplate'],
  ])
    it(`may spell ${kind} as ${old}, and its fields are checked`, () => {
      const { manifests, faults } = check(
        `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: ${old}\nmetadata: {name: a}\nspec: {}\n`,
      )
      assert.equal(manifests[0]?.object.kind, kind)
      assert.match(faults[0]?.message ?? '', /is required/)
    })
})
