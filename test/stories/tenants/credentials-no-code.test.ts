// A tenant has a Secret and may apply a shared template. Whatever the Secret contains, none of it runs: real Terraform,
// real runner processes, and a marker file that the code in the Secret would leave.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  ALLOW_NAMESPACES_ANNOTATION,
  conditionOf,
  NamespaceKind,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { anApply, aTemplate } from '#testing'
import { type EngineWorld, engineWorld, hasTerraform } from '../../support/engine/world.ts'

const encode = (text: string) => Buffer.from(text).toString('base64')

describe('Code in a Secret with credentials', { skip: !hasTerraform && 'terraform is not installed' }, () => {
  let world: EngineWorld
  let marker: string

  before(async () => {
    world = await engineWorld()
    marker = join(world.folder, 'ran')
    for (const name of ['platform', 'tenant'])
      await world.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    const shared = aTemplate('resource "terraform_data" "a" {}', {}, { name: 'shared', namespace: 'platform' })
    const annotations = { [ALLOW_NAMESPACES_ANNOTATION]: '*' }
    await world.create(WorkspaceTemplate, { ...shared, metadata: { ...shared.metadata, annotations } })
    const { metadata, spec, ...rest } = shared
    const { template } = spec
    const named = { ...template, spec: { ...template.spec, providerConfigRef: { name: 'by-template' } } }
    await world.create(WorkspaceTemplate, {
      ...rest,
      metadata: { ...metadata, name: 'named', annotations },
      spec: { ...spec, template: named },
    })
    await world.manager()
  })
  after(() => world.close())

  const localExec = (command: string) =>
    `resource "terraform_data" "evil" {\n  provisioner "local-exec" {\n    command = "${command}"\n  }\n}\n`

  async function applyWith(secret: string, data: Readonly<Record<string, string>>, viaTemplate = false) {
    await world.create(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'tenant', name: secret },
      data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, encode(text)])),
    })
    const spec = {
      templateRef: { namespace: 'platform', name: viaTemplate ? 'named' : 'shared' },
      ...(viaTemplate ? {} : { credentialsRef: { name: secret } }),
    }
    const key = { namespace: 'tenant', name: secret }
    await world.create(WorkspaceTemplateApply, anApply(spec, key))
    const deadline = Date.now() + 180_000
    for (;;) {
      const found = await world.connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key)
      const ready = found && conditionOf(found, 'Ready')
      if (ready?.status === 'True') assert.fail('the run went through')
      if (found && conditionOf(found, 'Stalled')?.status === 'True') return ready
      if (Date.now() > deadline) assert.fail(`not decided: ${JSON.stringify(found?.status)}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  const cases: readonly (readonly [name: string, data: () => Readonly<Record<string, string>>, key: RegExp])[] = [
    [
      'evil.tf with local-exec that reads the runner’s kubeconfig from /proc',
      () => ({ AWS_REGION: 'eu-central-1', 'evil.tf': localExec(`touch ${marker}; cat /proc/*/cmdline`) }),
      /evil\.tf \(Terraform code comes from templates only/,
    ],
    ['evil.tf.json', () => ({ 'evil.tf.json': '{"output":{"x":{"value":1}}}' }), /evil\.tf\.json \(/],
    ['configuration as Terraform text', () => ({ configuration: localExec(`touch ${marker}`) }), /configuration \(/],
    ['variables that are loaded by themselves', () => ({ 'x.auto.tfvars': 'a = 1' }), /x\.auto\.tfvars \(/],
    ['a state', () => ({ 'terraform.tfstate': '{}' }), /terraform\.tfstate \(/],
    [
      'a profile that starts a program',
      () => ({ config: `[default]\ncredential_process = touch ${marker}\n` }),
      /config \(the setting credential_process/,
    ],
    ['a library to load', () => ({ LD_PRELOAD: '/tmp/evil.so' }), /LD_PRELOAD \(/],
    ['arguments of Terraform', () => ({ TF_CLI_ARGS_plan: '-var-file=/etc/passwd' }), /TF_CLI_ARGS_plan \(/],
  ]
  for (const [i, [name, data, key]] of cases.entries())
    it(`is refused by a condition that names the key: ${name}`, async () => {
      const ready = await applyWith(`case-${i}`, data())
      assert.equal(ready?.reason, 'CredentialsRejected')
      assert.match(ready?.message ?? '', key)
      assert.ok(!existsSync(marker), 'nothing of it ran')
    })

  it('is refused as well where the template names the Secret', async () => {
    const ready = await applyWith('by-template', { 'evil.tf': localExec(`touch ${marker}`) }, true)
    assert.match(ready?.message ?? '', /evil\.tf \(/)
    assert.ok(!existsSync(marker))
  })
})
