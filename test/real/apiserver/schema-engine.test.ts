// Our schema engine against a real kube-apiserver: the same objects, the same answers, in the same words.
// Needs CAPT_REAL_KUBECONFIG: a kubeconfig of a throw-away server.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { ALL_KINDS, compileSchema, type JsonSchema, schemaFaults, toCustomResourceDefinition } from '#api'
import type { Json } from '#lib'
import { damaged, fitting, spoil } from '#testing'
import { type Answer, openServer, type Server } from '../support/kube-request.ts'
import { until, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'
import { AWKWARD, HAND_MADE, SCHEMAS } from '../support/schema/awkward-schemas.ts'

const GROUP = 'awkward.capt.test'
const RUNS = Number(process.env['CAPT_REAL_RUNS'] ?? 150)
const SEED = Number(process.env['CAPT_REAL_SEED'] ?? 20260101)
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

let server: Server
/** Definitions that were not there before, to be taken away again. */
const installed = new Set<string>()
let compared = 0

before(() => {
  const path = process.env['CAPT_REAL_KUBECONFIG']
  assert.ok(path, 'set CAPT_REAL_KUBECONFIG to the kubeconfig of a throw-away API server')
  server = openServer(path)
})
after(async () => {
  for (const name of installed) await server.call('DELETE', `${CRDS}/${name}`)
  if (compared > 0)
    prove(
      'kube-apiserver',
      VERSIONS.kube,
      'same verdict, words and stored object as our schema engine',
      `${compared} objects`,
    )
  server?.close()
})

interface Target {
  readonly apiVersion: string
  readonly kind: string
  readonly path: string
  readonly schema: JsonSchema
}

const wrap = (spec: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' }, spec },
})

const kindOf = (plural: string) => plural[0]!.toUpperCase() + plural.slice(1)

function definition(plural: string, schema: JsonSchema) {
  const kind = kindOf(plural)
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: `${plural}one` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  }
}

async function install(plural: string, spec: JsonSchema): Promise<Target> {
  const kind = kindOf(plural)
  const schema = wrap(spec)
  const path = `/apis/${GROUP}/v1/namespaces/default/${plural}`
  // The server applies a changed schema later: a field with a value of its own shows which one answers.
  const mark = { type: 'string', enum: [`mark-${++marks}`] } as const
  await putCrd(definition(plural, { ...schema, properties: { ...schema.properties, mark } }))
  const object = { apiVersion: `${GROUP}/v1`, kind, metadata: { name: 'mark' }, mark: 'none' }
  await until(`the server goes by the new schema of ${plural}`, async () => {
    const { body } = await server.call('POST', `${path}?dryRun=All`, object)
    return `${body['message']}`.includes(mark.enum[0]!)
  })
  return { apiVersion: object.apiVersion, kind, path, schema }
}
let marks = 0

/** Creates or replaces a CRD and waits until its objects are served. */
async function putCrd(crd: { readonly metadata: unknown; readonly [key: string]: unknown }): Promise<void> {
  const { name } = crd.metadata as { readonly name: string }
  const existing = await server.call('GET', `${CRDS}/${name}`)
  const { resourceVersion } = (existing.body['metadata'] ?? {}) as { resourceVersion?: string }
  if (existing.status === 404) installed.add(name)
  const made =
    existing.status === 404
      ? await server.call('POST', CRDS, crd)
      : await server.call('PUT', `${CRDS}/${name}`, {
          ...crd,
          metadata: { ...(crd.metadata as object), resourceVersion },
        })
  assert.ok(made.status < 300, `the server refused ${name}: ${made.body['message']}`)
  const { group, names, versions } = crd['spec'] as {
    group: string
    names: { plural: string }
    versions: { name: string }[]
  }
  const collection = `/apis/${group}/${versions[0]!.name}/${names.plural}`
  await until(
    `the server serves ${name}`,
    async () => (await server.call('GET', `${collection}?limit=1`)).status === 200,
  )
}

