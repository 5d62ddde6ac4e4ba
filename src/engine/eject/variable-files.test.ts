import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Json } from '#lib'
import type { Declared } from '../render/variables.ts'
import type { Workspace } from '../workspace.ts'
import { toVariableFiles } from './variable-files.ts'

type Given = Pick<Workspace, 'variables' | 'varFiles' | 'env' | 'secretValues'>

const nothing: Given = {
  variables: { offered: {}, given: {}, texts: {}, exact: {} },
  varFiles: [],
  env: {},
  secretValues: [],
}
const noArguments = { variables: {}, initVariables: {}, destroyVariables: {} }
const declare = (types: Readonly<Record<string, string>>, ...sensitive: string[]): ReadonlyMap<string, Declared> =>
  new Map(Object.entries(types).map(([name, type]) => [name, { type, sensitive: sensitive.includes(name) }]))
const contents = (files: readonly { readonly path: string; readonly text: string }[]) =>
  Object.fromEntries(files.map(({ path, text }) => [path, path.endsWith('.json') ? (JSON.parse(text) as Json) : text]))

describe('the variables of a workspace that is handed over', () => {
  const cases: readonly {
    readonly what: string
    readonly given: Partial<Given>
    readonly declared?: ReadonlyMap<string, Declared>
    readonly args?: Partial<typeof noArguments> & Readonly<Record<string, Readonly<Record<string, string>>>>
    readonly others?: boolean
    readonly files: Readonly<Record<string, unknown>>
    readonly environment?: Readonly<Record<string, string>>
    readonly secrets?: readonly (readonly [string, readonly string[]])[]
  }[] = [
    { what: 'need no file where there are none', given: {}, files: {} },
    {
      what: 'are one file, the strongest source first',
      given: {
        variables: {
          offered: { a: '1', b: '1', x: '1' },
          given: { b: 2, c: 2 },
          texts: { c: '3', d: '3' },
          exact: { d: 4 },
        },
      },
      declared: declare({ a: 'string', b: 'number', c: 'string', d: 'number' }),
      files: { 'terraform.tfvars.json': { a: '1', b: 2, c: '3', d: 4 } },
    },
    {
      what: 'of the environment are in it, unless something stronger gives them or nothing declares them',
      given: {
        variables: { offered: {}, given: { b: 'given' }, texts: {}, exact: {} },
        env: { TF_VAR_a: 'env', TF_VAR_b: 'env', TF_VAR_unknown: 'env', AWS_REGION: 'eu-west-1' },
      },
      declared: declare({ a: 'string', b: 'string' }),
      files: { 'terraform.tfvars.json': { a: 'env', b: 'given' } },
    },
    {
      what: 'of the environment are read as Terraform reads them, or stay there',
      given: { env: { TF_VAR_list: '["a"]', TF_VAR_map: '{a = 1}', TF_VAR_any: '"${x}"', TF_VAR_text: '["a"]' } },
      declared: declare({ list: 'list(string)', map: 'map(number)', any: 'any', text: '' }),
      files: { 'terraform.tfvars.json': { list: ['a'], text: '["a"]' } },
      environment: { TF_VAR_map: '{a = 1}', TF_VAR_any: '"${x}"' },
    },
    {
      what: 'in files of the template keep their order before all other values, and after those of the environment',
      given: {
        variables: { offered: {}, given: { a: 1 }, texts: {}, exact: {} },
        varFiles: [
          { format: 'HCL', content: 'a = 0' },
          { format: 'JSON', content: '{"b":1}' },
        ],
        env: { TF_VAR_b: '0' },
      },
      declared: declare({ a: 'number', b: 'number' }),
      files: {
        'terraform.tfvars.json': { b: '0' },
        'zz-capt-00.auto.tfvars': 'a = 0',
        'zz-capt-01.auto.tfvars.json': { b: 1 },
        'zz-capt-values.auto.tfvars.json': { a: 1 },
      },
    },
    {
      what: 'are read after the variable files of the module itself, which win over the environment',
      given: { variables: { offered: {}, given: { a: 1 }, texts: {}, exact: {} }, env: { TF_VAR_b: '0' } },
      declared: declare({ a: 'number', b: 'number' }),
      others: true,
      files: { 'zz-capt-values.auto.tfvars.json': { a: 1 } },
      environment: { TF_VAR_b: '0' },
    },
    {
      what: 'in arguments are values too, and those of init and destroy are apart',
      given: {},
      declared: declare({ list: 'list(number)' }),
      args: { variables: { list: '[1]' }, initVariables: { i: '1' }, destroyVariables: { d: '1' } },
      files: {
        'terraform.tfvars.json': { list: [1] },
        'init.tfvars.json': { i: '1' },
        'destroy.tfvars.json': { d: '1' },
      },
    },
    {
      what: 'with secret values are named: sensitive ones, those from Secrets, and whole files',
      given: {
        variables: { offered: {}, given: { password: 'x', name: 'n' }, texts: {}, exact: {} },
        env: { TF_VAR_token: 's3cret' },
        varFiles: [],
        secretValues: ['s3cret'],
      },
      declared: declare({ password: 'string', token: 'string', name: 'string' }, 'password'),
      files: { 'terraform.tfvars.json': { name: 'n', password: 'x', token: 's3cret' } },
      secrets: [['terraform.tfvars.json', ['password', 'token']]],
    },
    {
      what: 'in a file from a Secret are all secret',
      given: { varFiles: [{ format: 'HCL', content: 'a = "s3cret"' }], secretValues: ['a = "s3cret"'] },
      files: { 'zz-capt-00.auto.tfvars': 'a = "s3cret"' },
      secrets: [['zz-capt-00.auto.tfvars', ['all of it']]],
    },
  ]
  for (const { what, given, declared = new Map(), args = {}, others = false, ...expected } of cases)
    it(what, () => {
      const found = toVariableFiles({ ...nothing, ...given }, declared, { ...noArguments, ...args }, others)
      assert.deepEqual(contents(found.files), expected.files)
      assert.deepEqual(found.environment, expected.environment ?? {})
      assert.deepEqual([...found.secrets], expected.secrets ?? [])
    })
})
