// Every field of every kind that names an object in another namespace, from namespace `tenant` to namespace `owner`, without
// consent, with consent, and after consent was withdrawn. The fields are found in the schemas: a new one without a row
// fails. The rows of applies and templates run real Terraform.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  ALL_KINDS,
  ALLOW_NAMESPACES_ANNOTATION,
  type AnyObject,
  type CAPTCluster,
  type CAPTControlPlane,
  type ConfigMap,
  ConfigMapKind,
  conditionOf,
  type JsonSchema,
  type KindRef,
  NamespaceKind,
  RETRY_ANNOTATION,
  type Secret,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { anApply, aTemplate, memoryCluster } from '#testing'
import { vpcRequest } from '../../../src/controllers/cluster/variables.ts'
import { resolveIdentity } from '../../../src/controllers/control-plane/identity.ts'
import { eksRequest } from '../../../src/controllers/control-plane/variables.ts'
import { nodeGroupOf } from '../../../src/controllers/machine/node-group.ts'
import { machineRequest } from '../../../src/controllers/machine/variables.ts'
import { nodeGroupRequest } from '../../../src/controllers/machine-pool/variables.ts'
import { type EngineWorld, engineWorld, hasTerraform } from '../../support/engine/world.ts'
import { planted } from '../../support/secrets/planted.ts'

const TENANT = 'tenant'
const OWNER = 'owner'
const consent = { annotations: { [ALLOW_NAMESPACES_ANNOTATION]: TENANT } }
const encode = (text: string) => Buffer.from(text).toString('base64')

/** Paths of all objects with a field `namespace`: they name something in a namespace. */
function referencesIn(schema: JsonSchema | undefined, path: string): readonly string[] {
  if (!schema) return []
  const own = schema.properties?.['namespace'] ? [path] : []
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    referencesIn(field, path === '' ? name : `${path}.${name}`),
  )
  const { additionalProperties: values } = schema
  const inner = typeof values === 'object' ? referencesIn(values as JsonSchema, `${path}{}`) : []
  return [...own, ...fields, ...referencesIn(schema.items, `${path}[]`), ...inner]
}

const FOUND = ALL_KINDS.flatMap((kind) =>
  referencesIn(kind.schema.properties?.['spec'], '').map((path) => `${kind.kind} ${path}`),
)

const APPLY = 'WorkspaceTemplateApply'
const TEMPLATE = 'WorkspaceTemplate template.spec'

/** Rows below that run. */
const RUN = [
  `${APPLY} templateRef`,
  `${APPLY} writeConnectionSecretToRef`,
  `${APPLY} waitForSecrets[]`,
  `${APPLY} waitForWorkspaces[]`,
  `${APPLY} credentialsRef`,
  `${TEMPLATE}.forProvider.varFiles[].configMapKeyRef`,
  `${TEMPLATE}.forProvider.varFiles[].secretKeyRef`,
  `${TEMPLATE}.forProvider.env[].configMapKeyRef`,
  `${TEMPLATE}.forProvider.env[].secretKeyRef`,
  `${TEMPLATE}.writeConnectionSecretToRef`,
] as const

/** References that become a reference of an apply, which has a row of its own. */
const BECOMES: Readonly<Record<string, string>> = {
  'CAPTCluster vpcTemplateRef': `${APPLY} templateRef`,
  'CAPTCluster identity.secretRef': `${APPLY} credentialsRef`,
  'CAPTControlPlane workspaceTemplateRef': `${APPLY} templateRef`,
  'CAPTControlPlane identity.secretRef': `${APPLY} credentialsRef`,
  'CAPTMachinePool workspaceTemplateRef': `${APPLY} templateRef`,
  'CAPTMachine workspaceTemplateRef': `${APPLY} templateRef`,
}

/** References whose three states are a case of this file. */
const CASES = ['CAPTMachine nodeGroupRef']

