// What a cluster administrator does first, on a real API server with core Cluster API: install, look fields up, apply
// what the pages show, and be refused with words that help.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ALL_KINDS, compileSchema, crdName, type JsonSchema, type Kind, WorkspaceTemplate } from '#api'
import { type Client, createClient, loadKubeconfig } from '#kube'
import { type Json, type JsonObject, systemClock } from '#lib'
import { releaseFiles } from '../../../scripts/release-files.ts'
import { matches } from '../../../src/api/schema/build.ts'
import { type Capi, type Kube, startCapi, startKube, until } from '../support/lab.ts'
import { manifestBlocks } from '../support/manifest-blocks.ts'
import { prove } from '../support/proofs.ts'
import { RULE_CASES } from '../support/schema/rule-cases.ts'

const root = join(import.meta.dirname, '../../..')
const CAPI = 'v1.14.2'
const files = releaseFiles({ version: '9.9.9' })

let kube: Kube
let capi: Capi
let client: Client
const folder = mkdtempSync(join(tmpdir(), 'capt-real-install-'))

before(async () => {
  kube = await startKube({ name: 'install' })
  capi = await startCapi(kube, CAPI)
  client = createClient(await loadKubeconfig({ path: kube.kubeconfig, clock: systemClock }), { clock: systemClock })
})
after(async () => {
  client?.close()
  await capi?.stop()
  await kube?.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Said {
  readonly status: number | null
  readonly out: string
  readonly complaints: string
}

function kubectl(args: readonly string[], input?: string): Said {
  const { status, stdout, stderr } = spawnSync('kubectl', [`--kubeconfig=${kube.kubeconfig}`, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    ...(input === undefined ? {} : { input }),
  })
  return { status, out: stdout, complaints: stderr }
}

/** Applied without a word of warning. */
function apply(text: string, ...more: readonly string[]): string {
  const file = join(folder, 'manifest.yaml')
  writeFileSync(file, text)
  const { status, out, complaints } = kubectl(['apply', '--server-side', ...more, '-f', file])
  assert.equal(complaints, '')
  assert.equal(status, 0)
  return out
}

describe('on a real API server', () => {
  it('install.yaml applies without a warning, and every kind is established', () => {
    apply(files.get('install.yaml')!)
    const names = ALL_KINDS.map((kind) => `crd/${crdName(kind)}`)
    assert.equal(kubectl(['wait', '--for=condition=Established', '--timeout=240s', ...names]).status, 0)
    const crds = JSON.parse(kubectl(['get', '-o', 'json', ...names]).out) as {
      items: {
        metadata: { name: string }
        status: { conditions: { type: string; status: string; message: string }[] }
      }[]
    }
    for (const { metadata, status } of crds.items) {
      const bad = status.conditions.filter(({ type, status }) => type === 'NonStructuralSchema' && status === 'True')
      assert.deepEqual(bad, [], metadata.name)
    }
    prove('kube-apiserver', 'v1.33.13', 'install.yaml applies without a warning', `${ALL_KINDS.length} kinds`)
  })

  it('installing again changes nothing', async () => {
    const account = ['get', 'serviceaccount', 'default', '-n', 'capt-system']
    await until('the server has furnished the namespace', () => kubectl(account).status === 0)
    const before = kubectl(['get', 'deploy,sa,role,rolebinding,svc,netpol', '-n', 'capt-system', '-o', 'json']).out
    apply(files.get('install.yaml')!)
    const after = kubectl(['get', 'deploy,sa,role,rolebinding,svc,netpol', '-n', 'capt-system', '-o', 'json']).out
    assert.equal(after, before)
  })

  for (const name of ['install-local-engine.yaml', 'install-namespaced.yaml', 'crds.yaml', 'templates.yaml'])
    it(`${name} is accepted as a change of what is there`, () => {
      // Roles cannot turn into ClusterRoles: the namespaced install is tried on its own names beside the other.
      apply(files.get(name)!, '--dry-run=server', '--force-conflicts')
    })

  for (const name of ['infrastructure-components.yaml', 'control-plane-components.yaml'])
    it(`${name} is accepted once clusterctl has filled it in`, () => {
      const filled = files.get(name)!.replace(/(?<!\$)\$\{[A-Z_]+:=([^}]*)\}/g, '$1')
      const own = /^kind: Namespace\nmetadata:\n {2}name: (\S+)/m.exec(filled)![1]!
      // install.yaml is there already, with a Deployment of the same name: clusterctl installs instead of it, not over it.
      const namespace = `${own}-beside`
      const text = filled.replace(new RegExp(`\\b${own}\\b(?!-)`, 'g'), namespace)
      kubectl(['create', 'namespace', namespace])
      apply(text, '--dry-run=server', '--force-conflicts')
    })

  it('people who may view, edit or administer may do so with our kinds', async () => {
    const reviewed = (role: string, verb: string, kind: Kind) =>
      kubectl(['auth', 'can-i', verb, crdName(kind), '--as', `${role}-person`, '-n', 'default']).out.trim()
    for (const role of ['view', 'edit', 'admin'])
      kubectl([
        'create',
        'rolebinding',
        `${role}-person`,
        `--clusterrole=${role}`,
        `--user=${role}-person`,
        '-n',
        'default',
      ])
    // The aggregation controller fills the roles in a moment, one after the other.
    const writable = ALL_KINDS.filter((kind) => kind !== WorkspaceTemplate)
    for (const [role, verb, kinds] of [
      ['view', 'list', ALL_KINDS],
      ['edit', 'create', writable],
      ['admin', 'delete', writable],
    ] as const)
      for (const kind of kinds)
        await until(`${role} may ${verb} ${kind.plural}`, () => reviewed(role, verb, kind) === 'yes')
    for (const kind of ALL_KINDS) assert.equal(reviewed('view', 'create', kind), 'no', kind.kind)
    // A template is code that runs with the identity of the run: that right is given by hand.
    for (const role of ['edit', 'admin']) assert.equal(reviewed(role, 'create', WorkspaceTemplate), 'no', role)
  })

  for (const kind of ALL_KINDS)
    it(`kubectl explain knows every field of ${kind.kind}`, async () => {
      let schema: (JsonSchema & Marked) | undefined
      // The server publishes a schema some time after it has established the kind.
      await until('the schema is published', async () => {
        const { text } = await client.raw(`/openapi/v3/apis/${kind.apiVersion}`)
        const { components } = JSON.parse(text) as { components?: { schemas: Record<string, JsonSchema & Marked> } }
        schema = Object.values(components?.schemas ?? {}).find((one) =>
          one['x-kubernetes-group-version-kind']?.some((gvk) => gvk.kind === kind.kind),
        )
        return schema !== undefined
      })
      assert.deepEqual(unexplained(schema!), [])
      const { status, out } = kubectl(['explain', `${kind.plural}.spec`, `--api-version=${kind.apiVersion}`])
      assert.equal(status, 0)
      assert.match(out, /DESCRIPTION:\n {4}\S/)
    })
})

interface Marked {
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly kind: string }[]
}