/** What a server said, or what we say, in a form that can be compared. */
interface Verdict {
  readonly refusals?: readonly string[]
  readonly spec?: Json
  readonly other?: string
}

function verdictOf(answer: Answer): Verdict {
  if (answer.status < 300) return { spec: (answer.body['spec'] ?? null) as Json }
  const { causes } = (answer.body['details'] ?? {}) as { causes?: { field: string; message: string }[] }
  if (answer.status !== 422 || !causes) return { other: `${answer.status} ${answer.body['message']}` }
  // A leading dot is the check of the scale subresource: the server looks once more at the number that the schema refuses.
  const ofSchema = causes.filter(({ field }) => !field.startsWith('.'))
  return { refusals: ofSchema.map(({ field, message }) => `${field}: ${message}`).sort() }
}

function ourVerdict(schema: JsonSchema, object: Json, old?: Json): Verdict {
  const engine = compileSchema(schema)
  const { value } = engine.prune(engine.applyDefaults(object))
  const faults = engine.validate(value, old)
  if (faults.length > 0) return { refusals: faults.map((fault) => fault.message).sort() }
  return { spec: ((value as Record<string, Json>)['spec'] ?? null) as Json }
}

async function compare(target: Target, specs: readonly Json[]): Promise<{ accepted: number; refused: number }> {
  const count = { accepted: 0, refused: 0 }
  const base = { apiVersion: target.apiVersion, kind: target.kind, metadata: { name: 'sample', namespace: 'default' } }
  const answers = await inBatches(specs, (spec) =>
    server.call('POST', `${target.path}?dryRun=All&fieldValidation=Ignore`, { ...base, spec }),
  )
  const differences: unknown[] = []
  answers.forEach((answer, i) => {
    const theirs = verdictOf(answer)
    const ours = ourVerdict(target.schema, { ...base, spec: specs[i]! })
    compared++
    if (theirs.spec === undefined) count.refused++
    else count.accepted++
    // A malformed embedded object is refused before validation, with the first thing wrong with it.
    const early = /cannot be handled as a \w+: (.*)$/s.exec(theirs.other ?? '')?.[1]
    if (early !== undefined && ours.refusals?.includes(early)) return
    try {
      assert.deepEqual(ours, theirs)
    } catch {
      differences.push({ sent: specs[i], theirs, ours })
    }
  })
  const shown = differences.slice(0, 5).map((one) => JSON.stringify(one, null, 1))
  assert.equal(differences.length, 0, `${differences.length} of ${specs.length} differ:\n${shown.join('\n')}`)
  return count
}

async function inBatches<T, R>(items: readonly T[], work: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let i = 0; i < items.length; i += 8)
    results.push(...(await Promise.all(items.slice(i, i + 8).map((item, j) => work(item, i + j)))))
  return results
}

/** As JSON carries them: there is no -0 on the wire. */
const sample = (schema: JsonSchema, seed = SEED): Json[] => {
  const numRuns = Math.ceil(RUNS / 3)
  const values = [
    ...fc.sample(fitting(schema), { numRuns, seed }),
    ...fc.sample(damaged(schema, 1), { numRuns, seed }),
    ...fc.sample(damaged(schema), { numRuns, seed: seed + 1 }),
  ]
  return JSON.parse(JSON.stringify(values)) as Json[]
}

