// Failures as a user meets them: the shipped program with ambient credentials, kubectl beside it, and a template that fails
// the way AWS fails.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import type { Condition } from '#api'
import { findTool } from '../../support/tools.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const terraform = findTool('terraform')
const GROUP = 'infrastructure.cluster.x-k8s.io/v1beta1'

interface Apply {
  readonly metadata: { readonly uid: string }
  readonly status?: {
    readonly phase?: string
    readonly attempts?: number
    readonly run?: { readonly id: string; readonly phase: string }
    readonly conditions?: readonly Condition[]
  }
}

const templateOf = (name: string, module: string) => ({
  apiVersion: GROUP,
  kind: 'WorkspaceTemplate',
  metadata: { name },
  spec: { template: { spec: { forProvider: { source: 'Inline', module } } } },
})
const applyOf = (name: string, spec: object = {}) => ({
  apiVersion: GROUP,
  kind: 'WorkspaceTemplateApply',
  metadata: { name },
  spec: { templateRef: { name }, ...spec },
})

describe('a failure of a run', { skip: !terraform || !kubectlPath ? 'terraform or kubectl is missing' : false }, () => {
  let shipped: Shipped
  let home: UpHome
  let slowPlan: string
  before(async () => {
    shipped = shippedProgram()
    slowPlan = join(shipped.folder, 'slow-plan')
    // Terraform whose plan lasts as long as the file is there, and which ends at an interrupt as Terraform does.
    const wrapper = join(shipped.folder, 'tools', 'terraform')
    const script = [
      '#!/bin/sh',
      `if [ "$1" = plan ] && [ -e "${slowPlan}" ]; then`,
      '  trap "exit 1" INT TERM',
      `  while [ -e "${slowPlan}" ]; do sleep 0.1; done`,
      'fi',
      `exec "${terraform}" "$@"`,
      '',
    ]
    writeFileSync(wrapper, script.join('\n'))
    chmodSync(wrapper, 0o755)
    home = await shipped.up()
  })
  after(() => shipped.end())

  const kubectl = async (...args: string[]) => {
    const { code, out, err } = await shipped.kubectl(home.kubeconfig, args)
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${err}`)
    return out
  }
  const capt = (...args: string[]) => shipped.capt([...args, '--kubeconfig', home.kubeconfig])
  const find = async (name: string): Promise<Apply | undefined> => {
    const out = await kubectl('get', 'wtapply', name, '--ignore-not-found', '-o', 'json')
    return out === '' ? undefined : (JSON.parse(out) as Apply)
  }
  const conditionOf = (apply: Apply | undefined, type: string) =>
    apply?.status?.conditions?.find((condition) => condition.type === type)
  const untilApply = async (name: string, what: string, test: (apply: Apply) => boolean) => {
    let last: Apply | undefined
    const look = async () => {
      last = await find(name)
      return last !== undefined && test(last)
    }
    await waitUntil(`${name}: ${what}`, look, 120_000, () => JSON.stringify(last?.status))
    return last!
  }
  const make = async (...objects: object[]) => {
    const file = join(shipped.folder, 'manifest.yaml')
    writeFileSync(file, objects.map((object) => stringify(object)).join('---\n'))
    await kubectl('apply', '-f', file)
  }

  it('for want of permission, with ambient credentials, is not repeated', async () => {
    const denied = `resource "terraform_data" "vpc" {
  provisioner "local-exec" { command = "echo 'AccessDenied: not authorized to perform ec2:CreateVpc' >&2; exit 1" }
}
output "vpc_id" { value = "vpc-1" }
`
    const infrastructureRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'CAPTCluster', name: 'denied' }
    await make(
      templateOf('denied', denied),
      {
        apiVersion: GROUP,
        kind: 'CAPTCluster',
        metadata: { name: 'denied' },
        spec: { region: 'eu-west-1', vpcTemplateRef: { name: 'denied' } },
      },
      {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: { name: 'denied' },
        spec: { infrastructureRef },
      },
    )
    const isStalled = (apply: Apply) => conditionOf(apply, 'Stalled')?.status === 'True'
    const apply = await untilApply('denied-vpc', 'Stalled', isStalled)
    assert.equal(conditionOf(apply, 'Stalled')?.reason, 'CredentialsRejected')
    assert.equal(apply.status?.attempts, 1)
  })

  it('leaves a Warning with its cause on the apply and on the Cluster', async () => {
    const described = async () => kubectl('describe', 'cluster', 'denied')
    const isThere = async () => /Warning\s+CredentialsRejected/.test(await described())
    await waitUntil('the Warning on the Cluster', isThere, 60_000)
    assert.match(await described(), /WorkspaceTemplateApply denied-vpc: .*AccessDenied/)
    assert.match(await kubectl('describe', 'wtapply', 'denied-vpc'), /Warning\s+CredentialsRejected/)
  })

  it('is not what a misspelt value makes, but a Warning names the variable that was meant', async () => {
    const module = 'variable "colour" { default = "red" }\nresource "terraform_data" "typo" { input = var.colour }\n'
    await make(templateOf('typo', module), applyOf('typo', { values: { color: 'blue' } }))
    const apply = await untilApply('typo', 'Applied', ({ status }) => status?.phase === 'Applied')
    const { status, message } = conditionOf(apply, 'UndeclaredValues') ?? {}
    assert.equal(status, 'True')
    assert.match(message ?? '', /spec\.values\.color \(did you mean colour\?\)/)
    const described = () => kubectl('describe', 'wtapply', 'typo')
    await waitUntil('the Warning', async () => /Warning\s+VariableUndeclared/.test(await described()))
    await kubectl(
      'patch',
      'wtapply',
      'typo',
      '--type',
      'merge',
      '-p',
      '{"spec":{"values":{"color":null,"colour":"blue"}}}',
    )
    await untilApply('typo', 'the correction', (one) => conditionOf(one, 'UndeclaredValues')?.status === 'False')
  })

  it('of a destroy ends at its limit, and the ways out that its condition names work when they are pasted', async () => {
    const stuck = `resource "terraform_data" "stuck" {
  provisioner "local-exec" {
    when    = destroy
    command = "echo 'DependencyViolation: it is in use' >&2; exit 1"
  }
}
`
    const names = ['stuck', 'stuck-too']
    for (const name of names) await make(templateOf(name, stuck), applyOf(name, { retry: { limit: 0 } }))
    for (const name of names) await untilApply(name, 'Applied', ({ status }) => status?.phase === 'Applied')
    await kubectl('delete', 'wtapply', ...names, '--wait=false')
    const messages: string[] = []
    for (const name of names) {
      const apply = await untilApply(name, 'Stalled', (one) => conditionOf(one, 'Stalled')?.status === 'True')
      const { reason, message } = conditionOf(apply, 'Stalled')!
      assert.equal(reason, 'RetriesExhausted')
      assert.match(message, /DependencyViolation/)
      assert.match(message, new RegExp(`capt retry ${name} -n default`))
      messages.push(message)
    }
    const patch = /kubectl (patch wtapply .*) -p '([^']*)'/.exec(messages[0]!)
    assert.ok(patch, messages[0])
    await kubectl(...patch[1]!.split(' '), '-p', patch[2]!)
    const forget = /capt (forget .*--orphan-resources)/.exec(messages[1]!)
    assert.ok(forget, messages[1])
    const { code, err } = await capt(...forget[1]!.split(' '), '--yes')
    assert.equal(code, 0, err)
    for (const name of names)
      await waitUntil(`the end of ${name}`, async () => (await find(name)) === undefined, 120_000)
  })

  it('is none when a run is cancelled before it changed anything: what was ready stays ready', async () => {
    await make(templateOf('calm', 'resource "terraform_data" "calm" {}\n'), applyOf('calm'))
    const first = await untilApply('calm', 'Applied', ({ status }) => status?.phase === 'Applied')
    writeFileSync(slowPlan, '')
    try {
      assert.equal((await capt('retry', 'calm')).code, 0)
      const isNew = ({ status }: Apply) => status?.run?.id !== first.status?.run?.id && status?.phase === 'Running'
      await untilApply('calm', 'the second run', isNew)
      const { code, out, err } = await capt('cancel', 'calm')
      assert.equal(code, 0, out + err)
      assert.match(out, /ended: Cancelled/)
    } finally {
      if (existsSync(slowPlan)) rmSync(slowPlan)
    }
    const after = await untilApply('calm', 'the end of the run', ({ status }) => status?.run?.phase === 'Cancelled')
    assert.equal(conditionOf(after, 'Ready')?.status, 'True', JSON.stringify(after.status))
    assert.match(conditionOf(after, 'Synced')?.message ?? '', /cancelled before it changed anything/)
  })

  it('is not repeated by a retry that was requested during the run that capt cancel ends', async () => {
    await make(templateOf('long', 'resource "terraform_data" "long" {}\n'), applyOf('long'))
    await untilApply('long', 'Applied', ({ status }) => status?.phase === 'Applied')
    writeFileSync(slowPlan, '')
    try {
      assert.equal((await capt('retry', 'long')).code, 0)
      const running = await untilApply('long', 'a run', ({ status }) => status?.phase === 'Running')
      const second = await capt('retry', 'long')
      assert.match(second.err, /the new one follows it; capt cancel long ends both/)
      assert.match((await capt('cancel', 'long')).out, /ended: Cancelled/)
      const ended = await untilApply('long', 'the end of both', ({ status }) => status?.run?.phase === 'Cancelled')
      assert.equal(ended.status?.run?.id, running.status?.run?.id)
      const annotations = await kubectl('get', 'wtapply', 'long', '-o', 'jsonpath={.metadata.annotations}')
      assert.ok(!annotations.includes('capt.appthrust.com/retry'), 'nothing is left that asks for another run')
    } finally {
      if (existsSync(slowPlan)) rmSync(slowPlan)
    }
  })
})