/** Paths of fields without a description. Metadata is the server's own. */
function unexplained(schema: JsonSchema, path = ''): string[] {
  const fields = Object.entries(schema.properties ?? {}).filter(([name]) => path !== '' || name !== 'metadata')
  const nested = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : schema.items
  return [
    ...fields.flatMap(([name, field]) => [
      ...(field.description ? [] : [`${path}.${name}`]),
      ...unexplained(field, `${path}.${name}`),
    ]),
    ...(nested ? unexplained(nested, `${path}[]`) : []),
  ]
}

/** Files for a program, not objects for a server. */
const NOT_FOR_A_SERVER = ['kustomize.config.k8s.io', 'clusterctl.cluster.x-k8s.io', 'client.authentication.k8s.io']

/** Shown because it does not work: no server takes it, and capt says why. */
const WRONG_ON_PURPOSE = ['examples/addons-older-proposals.yaml:1']

describe('what people copy', () => {
  const isRefused = ({ at }: { readonly at: string }) => WRONG_ON_PURPOSE.includes(at)
  const all = manifestBlocks(root)
  const blocks = all.filter(
    (block) =>
      !isRefused(block) &&
      !block.objects.some(({ apiVersion }) => NOT_FOR_A_SERVER.includes(apiVersion.split('/')[0]!)),
  )
  for (const { at, text } of all.filter(isRefused))
    it(`${at} is refused, as it says`, () => {
      const file = join(folder, 'refused.yaml')
      writeFileSync(file, text)
      assert.notEqual(kubectl(['apply', '--server-side', '--dry-run=server', '-f', file]).status, 0)
    })
  for (const { at, text, objects } of blocks)
    it(`${at} is accepted (${objects.map(({ kind }) => kind).join(', ')})`, () => {
      const namespaces = new Set(objects.map((object) => namespaceOf(object)))
      for (const namespace of namespaces) if (namespace) kubectl(['create', 'namespace', namespace])
      const file = join(folder, 'block.yaml')
      writeFileSync(file, text)
      const { status, complaints } = kubectl(['apply', '--server-side', '--dry-run=server', '-f', file])
      assert.equal(status, 0, complaints)
    })

  it('is something at all', () => {
    assert.ok(blocks.length >= 2)
    prove(
      'kube-apiserver',
      'v1.33.13',
      `examples and YAML of the pages accepted, with core ${CAPI}`,
      `${blocks.length} files and blocks`,
    )
  })
})

