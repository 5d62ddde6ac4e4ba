import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { anApply, aTemplate } from '#testing'
import { scanHcl } from './hcl.ts'
import { renderWorkspace, workspaceNameOf, workspaceSources } from './render.ts'
import { resolveValues } from './values.ts'
import { assembleVariables, declaredVariables } from './variables.ts'

const workspaceOf = (...args: Parameters<typeof renderWorkspace>) => {
  const rendering = renderWorkspace(...args)
  assert.ok(rendering.ok, JSON.stringify(rendering))
  return rendering.workspace
}
const mainOf = (module: string, variables: Record<string, string>) =>
  workspaceOf(aTemplate(module), anApply({ variables })).files['main.tf']

describe('values in the parsed spec', () => {
  it('replaces ${key} inside a value, once, whatever the value looks like', () => {
    const { value } = resolveValues({ a: 'x-${k}-y', b: ['${k}'] }, { k: '${other} "q" \n %{y}', other: 'no' })
    assert.deepEqual(value, { a: 'x-${other} "q" \n %{y}-y', b: ['${other} "q" \n %{y}'] })
  })

  it('names what nobody defines and leaves expressions of Terraform alone', () => {
    const { value, unresolved } = resolveValues(['${nobody}', '${var.x}', '$${kept}'], {})
    assert.deepEqual(unresolved, ['nobody'])
    assert.deepEqual(value, ['${nobody}', '${var.x}', '${kept}'])
  })
})

