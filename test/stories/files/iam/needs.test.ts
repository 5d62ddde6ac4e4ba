// The permissions that capt documents: held to the templates, to the calls in the code, and to the generated policies.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { moduleText, TEMPLATES } from '../../../../scripts/template-modules.ts'
import { NEEDED_POLICIES, neededActions, neededPolicy, TYPE_NEEDS } from '../../../../src/catalog/iam/needs/needs.ts'
import { KARPENTER_CALLS, MANAGER_CALLS } from '../../../../src/catalog/iam/needs/own-calls.ts'
import { MODULE_TYPES, TEMPLATE_TYPES } from '../../../../src/catalog/iam/needs/templates.ts'
import { sizeOf } from '../../../../src/catalog/iam/policies.ts'
import { scanHcl } from '../../../../src/engine/render/hcl.ts'

/** Of IAM, in characters without whitespace. */
const MANAGED_POLICY_LIMIT = 6_144
const root = join(import.meta.dirname, '../../../..')
const folders = Object.values(TEMPLATES)
  .filter(({ tags }) => tags.cloud === 'aws')
  .map(({ folder }) => folder)
const known = new Set(TYPE_NEEDS.map(({ of }) => of))
const sorted = (texts: Iterable<string>): readonly string[] => [...new Set(texts)].sort()

function usedBy(folder: string): { types: readonly string[]; modules: readonly string[] } {
  const { blocks } = scanHcl(moduleText(folder))
  const unquoted = (text = '') => text.replace(/^"|"$/g, '')
  return {
    types: sorted(
      blocks
        .filter(({ type, labels }) => (type === 'resource' || type === 'data') && labels[0]!.startsWith('aws_'))
        .map(({ type, labels }) => (type === 'data' ? `data.${labels[0]}` : labels[0]!)),
    ),
    modules: sorted(
      blocks
        .filter(({ type }) => type === 'module')
        .map(({ attributes }) => `${unquoted(attributes['source'])} ${unquoted(attributes['version'])}`),
    ),
  }
}

describe('The table of needed permissions', () => {
  for (const folder of folders)
    it(`knows every AWS type and module of the template ${folder}`, () => {
      const listed = TEMPLATE_TYPES[folder] ?? assert.fail(`templates/${folder} is not in TEMPLATE_TYPES`)
      const used = usedBy(folder)
      assert.deepEqual({ types: sorted(listed.types), modules: sorted(listed.modules) }, used)
      assert.deepEqual(
        used.modules.filter((module) => !Object.hasOwn(MODULE_TYPES, module)),
        [],
        'a module of another version may make other resources: list them in MODULE_TYPES',
      )
      const types = [...used.types, ...used.modules.flatMap((module) => MODULE_TYPES[module]!)]
      assert.deepEqual(
        types.filter((type) => !known.has(type)),
        [],
        'types without a row',
      )
    })

  it('has no row that no template and no module uses', () => {
    const used = new Set([
      ...Object.values(TEMPLATE_TYPES).flatMap(({ types }) => types),
      ...Object.values(MODULE_TYPES).flat(),
    ])
    assert.deepEqual(
      [...known].filter((type) => !used.has(type)),
      [],
    )
  })

  it('gives a reason for every row, and names actions without wildcards', () => {
    for (const { of, actions, reason } of [...TYPE_NEEDS, ...MANAGER_CALLS, ...KARPENTER_CALLS]) {
      assert.match(reason, /\w{3}/, of)
      for (const action of actions) assert.match(action, /^[a-z][a-z0-9]+:[A-Z][A-Za-z]+$/, of)
    }
  })

  it('has every operation that capt itself asks AWS for', () => {
    const operations = new Set(
      [...MANAGER_CALLS, ...KARPENTER_CALLS].flatMap(({ actions }) => actions.map((action) => action.split(':')[1])),
    )
    /** Anyone may make them, or the role to assume is the reader's own. */
    const unneeded = new Set(['GetCallerIdentity', 'AssumeRole'])
    const verbs =
      'Add|Attach|Create|Delete|Describe|Detach|Get|List|Put|Remove|Revoke|Set|Simulate|Terminate|Update|Assume'
    const asked = ['src/aws', 'src/aws/account', 'src/karpenter/install'].flatMap((folder) =>
      readdirSync(join(root, folder))
        .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
        .flatMap((name) => readFileSync(join(root, folder, name), 'utf8').split('\n'))
        .filter((line) => !/textAt\(|nodesAt\(/.test(line) || /query\(|eks\(|json\(|call\(/.test(line))
        .flatMap((line) => [...line.matchAll(new RegExp(`'((?:${verbs})[A-Z][A-Za-z]+)'`, 'g'))])
        .map(([, operation]) => operation!)
        .filter((operation) => !/Result$|Document$/.test(operation)),
    )
    assert.ok(asked.length > 40, 'calls are found at all')
    assert.deepEqual(
      sorted(asked).filter((operation) => !operations.has(operation) && !unneeded.has(operation)),
      [],
    )
  })

  it('lets no policy be attached to a role but those of the templates', () => {
    const attaching = neededActions(['cluster', 'node-groups', 'machines']).filter(({ actions }) =>
      actions.includes('iam:AttachRolePolicy'),
    )
    assert.equal(attaching.length, 1)
    const { 'iam:PolicyARN': allowed } = attaching[0]!.condition!['ArnLike']! as { 'iam:PolicyARN': readonly string[] }
    const attached = folders.flatMap((folder) => [...moduleText(folder).matchAll(/"(Amazon(?:EKS|EC2|SSM)\w+)"/g)])
    for (const [, name] of attached)
      if (name !== 'AmazonEKSClusterAdminPolicy') assert.ok(allowed.includes(`arn:*:iam::aws:policy/${name}`), name)
  })

  it('restricts roles that are passed, and service-linked roles, to services', () => {
    for (const { name } of NEEDED_POLICIES)
      for (const { actions, condition } of neededActions([name]))
        if (actions.some((action) => /^iam:(PassRole|CreateServiceLinkedRole)$/.test(action)))
          assert.ok(condition, `${name}: ${actions}`)
  })
})

describe('The policies in config/iam', () => {
  for (const { name } of NEEDED_POLICIES)
    it(`${name}.json is up to date and fits a managed policy`, () => {
      const path = join(root, 'config/iam', `${name}.json`)
      assert.ok(existsSync(path), 'run npm run generate')
      const document = JSON.parse(readFileSync(path, 'utf8')) as ReturnType<typeof neededPolicy>
      assert.deepEqual(document, JSON.parse(JSON.stringify(neededPolicy(name))))
      assert.ok(sizeOf(document as never) <= MANAGED_POLICY_LIMIT, `${sizeOf(document as never)} characters`)
    })
})
