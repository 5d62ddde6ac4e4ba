import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newRecord } from '../record/record.ts'
import { checkTool } from '../runner/check-tool.ts'
import type { RunContext } from '../runner/context.ts'
import type { Resolved } from '../runner/values.ts'
import { chooseTool, refuseState, toolFor } from './choose-tool.ts'
import { isSatisfied } from './constraint.ts'
import type { Tool, ToolRequest } from './find-terraform.ts'

const terraform: Tool = { name: 'terraform', binary: '/bin/terraform', version: '1.11.4' }
const tofu: Tool = { name: 'tofu', binary: '/bin/tofu', version: '1.10.6' }

describe('A version constraint', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['1.11.4', '1.11.4', true],
    ['= 1.11', '1.11.4', false],
    ['!= 1.11.4', '1.11.4', false],
    ['~> 1.11.0', '1.11.9', true],
    ['~> 1.11.0', '1.12.0', false],
    ['~> 1.9', '1.12.0', true],
    ['~> 1.9', '2.0.0', false],
    ['~> 1', '1.99.0', true],
    ['>= 1.9, < 1.11', '1.10.6', true],
    ['>=1.9,<1.11', '1.11.0', false],
    ['> 1.11.4', '1.11.4', false],
    ['<= 1.11.4', '1.11.4', true],
    ['latest', '1.11.4', false],
    ['', '1.11.4', false],
  ]
  for (const [constraint, version, expected] of cases)
    it(`${JSON.stringify(constraint)} ${expected ? 'accepts' : 'refuses'} ${version}`, () =>
      assert.equal(isSatisfied(constraint, version), expected))
})

describe('The program of a run', () => {
  interface Case {
    readonly name: string
    readonly installed?: readonly Tool[]
    readonly wanted?: ToolRequest
    readonly last?: string
    readonly expected: Tool | string
  }
  const cases: readonly Case[] = [
    { name: 'is the default when nothing says otherwise', expected: terraform },
    { name: 'is the one that the template names', wanted: { name: 'tofu' }, expected: tofu },
    { name: 'is the one that wrote the state', last: 'tofu 1.10.6', expected: tofu },
    { name: 'may be changed by the template', wanted: { name: 'terraform' }, last: 'tofu 1.10.6', expected: terraform },
    { name: 'is the default after a simulation', last: 'simulated', expected: terraform },
    {
      name: 'is refused when missing',
      installed: [terraform],
      wanted: { name: 'tofu' },
      expected: 'CAPT_TOOL_MISSING',
    },
    {
      name: 'is refused when the one that wrote the state is missing',
      installed: [terraform],
      last: 'tofu 1.10.6',
      expected: 'CAPT_TOOL_MISSING',
    },
    { name: 'is refused in another version', wanted: { version: '~> 1.12' }, expected: 'CAPT_TOOL_VERSION' },
    {
      name: 'is checked in the version of the program that is named',
      wanted: { name: 'tofu', version: '~> 1.10.0' },
      expected: tofu,
    },
  ]
  for (const { name, installed = [terraform, tofu], wanted, last, expected } of cases)
    it(name, () => {
      const choice = chooseTool(installed, wanted, last)
      assert.deepEqual(choice.ok ? choice.tool : choice.refusal.code, expected)
    })

  it('of a destroy is the one of the last apply, whatever the template asks for by now', () => {
    const bundle = { id: 'b', parts: 1, bytes: 1, hash: 'h', tool: 'terraform 1.11.4' }
    const workspace = { tool: { name: 'tofu', version: '~> 1.12' } } as const
    const nameOf = (verb: 'apply' | 'destroy', record?: { bundle?: typeof bundle }) => {
      const choice = toolFor([terraform, tofu], { verb, workspace }, record?.bundle?.tool)
      return choice.ok ? choice.tool.name : choice.refusal.code
    }
    assert.equal(nameOf('destroy', { bundle }), 'terraform')
    assert.equal(nameOf('destroy', {}), 'CAPT_TOOL_VERSION', 'without frozen inputs the template is used')
    assert.equal(nameOf('apply', { bundle }), 'CAPT_TOOL_VERSION')
  })

  it('never writes a state that a newer version of it wrote', () => {
    const codeOf = (version: string | undefined, last?: string) => refuseState(terraform, version, last)?.code
    assert.equal(codeOf('1.11.5'), 'CAPT_TOOL_OLDER_THAN_STATE')
    assert.equal(codeOf('1.12.0', 'terraform 1.12.0'), 'CAPT_TOOL_OLDER_THAN_STATE')
    assert.equal(codeOf('1.11.4', 'terraform 1.11.4'), undefined)
    assert.equal(codeOf('1.9.0'), undefined)
    assert.equal(codeOf('1.12.0', 'tofu 1.12.0'), undefined, 'their numbers cannot be compared')
    assert.equal(codeOf('simulated'), undefined)
    assert.equal(codeOf(undefined), undefined)
  })

  it('is checked by the runner too, before Terraform starts', () => {
    const context = { request: { tool: terraform }, writer: { record: newRecord('w') } } as unknown as RunContext
    const check = (tool: ToolRequest | undefined, toolVersion: string) =>
      checkTool(context, { inputs: { workspace: { tool } }, state: { info: { toolVersion } } } as unknown as Resolved)
    assert.throws(() => check(undefined, '1.12.0'), { code: 'CAPT_TOOL_OLDER_THAN_STATE', kind: 'user' })
    assert.throws(() => check({ version: '< 1.11' }, '1.9.0'), { code: 'CAPT_TOOL_VERSION', kind: 'user' })
    assert.throws(() => check({ name: 'tofu' }, '1.9.0'), { code: 'CAPT_TOOL_MISSING', kind: 'user' })
    assert.doesNotThrow(() => check({ name: 'terraform', version: '~> 1.11.0' }, '1.11.4'))
  })

  it('is the one that wrote the state, or the runner stops before it starts another', () => {
    const bundle = { id: 'b', parts: 1, bytes: 1, hash: 'h', tool: 'tofu 1.10.6' }
    const check = (wanted: ToolRequest | undefined, more: { record?: object; lastTool?: string }) => {
      const record = { ...newRecord('w'), ...more.record }
      const request = { tool: terraform, ...(more.lastTool ? { lastTool: more.lastTool } : {}) }
      return checkTool(
        { request, writer: { record } } as unknown as RunContext,
        { inputs: { workspace: { tool: wanted } }, state: {} } as unknown as Resolved,
      )
    }
    const missing = { code: 'CAPT_TOOL_MISSING', message: /state was last written by tofu/ }
    assert.throws(() => check(undefined, { record: { bundle } }), missing)
    assert.throws(() => check({ version: '>= 1.0' }, { lastTool: 'tofu 1.10.6' }), missing, 'of its target')
    assert.doesNotThrow(() => check({ name: 'terraform' }, { record: { bundle } }), 'the template decides')
  })
})