/** References that Cluster API, a set or a deployment copies into an object of another kind, in the same namespace. */
const COPIED: Readonly<Record<string, string>> = {
  'CAPTClusterTemplate template.spec.vpcTemplateRef': 'CAPTCluster vpcTemplateRef',
  'CAPTClusterTemplate template.spec.identity.secretRef': 'CAPTCluster identity.secretRef',
  'CAPTControlPlaneTemplate template.spec.workspaceTemplateRef': 'CAPTControlPlane workspaceTemplateRef',
  'CAPTControlPlaneTemplate template.spec.identity.secretRef': 'CAPTControlPlane identity.secretRef',
  'CAPTMachinePoolTemplate template.spec.workspaceTemplateRef': 'CAPTMachinePool workspaceTemplateRef',
  ...Object.fromEntries(
    ['CAPTMachineTemplate', 'CAPTMachineSet', 'CAPTMachineDeployment'].flatMap((kind) => [
      [`${kind} template.spec.workspaceTemplateRef`, 'CAPTMachine workspaceTemplateRef'],
      [`${kind} template.spec.nodeGroupRef`, 'CAPTMachine nodeGroupRef'],
    ]),
  ),
}

/** Namespaces of the workload cluster, which belongs to the tenant. */
const IN_WORKLOAD = [
  'AddonPipeline stages[].karpenter',
  'AddonPipeline stages[].checks[]',
  'CAPTControlPlane controlPlaneConfig.karpenter',
  'CAPTControlPlaneTemplate template.spec.controlPlaneConfig.karpenter',
]

/** References whose three states have a story of their own. */
const ELSEWHERE: Readonly<Record<string, string>> = { 'AddonDelivery pipelineRef': 'pipeline-consent.test.ts' }

describe('References to other namespaces', () => {
  it('all have a row in this file', () => {
    const copied = [...Object.keys(BECOMES), ...Object.keys(COPIED)]
    const known = [...RUN, ...CASES, ...copied, ...IN_WORKLOAD, ...Object.keys(ELSEWHERE)]
    assert.deepEqual([...FOUND].sort(), known.sort())
    for (const target of Object.values(COPIED)) assert.ok(target in BECOMES || CASES.includes(target), target)
    for (const target of Object.values(BECOMES)) assert.ok((RUN as readonly string[]).includes(target), target)
    for (const file of Object.values(ELSEWHERE))
      assert.match(
        readFileSync(join(import.meta.dirname, file), 'utf8'),
        /consent\(null\)/,
        'consent is withdrawn there',
      )
  })

  it('of a cluster reach its applies with the namespace they name', () => {
    const ref = { name: 'x', namespace: OWNER }
    const metadata = { name: 'demo', namespace: TENANT }
    const identity = { secretRef: ref }
    const infra = { metadata, spec: { region: 'eu-west-1', vpcTemplateRef: ref, identity } } as unknown as CAPTCluster
    const plane = { metadata, spec: { version: '1.34', workspaceTemplateRef: ref, identity } }
    const vpc = vpcRequest(infra, 'demo', 'demo')!
    const eks = eksRequest(plane as unknown as CAPTControlPlane, 'demo', {} as never, 'eu-west-1')
    for (const { namespace, spec } of [vpc, eks]) {
      assert.equal(namespace, TENANT)
      assert.deepEqual(spec.templateRef, ref)
      assert.deepEqual(spec.credentialsRef, ref)
    }
  })

  it('of machines and pools reach their applies with the namespace they name', () => {
    const ref = { name: 'x', namespace: OWNER }
    const metadata = { name: 'demo', namespace: TENANT }
    const home = { clusterName: 'demo', region: 'eu-west-1', values: {} }
    const object = { metadata, spec: { workspaceTemplateRef: ref } } as never
    const machine = machineRequest(object, { home } as never)
    const pool = nodeGroupRequest(object, { replicas: 1, isAutoscaled: false }, {} as never, '1.34')
    for (const { namespace, spec } of [machine, pool]) {
      assert.equal(namespace, TENANT)
      assert.deepEqual(spec.templateRef, ref)
    }
  })

  it('of a machine to a node group count with consent only', () => {
    const machine = {
      metadata: { namespace: TENANT, name: 'm' },
      spec: { nodeGroupRef: { namespace: OWNER, name: 'g' } },
    }
    const groupWith = (metadata: object) => {
      const key = { namespace: OWNER, name: 'g-node-group' }
      const apply = {
        metadata: { ...key, ...metadata },
        spec: {},
        status: { outputs: { node_group_name: 'canary-group' } },
      }
      const cache = { get: (_kind: KindRef, { name }: Key) => (name === key.name ? apply : undefined) }
      return nodeGroupOf(cache as never, machine as never)
    }
    assert.deepEqual(groupWith({}), { is: 'missing', ref: 'owner/g' })
    assert.deepEqual(groupWith(consent), { is: 'found', name: 'canary-group', labels: {} })
    const withdrawn = { annotations: { [ALLOW_NAMESPACES_ANNOTATION]: 'other' } }
    assert.deepEqual(groupWith(withdrawn), { is: 'missing', ref: 'owner/g' })
  })

  it('of an identity give keys with consent only', async () => {
    const data = { AWS_ACCESS_KEY_ID: encode('AK'), AWS_SECRET_ACCESS_KEY: encode(planted('identity')) }
    const keysWith = async (metadata: object) => {
      const { objects, seed } = memoryCluster()
      seed(SecretKind, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: OWNER, name: 'x', ...metadata },
        data,
      })
      return await resolveIdentity(objects, { secretRef: { namespace: OWNER, name: 'x' } }, TENANT)
    }
    await assert.rejects(keysWith({}), { code: 'CAPT_IDENTITY_FORBIDDEN' })
    await assert.rejects(keysWith({ annotations: { [ALLOW_NAMESPACES_ANNOTATION]: 'other' } }), {
      code: 'CAPT_IDENTITY_FORBIDDEN',
    })
    assert.equal((await keysWith(consent)).keys?.secretAccessKey, planted('identity'))
  })
})

