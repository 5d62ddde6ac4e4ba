// Values are data: whatever is in them arrives in Terraform literally, wherever `${key}` stands. Real Terraform decides.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anApply, aTemplate } from '#testing'
import { findTerraform } from '../tool/find-terraform.ts'
import { renderWorkspace } from './render.ts'
import { assembleVariables, declaredVariables } from './variables.ts'

const terraform = await findTerraform().then(
  ({ binary }) => binary,
  () => undefined,
)

const AWKWARD = [
  '"',
  '\n',
  '${x}',
  '%{y}',
  '$${z}',
  '%%{w}',
  '\\',
  '\\n',
  '$',
  '%',
  '{',
  '}',
  'EOT',
  '\t',
  "'",
  'é',
  '😀',
  '\u2028',
]
const value = fc
  .array(fc.oneof(fc.constantFrom(...AWKWARD), fc.string({ maxLength: 4 })), { maxLength: 6 })
  .map((parts) =>
    // Terraform normalizes Unicode and drops NUL; that is its own business.
    parts.join('').replaceAll('\u0000', '').normalize('NFC'),
  )

const outputsOf = (files: Readonly<Record<string, string>>, values: unknown): Record<string, unknown> => {
  const folder = mkdtempSync(join(tmpdir(), 'capt-literal-'))
  const env = { ...process.env, CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1' }
  const run = (...args: string[]) =>
    execFileSync(terraform!, args, { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' })
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    writeFileSync(join(folder, 'values.json.tfvars.json'), JSON.stringify(values))
    run('init', '-input=false')
    run('apply', '-auto-approve', '-input=false', '-var-file=values.json.tfvars.json')
    const parsed = JSON.parse(run('output', '-json')) as Record<string, { value: unknown }>
    return Object.fromEntries(Object.entries(parsed).map(([name, output]) => [name, output.value]))
  } catch (error) {
    throw new Error(String((error as { stderr?: string }).stderr ?? error))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (terraform !== undefined) {
  describe('a value in Terraform', () => {
    it('is the same text in quotes, in a heredoc, as a default, as a variable and bare', () => {
      const values = fc.sample(value, 24)
      const variables = Object.fromEntries(values.map((text, i) => [`k${i}`, text]))
      const module = values
        .map(
          (_, i) => `
output "quoted${i}" { value = "\${k${i}}" }
output "nested${i}" { value = join("|", ["\${k${i}}", "b"]) }
output "bare${i}" { value = \${k${i}} }
output "heredoc${i}" {
  value = <<EOT
<\${k${i}}>
EOT
}
variable "d${i}" { default = "\${k${i}}" }
output "default${i}" { value = var.d${i} }
variable "k${i}" {}
output "variable${i}" { value = var.k${i} }
`,
        )
        .join('')
      const rendering = renderWorkspace(aTemplate(module), anApply({ variables }))
      assert.ok(rendering.ok)
      const { files, variables: given } = rendering.workspace
      const outputs = outputsOf(files, assembleVariables(given, declaredVariables(files)))
      for (const [i, text] of values.entries()) {
        const seen = ['quoted', 'nested', 'bare', 'heredoc', 'default', 'variable'].map(
          (place) => outputs[`${place}${i}`],
        )
        assert.deepEqual(seen, [text, `${text}|b`, text, `<${text}>\n`, text, text], JSON.stringify(text))
      }
    })

    it('is the same text in Terraform JSON', () => {
      const values = fc.sample(value, 24)
      const variables = Object.fromEntries(values.map((text, i) => [`k${i}`, text]))
      const module = JSON.stringify({
        variable: Object.fromEntries(values.map((_, i) => [`d${i}`, { default: `\${k${i}}` }])),
        output: Object.fromEntries(
          values.flatMap((_, i) => [
            [`quoted${i}`, { value: `a\${k${i}}` }],
            [`default${i}`, { value: `\${var.d${i}}` }],
          ]),
        ),
      })
      const rendering = renderWorkspace(aTemplate(module, { inlineFormat: 'JSON' }), anApply({ variables }))
      assert.ok(rendering.ok)
      const { files, variables: given } = rendering.workspace
      const outputs = outputsOf(files, assembleVariables(given, declaredVariables(files)))
      for (const [i, text] of values.entries()) {
        assert.deepEqual([outputs[`quoted${i}`], outputs[`default${i}`]], [`a${text}`, text], JSON.stringify(text))
      }
    })
  })
}
