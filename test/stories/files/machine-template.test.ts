// The templates for machines: the real one and its simulated twin have the same inputs and outputs, and declare
// everything that the controller sends.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import type { CAPTMachine } from '#api'
import { moduleText as source, TEMPLATES } from '../../../scripts/template-modules.ts'
import { machineRequest } from '../../../src/controllers/machine/variables.ts'
import { findTool } from '../../support/tools.ts'

const FOLDERS = [TEMPLATES.machine.folder, TEMPLATES.simulatedMachine.folder] as const
const namesOf = (folder: string, block: string) =>
  [...source(folder).matchAll(new RegExp(`^${block} "(\\w+)"`, 'gm'))].map(([, name]) => name).toSorted()

const machine = {
  metadata: { name: 'm', namespace: 'default', uid: 'm' },
  spec: {
    workspaceTemplateRef: { name: 'machine' },
    instanceType: 'm7i.large',
    subnetIds: ['subnet-1'],
    securityGroupIds: ['sg-1'],
    nodeRoleName: 'nodes',
    imageId: 'ami-1',
    tags: { a: 'b' },
    drainTimeoutSeconds: 1,
  },
} as unknown as CAPTMachine

describe('the templates for machines', () => {
  for (const block of ['variable', 'output'])
    it(`have the same ${block}s in AWS and in simulation`, () =>
      assert.deepEqual(namesOf(FOLDERS[0], block), namesOf(FOLDERS[1], block)))

  it('declare everything that the controller sends', () => {
    const values = { assume_role_arn: 'arn', assume_role_external_id: 'id' }
    const home = { apply: 'eks', clusterName: 'demo', region: 'eu-west-1', values, credentials: {} }
    const { spec } = machineRequest(machine, {
      ...{ cluster: 'demo', home, nodeGroup: 'nodes', userDataSecret: 's', zone: 'a', version: '1.34' },
      labels: { c: 'd' },
    })
    const sent = [...Object.keys(spec.variables), ...Object.keys(spec.values), 'user_data'].toSorted()
    assert.deepEqual(sent, namesOf(FOLDERS[0], 'variable'))
  })

  it('make an access entry of type EC2_LINUX, an instance profile and user data for nodeadm', () => {
    const text = source(TEMPLATES.machine.folder)
    for (const part of ['aws_eks_access_entry', 'aws_iam_instance_profile', 'aws_instance'])
      assert.match(text, new RegExp(`^resource "${part}"`, 'm'))
    assert.match(text, /type\s+= "EC2_LINUX"/)
    assert.match(text, /node\.eks\.aws\/v1alpha1/)
  })

  it('never replace an instance because its image or user data changed', () =>
    assert.match(source(TEMPLATES.machine.folder), /ignore_changes = \[ami, user_data_base64, subnet_id\]/))

  const terraform = findTool('terraform')
  it('are formatted', { skip: terraform ? false : 'terraform is missing' }, () => {
    for (const folder of FOLDERS) execFileSync(terraform!, ['fmt', '-check', '-'], { input: source(folder) })
  })
})