interface Row {
  readonly path: (typeof RUN)[number]
  readonly name: string
  /** The object of namespace `owner`, with the canary in it. */
  readonly target: (key: Key, canary: string) => readonly [KindRef, AnyObject]
  readonly template?: (ref: Ref) => WorkspaceTemplate
  readonly apply?: (ref: Ref) => Partial<WorkspaceTemplateApply['spec']>
  /** Nothing is read through this reference: being ready is the use of it. */
  readonly isWait?: true
  /** It is read again by a destroy. */
  readonly isCredential?: true
  /** The reference writes instead of reading. */
  readonly isWrite?: true
}
type Key = { readonly namespace: string; readonly name: string }
type Ref = { readonly namespace: string; readonly name: string }

const READS =
  'variable "canary" { default = "none" }\noutput "seen" { value = var.canary }\nresource "terraform_data" "a" {}'
const secret = (metadata: Key, data: Readonly<Record<string, string>>) =>
  [SecretKind, { apiVersion: 'v1', kind: 'Secret', metadata, data } as Secret] as const
const configMap = (metadata: Key, data: Readonly<Record<string, string>>) =>
  [ConfigMapKind, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } as ConfigMap] as const
const file = (canary: string) => JSON.stringify({ canary })
const reading = (forProvider: object) => (ref: Ref) =>
  aTemplate(READS, JSON.parse(JSON.stringify(forProvider).replaceAll('"REF"', JSON.stringify({ ...ref, key: 'k' }))))