describe('the schema engine and a real API server', () => {
  for (const [name, spec] of Object.entries(AWKWARD)) {
    it(`agree on objects of the schema ${name}`, async () => {
      const target = await install(name, spec)
      const { accepted, refused } = await compare(target, [...(HAND_MADE[name] ?? []), ...sample(spec)])
      assert.ok(accepted > 0 && refused > 0, `accepted ${accepted}, refused ${refused}: the sample proves too little`)
    })
  }

  for (const kind of ALL_KINDS) {
    it(`agree on objects of ${kind.kind}`, async () => {
      await putCrd(toCustomResourceDefinition(kind) as never)
      const target = {
        apiVersion: kind.apiVersion,
        kind: kind.kind,
        path: `/apis/${kind.apiVersion}/namespaces/default/${kind.plural}`,
        schema: kind.schema,
      }
      await compare(target, sample(kind.spec.schema))
    })
  }

  it('agree on which schemas a definition may carry', async () => {
    const verdicts = await inBatches(SCHEMAS, async ([what, spec]) => {
      const crd = definition('candidates', wrap(spec))
      const answer = await server.call('POST', `${CRDS}?dryRun=All`, crd)
      const why = schemaFaults(wrap(spec))
      const ours = why.length === 0 ? 'accepted' : 'refused'
      const theirs = answer.status < 300 ? 'accepted' : 'refused'
      return {
        what,
        ours,
        theirs,
        ...(ours === theirs ? {} : { why: why.join('; '), said: String(answer.body['message']) }),
      }
    })
    assert.deepEqual(
      verdicts.filter(({ ours, theirs }) => ours !== theirs),
      [],
    )
    assert.ok(verdicts.some(({ ours }) => ours === 'refused') && verdicts.some(({ ours }) => ours === 'accepted'))
  })

  for (const name of ['scalars', 'nulls', 'lists', 'junctors', 'rules']) {
    it(`agree on updates of objects that were stored before the schema ${name} was tightened`, async () => {
      const strict = AWKWARD[name]!
      const lax = await install(`old${name}`, loosen(strict))
      const base = { apiVersion: lax.apiVersion, kind: lax.kind }
      const specs = fc.sample(fitting(loosen(strict)), { numRuns: Math.ceil(RUNS / 3), seed: SEED })
      await inBatches(specs, async (spec, i) => {
        await server.call('DELETE', `${lax.path}/old-${i}`)
        const made = await server.call('POST', lax.path, { ...base, metadata: { name: `old-${i}` }, spec })
        assert.equal(made.status, 201, JSON.stringify(made.body))
      })
      const target = await install(`old${name}`, strict)
      const damages = fc.sample(fc.array(fc.tuple(fc.nat(10_000), fc.nat(10_000)), { maxLength: 2 }), {
        numRuns: specs.length,
        seed: SEED,
      })
      const differences: string[] = []
      await inBatches(specs, async (_spec, i) => {
        const stored = (await server.call('GET', `${target.path}/old-${i}`)).body as Record<string, Json>
        const spec = damages[i]!.reduce<Json>(
          (value, [place, kind]) => spoil(value, { place, kind }),
          stored['spec'] ?? {},
        )
        const answer = await server.call('PUT', `${target.path}/old-${i}?dryRun=All&fieldValidation=Ignore`, {
          ...stored,
          spec,
        })
        const theirs = verdictOf(answer)
        compared++
        const engine = compileSchema(target.schema)
        const ours = ourVerdict(target.schema, { ...stored, spec }, engine.prune(engine.applyDefaults(stored)).value)
        try {
          assert.deepEqual(ours, theirs)
        } catch {
          differences.push(JSON.stringify({ old: stored['spec'], sent: spec, theirs, ours }, null, 1))
        }
      })
      assert.equal(
        differences.length,
        0,
        `${differences.length} of ${specs.length} differ:\n${differences.slice(0, 4).join('\n')}`,
      )
    })
  }
})

/** The same structure without its restrictions, so that any object of the right types can be stored. */
function loosen(schema: JsonSchema): JsonSchema {
  const { type, nullable, format, properties, items, additionalProperties: additional } = schema
  const kept = Object.entries(schema).filter(([key]) =>
    ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource', 'x-kubernetes-int-or-string'].includes(
      key,
    ),
  )
  return {
    ...(type === undefined ? {} : { type }),
    ...(nullable === undefined ? {} : { nullable }),
    ...(format === undefined ? {} : { format }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([k, v]) => [k, loosen(v)])) }),
    ...(items === undefined ? {} : { items: loosen(items) }),
    ...(additional === undefined
      ? {}
      : { additionalProperties: typeof additional === 'object' ? loosen(additional) : additional }),
    ...Object.fromEntries(kept),
  }
}