function namespaceOf(object: object): string | undefined {
  return (object as { metadata?: { namespace?: string } }).metadata?.namespace
}

interface Verdict {
  readonly refusals?: readonly string[]
  readonly spec?: Json
}

describe('every rule of our kinds', () => {
  /** Without the words of patterns, which src/api/patterns.test.ts and schema-engine.test.ts try. */
  const rulesOf = (schema: JsonSchema, path = ''): string[] => [
    ...(schema['x-kubernetes-validations'] ?? [])
      .filter(({ rule }) => schema.pattern === undefined || rule !== matches(schema.pattern))
      .map(({ message }) => `${path}: ${message}`),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => rulesOf(field, `${path}.${name}`)),
    ...(schema.items ? rulesOf(schema.items, `${path}[]`) : []),
    ...(typeof schema.additionalProperties === 'object' ? rulesOf(schema.additionalProperties, `${path}{}`) : []),
  ]
  let tried = 0

  for (const kind of ALL_KINDS) {
    const collection = `/apis/${kind.apiVersion}/namespaces/default/${kind.plural}`
    const base = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: 'sample', namespace: 'default' } }

    const send = async (method: string, path: string, object: object): Promise<Verdict> => {
      const headers = { 'content-type': 'application/json' }
      const { status, text } = await client.raw(path, { method, body: JSON.stringify(object), headers })
      const body = JSON.parse(text) as JsonObject
      if (status < 300) return { spec: body['spec'] ?? null }
      const { causes } = (body['details'] ?? {}) as { causes?: { field: string; message: string }[] }
      assert.ok(status === 422 && causes, `${status} ${body['message']}`)
      return { refusals: causes.map(({ field, message }) => `${field}: ${message}`).sort() }
    }
    const ours = (object: Json, old?: Json): Verdict => {
      const engine = compileSchema(kind.schema)
      const admit = (value: Json) => engine.prune(engine.applyDefaults(value)).value
      const faults = engine.validate(admit(object), old === undefined ? undefined : admit(old))
      if (faults.length > 0) return { refusals: faults.map(({ message }) => message).sort() }
      return { spec: (admit(object) as JsonObject)['spec'] ?? null }
    }

    it(`${kind.kind}: has a case`, () => {
      const cases = (RULE_CASES[kind.kind] ?? []).map(({ rule }) => rule)
      assert.deepEqual(cases.toSorted(), [...new Set(rulesOf(kind.schema))].toSorted())
    })

    for (const { rule, breaks, keeps, before: stored, breaksAs } of RULE_CASES[kind.kind] ?? [])
      it(`${kind.kind} ${rule}`, async () => {
        const words = rule.slice(rule.indexOf(': ') + 2)
        const says = (verdict: Verdict) => verdict.refusals?.some((line) => line.includes(words)) === true
        let old: JsonObject | undefined
        if (stored) {
          await client.raw(`${collection}/sample`, { method: 'DELETE' })
          const made = await client.raw(collection, {
            method: 'POST',
            body: JSON.stringify({ ...base, spec: stored }),
            headers: { 'content-type': 'application/json' },
          })
          assert.equal(made.status, 201, made.text)
          old = JSON.parse(made.text) as JsonObject
        }
        const check = async (spec: JsonObject, name = 'sample') => {
          const fresh = { ...base, metadata: { ...base.metadata, name } }
          const object = { ...(old ?? fresh), spec } as JsonObject
          const theirs = old
            ? await send('PUT', `${collection}/sample?dryRun=All`, object)
            : await send('POST', `${collection}?dryRun=All`, object)
          assert.deepEqual(ours(object, old), theirs, 'our engine and the server disagree')
          return theirs
        }
        try {
          assert.ok(says(await check(breaks, breaksAs)), 'the server refuses with the words of the rule')
          assert.equal((await check(keeps)).refusals, undefined, 'and accepts what keeps it')
          tried++
        } finally {
          if (stored) await client.raw(`${collection}/sample`, { method: 'DELETE' })
        }
      })
  }

  it('was refused and accepted as our engine does', () => {
    assert.equal(tried, Object.values(RULE_CASES).flat().length)
    prove('kube-apiserver', 'v1.33.13', 'every CEL rule refuses and accepts as our engine does', `${tried} rules`)
  })
})