const ROWS: readonly Row[] = [
  {
    path: `${APPLY} templateRef`,
    name: 'template',
    target: (key, canary) => [WorkspaceTemplate, aTemplate(`output "seen" { value = "${canary}" }`, {}, key)],
    apply: (ref) => ({ templateRef: ref }),
  },
  {
    path: `${APPLY} writeConnectionSecretToRef`,
    name: 'connection',
    target: (key) => secret(key, {}),
    apply: (ref) => ({ writeConnectionSecretToRef: ref }),
    isWrite: true,
  },
  {
    path: `${APPLY} waitForSecrets[]`,
    name: 'wait-secret',
    target: (key, canary) => secret(key, { a: encode(canary) }),
    apply: (ref) => ({ waitForSecrets: [ref] }),
    isWait: true,
  },
  {
    path: `${APPLY} waitForWorkspaces[]`,
    name: 'wait-apply',
    target: (key) => [WorkspaceTemplateApply, anApply({ templateRef: { name: 'own' } }, key)],
    apply: (ref) => ({ waitForWorkspaces: [ref] }),
    isWait: true,
  },
  {
    path: `${APPLY} credentialsRef`,
    name: 'credentials',
    target: (key, canary) => secret(key, { TF_VAR_canary: encode(canary) }),
    apply: (ref) => ({ credentialsRef: ref }),
    isCredential: true,
  },
  {
    path: `${TEMPLATE}.forProvider.varFiles[].configMapKeyRef`,
    name: 'file-config-map',
    target: (key, canary) => configMap(key, { k: file(canary) }),
    template: reading({ varFiles: [{ source: 'ConfigMapKey', format: 'JSON', configMapKeyRef: 'REF' }] }),
  },
  {
    path: `${TEMPLATE}.forProvider.varFiles[].secretKeyRef`,
    name: 'file-secret',
    target: (key, canary) => secret(key, { k: encode(file(canary)) }),
    template: reading({ varFiles: [{ source: 'SecretKey', format: 'JSON', secretKeyRef: 'REF' }] }),
  },
  {
    path: `${TEMPLATE}.forProvider.env[].configMapKeyRef`,
    name: 'env-config-map',
    target: (key, canary) => configMap(key, { k: canary }),
    template: reading({ env: [{ name: 'TF_VAR_canary', configMapKeyRef: 'REF' }] }),
  },
  {
    path: `${TEMPLATE}.forProvider.env[].secretKeyRef`,
    name: 'env-secret',
    target: (key, canary) => secret(key, { k: encode(canary) }),
    template: reading({ env: [{ name: 'TF_VAR_canary', secretKeyRef: 'REF' }] }),
  },
  {
    path: `${TEMPLATE}.forProvider.env[].secretKeyRef`,
    name: 'env-credential',
    target: (key, canary) => secret(key, { k: encode(canary) }),
    // The variable is passed on by a data source of the template: Terraform itself shows nothing of it.
    template: (ref) =>
      aTemplate(
        'resource "terraform_data" "a" {\n  provisioner "local-exec" { command = "test -n \\"$HCLOUD_TOKEN\\"" }\n}\noutput "seen" { value = "ran" }',
        { env: [{ name: 'HCLOUD_TOKEN', secretKeyRef: { ...ref, key: 'k' } }] },
      ),
    isWait: true,
    isCredential: true,
  },
  {
    path: `${TEMPLATE}.writeConnectionSecretToRef`,
    name: 'template-connection',
    target: (key) => secret(key, {}),
    template: (ref) => aTemplate(READS, {}, { writeConnectionSecretToRef: ref }),
    isWrite: true,
  },
]

