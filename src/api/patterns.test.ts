import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkObject } from './check-object.ts'
import { ALL_KINDS, CAPTMachine, CAPTMachinePool } from './kinds/index.ts'
import type { JsonSchema } from './schema/build.ts'
import { compileSchema } from './schema/compile.ts'

interface Found {
  readonly path: string
  readonly schema: JsonSchema
}

function patternsIn(schema: JsonSchema, path: string): readonly Found[] {
  const { properties = {}, items, additionalProperties: more } = schema
  return [
    ...(schema.pattern === undefined ? [] : [{ path, schema }]),
    ...Object.entries(properties).flatMap(([name, field]) => patternsIn(field, `${path}.${name}`)),
    ...(items ? patternsIn(items, `${path}[]`) : []),
    ...(typeof more === 'object' ? patternsIn(more, `${path}{}`) : []),
  ]
}

describe('a pattern in the spec of a kind', () => {
  const all = ALL_KINDS.flatMap(({ kind, spec }) => patternsIn(spec.schema, kind))

  it('is found in most kinds', () => {
    assert.ok(new Set(all.map(({ path }) => path.split(/[.[]/)[0])).size > 10, `${all.length} patterns`)
  })

  for (const { path, schema } of all)
    it(`${path} is explained with an example that it takes`, () => {
      const rules = schema['x-kubernetes-validations'] ?? []
      const examples = rules.flatMap(({ message = '' }) => /^must be .+, such as (\S.*)$/.exec(message)?.[1] ?? [])
      assert.equal(examples.length, 1, JSON.stringify(rules))
      const { validate } = compileSchema({ type: 'object', properties: { it: schema } })
      assert.deepEqual(validate({ it: examples[0]! }), [])
      const wrong = ' \u0007 ! '.padEnd(schema.minLength ?? 0)
      const said = validate({ it: wrong }).map(({ message }) => message)
      // The bare pattern first, then the words: the two agree on what is refused.
      assert.match(said.join(' '), /should match.*must be .+, such as /)
    })
})

describe('a value that does not match the pattern of its field', () => {
  const machine = (instanceType: string) => ({
    apiVersion: CAPTMachine.apiVersion,
    kind: CAPTMachine.kind,
    metadata: { name: 'one' },
    spec: { workspaceTemplateRef: { name: 'machine' }, nodeGroupRef: { name: 'workers' }, instanceType },
  })
  const faultsOf = (instanceType: string) => checkObject(CAPTMachine, machine(instanceType)).faults

  it('is refused with the field, the reason in words and an example, and no regular expression', () => {
    assert.deepEqual(faultsOf('M7i.large'), [
      {
        path: 'spec.instanceType',
        message:
          '"M7i.large" must be an EC2 instance type, a family and a size with a dot between them, such as m7i.large',
      },
    ])
    assert.deepEqual(faultsOf('m7i.large'), [])
  })

  it('is refused once for each item of a list', () => {
    const spec = { instanceTypes: ['m7i.large', 'big', 'small'] }
    const pool = { ...machine(''), kind: CAPTMachinePool.kind, spec }
    const { faults } = checkObject(CAPTMachinePool, pool)
    assert.deepEqual(
      faults.filter(({ path }) => path.includes('[')).map(({ path, message }) => `${path} ${message.split(',')[0]}`),
      [
        'spec.instanceTypes[1] "big" must be an EC2 instance type',
        'spec.instanceTypes[2] "small" must be an EC2 instance type',
      ],
    )
  })
})