describe('inline HCL', () => {
  it('turns ${key} of ours into a reference and declares its variable', () => {
    const { files, variables } = workspaceOf(
      aTemplate('output "x" { value = "a-${name}" }'),
      anApply({ variables: { name: 'demo' } }),
    )
    assert.equal(files['main.tf'], 'output "x" { value = "a-${var.capt_name}" }')
    assert.deepEqual(JSON.parse(files['capt_variables.tf.json']!), {
      variable: { capt_name: { type: 'string', nullable: false } },
    })
    assert.equal(variables.exact['capt_name'], 'demo')
  })

  for (const [what, text] of [
    ['a variable reference', 'value = "${var.name}"'],
    ['a for expression', 'value = { for k, v in var.m : k => "${k}-${v}" }'],
    ['each.key', 'value = "${each.key}"'],
    ['an escaped one', 'value = "$${name}"'],
    ['a comment', '# ${name}\nvalue = 1'],
  ] as const) {
    it(`leaves ${what} alone`, () => assert.equal(mainOf(text, { name: 'n', x: 'y' }), text))
  }

  it('reaches into expressions inside a template', () => {
    assert.equal(
      mainOf('value = "${join("-", ["${a}", "b"])}"', { a: '1' }),
      'value = "${join("-", ["${var.capt_a}", "b"])}"',
    )
  })

  it('quotes the value where Terraform takes no reference', () => {
    const module = [
      'module "m" {',
      '  source  = "./${dir}"',
      '  name    = "${dir}"',
      '}',
      'variable "v" { default = "${dir}" }',
      'resource "terraform_data" "${dir}" {',
      '  provisioner "local-exec" {',
      '    when    = destroy',
      '    command = "echo ${dir}"',
      '  }',
      '}',
      '',
    ].join('\n')
    const main = mainOf(module, { dir: 'a"b' })!
    assert.match(main, /source {2}= "\.\/a\\"b"/)
    assert.match(main, /name {4}= "\$\{var\.capt_dir\}"/)
    assert.match(main, /default = "a\\"b"/)
    assert.match(main, /"terraform_data" "a\\"b" \{/)
    assert.match(main, /command = "echo a\\"b"/)
  })

  it('accepts ${key} where an expression stands, as the older project did', () => {
    assert.equal(mainOf('count = ${n}', { n: '3' }), 'count = var.capt_n')
  })

  it('knows the workspace name', () => {
    const { files } = workspaceOf(
      aTemplate('value = "${WORKSPACE_NAME}"'),
      anApply({}, { name: 'demo-eks-controlplane-apply' }),
    )
    assert.equal(files['main.tf'], 'value = "${var.capt_WORKSPACE_NAME}"')
    assert.equal(workspaceNameOf('demo-vpc'), 'demo-vpc')
  })

  it('finds a heredoc that holds braces and quotes', () => {
    const text = 'x = <<-EOT\n  { "a": "${k}" %{ if true }yes%{ endif }\n  EOT\ny = "${k}"\n'
    const { holes } = scanHcl(text, (key) => key === 'k')
    assert.deepEqual(
      holes.map(({ place }) => place),
      ['heredoc', 'quoted'],
    )
  })

  it('survives text that is not HCL', () => {
    for (const text of ['"', '${', 'a = {', '}}}', '<<EOT', 'x = "${', 'é = "\\']) assert.equal(mainOf(text, {}), text)
  })
})

describe('inline JSON', () => {
  it('refers to values and keeps literal places literal', () => {
    const module = JSON.stringify({
      module: { m: { source: './${dir}', name: '${dir}' } },
      output: { o: { value: 'x-${dir}' } },
    })
    const { files } = workspaceOf(aTemplate(module, { inlineFormat: 'JSON' }), anApply({ variables: { dir: 'd' } }))
    assert.deepEqual(JSON.parse(files['main.tf.json']!), {
      module: { m: { source: './d', name: '${var.capt_dir}' } },
      output: { o: { value: 'x-${var.capt_dir}' } },
    })
  })
})

describe('a workspace', () => {
  it('cannot be rendered while a variable is missing, and the problem names it', () => {
    const template = aTemplate('', { vars: [{ key: 'name', value: '${vpc_name}' }] })
    const rendering = renderWorkspace(template, anApply())
    assert.ok(!rendering.ok)
    assert.equal(rendering.problems[0]!.reason, 'VariableUnresolved')
    assert.match(rendering.problems[0]!.message, /\$\{vpc_name\}/)
  })

  it('asks for the contents it needs and names those that are missing', () => {
    const template = aTemplate('', {
      varFiles: [{ source: 'SecretKey', format: 'HCL', secretKeyRef: { name: '${c}-vpc', key: 'vpc_config' } }],
      env: [
        { name: 'TF_VAR_token', secretKeyRef: { name: 's', key: 'k' } },
        { name: 'AWS_SECRET_ACCESS_KEY', secretKeyRef: { name: 'aws', key: 'k' } },
      ],
    })
    const apply = anApply({ variables: { c: 'demo' } })
    assert.deepEqual(
      workspaceSources(template, apply).map(({ name }) => name),
      ['demo-vpc', 's'],
    )
    const rendering = renderWorkspace(template, apply)
    assert.ok(!rendering.ok)
    assert.match(rendering.problems[0]!.message, /no key vpc_config in Secret default\/demo-vpc/)
    const workspace = workspaceOf(template, apply, () => 'content')
    assert.deepEqual(workspace.env, { TF_VAR_token: 'content' })
    assert.equal(workspace.secretEnv[0]!.ref.name, 'aws')
  })

  it('has a new hash when a variable, the module or a var file changes, and the same one otherwise', () => {
    const base = workspaceOf(aTemplate('a = 1'), anApply({ variables: { a: '1' } })).hash
    assert.equal(workspaceOf(aTemplate('a = 1'), anApply({ variables: { a: '1' } }, { uid: 'other' })).hash, base)
    assert.notEqual(workspaceOf(aTemplate('a = 1'), anApply({ variables: { a: '2' } })).hash, base)
    assert.notEqual(workspaceOf(aTemplate('a = 2'), anApply({ variables: { a: '1' } })).hash, base)
    const { spec, ...rest } = aTemplate('a = 1')
    const tool = { ...spec.template.spec, tool: { name: 'tofu' as const } }
    const withTool = { ...rest, spec: { template: { ...spec.template, spec: tool } } }
    assert.notEqual(workspaceOf(withTool, anApply({ variables: { a: '1' } })).hash, base)
  })

  it('takes the resources of its runs along, and needs no run when they change', () => {
    const { spec, ...rest } = aTemplate('a = 1')
    const resources = { limits: { memory: '4Gi' } }
    const larger = { ...rest, spec: { template: { ...spec.template, spec: { ...spec.template.spec, resources } } } }
    const workspace = workspaceOf(larger, anApply())
    assert.deepEqual(workspace.resources, resources)
    assert.equal(workspace.hash, workspaceOf(aTemplate('a = 1'), anApply()).hash)
  })
})

describe('Terraform variables', () => {
  const declared = declaredVariables({
    'main.tf': 'variable "a" {}\nvariable "l" {\n type = list(string)\n}\nvariable s { sensitive = true }\n',
    'more.tf.json': '{"variable":{"j":{"type":"map(string)"}}}',
  })

  it('are found in HCL and JSON', () => {
    assert.deepEqual([...declared.keys()].sort(), ['a', 'j', 'l', 's'])
    assert.equal(declared.get('s')!.sensitive, true)
  })

  it('receive typed values, the explicit ones first', () => {
    const variables = assembleVariables(
      {
        offered: { a: 'offered', undeclared: 'x' },
        given: { j: { k: 'v' } },
        texts: { l: '["x"]', a: '["stays text"]' },
        exact: { n: [1, 2] },
      },
      declared,
    )
    assert.deepEqual(variables, { a: '["stays text"]', j: { k: 'v' }, l: ['x'], n: [1, 2] })
  })
})