describe('A reference to another namespace', {
  skip: !hasTerraform && 'terraform is not installed',
  concurrency: 4,
}, () => {
  let world: EngineWorld

  before(async () => {
    world = await engineWorld()
    for (const name of [TENANT, OWNER])
      await world.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    await world.create(WorkspaceTemplate, aTemplate(READS, {}, { name: 'own', namespace: OWNER }))
    await world.manager()
  })
  after(() => world.close())

  async function until<T>(what: string, ask: () => Promise<T | undefined | false>): Promise<T> {
    const deadline = Date.now() + 180_000
    for (;;) {
      const found = await ask()
      if (found) return found as T
      if (Date.now() > deadline) assert.fail(`never: ${what}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  const objects = () => world.connection.objects
  const readApply = (name: string, namespace = TENANT) =>
    objects().get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
  const isReady = (apply: WorkspaceTemplateApply | undefined) =>
    apply !== undefined &&
    apply.status?.phase !== 'Running' &&
    conditionOf(apply, 'Ready')?.status === 'True' &&
    conditionOf(apply, 'Ready')?.observedGeneration === apply.metadata.generation
  /** Decided, and not in its favour. */
  const REFUSED = /^(ReferenceForbidden|CredentialsRejected|SecretsMissing|DependencyNotReady|ApplyRejected)$/
  const isRefused = (apply: WorkspaceTemplateApply | undefined) =>
    apply !== undefined && REFUSED.test(conditionOf(apply, 'Ready')?.reason ?? '')

  /** Every object of the tenant's namespace as text, Secrets decoded. */
  async function tenantText(): Promise<string> {
    const texts: string[] = []
    for (const kind of [SecretKind, ConfigMapKind, WorkspaceTemplateApply, WorkspaceTemplate]) {
      for await (const object of objects().list(kind, { namespace: TENANT })) {
        texts.push(JSON.stringify(object))
        for (const value of Object.values((object as Partial<Secret>).data ?? {})) {
          const bytes = Buffer.from(value, 'base64')
          texts.push(bytes.toString('utf8'))
          if (bytes[0] === 0x1f && bytes[1] === 0x8b) texts.push(gunzipSync(bytes).toString('utf8'))
        }
      }
    }
    return texts.join('\n')
  }

  async function assertDeletable(kind: KindRef, key: Key): Promise<void> {
    await objects().delete(kind, key)
    await until(`${kind.kind} ${key.namespace}/${key.name} is gone`, async () => !(await objects().get(kind, key)))
  }

  const patch = (kind: KindRef, key: Key, body: object) => objects().patch(kind, key, { type: 'merge', body })
  const retry = (name: string, token: string) =>
    patch(
      WorkspaceTemplateApply,
      { namespace: TENANT, name },
      {
        metadata: { annotations: { [RETRY_ANNOTATION]: token } },
      },
    )

  for (const row of ROWS)
    it(`${row.path} (${row.name}) counts with consent only`, async () => {
      const { name } = row
      const key = { namespace: OWNER, name }
      const own = { namespace: TENANT, name }
      const [first, second] = [`canary-${name}-first`, `canary-${name}-second`]
      const create = async (canary: string, metadata: object) => {
        const [kind, object] = row.target(key, canary)
        await world.create(kind, { ...object, metadata: { ...object.metadata, ...metadata } })
        if (kind === WorkspaceTemplateApply)
          await until('the target is ready', async () => isReady(await readApply(name, OWNER)))
        return kind
      }
      const isWritten = async () => {
        const found = await objects().get<Secret>(SecretKind, key)
        return Object.keys(found?.data ?? {}).length > 0
      }
      const template = row.template?.(key) ?? aTemplate(READS)
      await world.create(WorkspaceTemplate, { ...template, metadata: own })

      // No consent.
      const kind = await create(first, {})
      await world.create(WorkspaceTemplateApply, anApply({ templateRef: { name }, ...row.apply?.(key) }, own))
      await until('it is refused', async () => isRefused(await readApply(name)))
      assert.ok(!(await tenantText()).includes(first), 'nothing of the object reached the tenant')
      if (row.isWrite) assert.ok(!(await isWritten()), 'nothing was written to it')
      await assertDeletable(kind, key)

      // Consent.
      await create(second, consent)
      await retry(name, '1')
      await until('it counts', async () => isReady(await readApply(name)))
      if (row.isWrite) assert.ok(await isWritten())
      else if (!row.isWait) assert.equal((await readApply(name))?.status?.outputs?.['seen'], second)

      // Consent withdrawn, while the tenant holds on to what it has.
      const withdrawn = { metadata: { annotations: { [ALLOW_NAMESPACES_ANNOTATION]: null } } }
      await patch(kind, key, withdrawn)
      if (!row.isWait) {
        await retry(name, '2')
        await until('it is refused again', async () => isRefused(await readApply(name)))
      }
      await patch(WorkspaceTemplateApply, own, { spec: { suspend: true } })
      await assertDeletable(kind, key)
      assert.ok(await readApply(name), 'the tenant’s apply is still there')

      // The tenant is not held either: what it made is destroyed from what was kept with its last run.
      await patch(WorkspaceTemplateApply, own, { spec: { suspend: false } })
      if (row.isCredential) await create(second, consent)
      await assertDeletable(WorkspaceTemplateApply, own)
    })
})
