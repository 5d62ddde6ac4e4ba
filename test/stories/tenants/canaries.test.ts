// A canary in every field that carries a secret, through an apply that prints them in every encoding, one that fails with
// them in its message, and their destroys. Then every byte that people may read is searched: logs, statuses, events,
// metrics, records, plans that wait, the page, arguments of processes, work folders after the run. The manager is the program
// as built.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type Server } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  ALL_KINDS,
  type AnyObject,
  CLUSTER_NAME_LABEL,
  clusterKind,
  conditionOf,
  EventKind,
  NamespaceKind,
  type Secret,
  SecretKind,
  toCustomResourceDefinition,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { recordName, suffixOf } from '#engine'
import { type Connection, connect, loadKubeconfig } from '#kube'
import { anApply, aTemplate } from '#testing'
import { type Running, type Shipped, shippedProgram, waitUntil } from '../../shipped/support.ts'
import { hasTerraform } from '../../support/engine/world.ts'
import { planted } from '../../support/secrets/planted.ts'

/** With everything in it that an encoding changes. */
const CANARIES = {
  keys: planted('keys/+"q<&>\\é ${x} one'),
  file: planted('file/two-two-two'),
  webIdentity: planted('web-identity-three'),
  variable: planted('tf-var/+four four'),
  varFileHcl: planted('hcl "five" five'),
  varFileJson: planted('json/+<six>&six'),
  env: planted('env seven/+seven'),
  envVariable: planted('env-var-eight'),
  planArgument: planted('plan-arg nine'),
  destroyArgument: planted('destroy-arg ten'),
  value: planted('value eleven/+eleven'),
  output: planted('output-twelve'),
  backend: planted('backend/+"thirteen" thirteen'),
} as const

const encode = (text: string) => Buffer.from(text).toString('base64')

/** Every form in which a canary would still be readable. */
function formsOf(canary: string): readonly string[] {
  const quoted = JSON.stringify(canary).slice(1, -1)
  const forms = [
    canary,
    quoted,
    JSON.stringify(quoted).slice(1, -1),
    encode(canary),
    encode(canary).replace(/=+$/, ''),
    Buffer.from(canary).toString('base64url'),
    encodeURIComponent(canary),
    new URLSearchParams({ c: canary }).toString().slice(2),
    quoted.replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`),
  ]
  return [...new Set(forms)]
}

function hitsIn(text: string): readonly string[] {
  return Object.entries(CANARIES).flatMap(([name, canary]) =>
    formsOf(canary).flatMap((form) => {
      const at = text.indexOf(form)
      return at < 0 ? [] : [`${name}: …${text.slice(Math.max(0, at - 60), at + form.length + 20)}…`]
    }),
  )
}

const NAMES = ['hcl', 'json', 'from_env', 'from_credentials', 'from_plan', 'given'] as const
/** What a template or an apply says in plain text is a secret of a run only if the variable is declared sensitive. */
const SENSITIVE: readonly string[] = ['from_plan', 'given', 'from_destroy']
const VARIABLES = [...NAMES, 'from_destroy']
  .map((name) => `variable "${name}" {\n  default = ""\n  sensitive = ${SENSITIVE.includes(name)}\n}\n`)
  .join('')
/** A module may show what it should hide. */
const shown = (name: string) => (SENSITIVE.includes(name) ? `nonsensitive(var.${name})` : `var.${name}`)
/** As a provider or a script would print them. */
const printed = NAMES.map((name) => {
  const value = shown(name)
  const forms = [
    value,
    `base64encode(${value})`,
    `urlencode(${value})`,
    `jsonencode({ a = ${value} })`,
    `jsonencode(jsonencode([${value}]))`,
    `base64encode("x=\${${value}};y")`,
  ]
  return `${name.toUpperCase()} = join(" ", [${forms.join(', ')}])`
}).join('\n      ')
const MODULE = `${VARIABLES}
variable "hidden" {
  sensitive = true
  default   = "cnry-output-twelve"
}
resource "terraform_data" "loud" {
  provisioner "local-exec" {
    environment = {
      ${printed}
    }
    command = "env | grep -v ^TF_WORK; env >&2; sleep 1"
  }
}
output "hidden" {
  value     = var.hidden
  sensitive = true
}
`
const FAILING = `${VARIABLES}
resource "terraform_data" "never" {
  lifecycle {
    precondition {
      condition     = var.hcl == "never"
      error_message = "refused: \${var.hcl} \${base64encode(var.hcl)} \${urlencode(var.json)} \${jsonencode(var.from_env)} \${var.from_credentials} \${nonsensitive(var.from_plan)} \${nonsensitive(var.given)}."
    }
  }
}
`

const DEMO = { namespace: 'default', name: 'demo' }
const OF_CLUSTER = { [CLUSTER_NAME_LABEL]: DEMO.name }
const spec = { credentialsRef: { name: 'creds' }, values: { given: CANARIES.value } }

const REMOTE = `terraform {
  backend "http" {}
}
resource "terraform_data" "x" {}
`

/** A backend that keeps one state for clients that know the password. */
function startBackend(): Promise<Server> {
  let state: Buffer | undefined
  const expected = `Basic ${encode(`u:${CANARIES.backend}`)}`
  const server = createHttpServer((incoming, answer) => {
    const parts: Buffer[] = []
    incoming.on('data', (part: Buffer) => parts.push(part))
    incoming.on('end', () => {
      if (incoming.headers.authorization !== expected) return answer.writeHead(401).end()
      if (incoming.method === 'POST') state = Buffer.concat(parts)
      answer.writeHead(state ? 200 : 404).end(incoming.method === 'GET' ? state : undefined)
    })
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

describe('Canaries', { skip: !hasTerraform && 'terraform is not installed' }, () => {
  let shipped: Shipped
  let server: ApiServer
  let connection: Connection
  let manager: Running
  let backend: Server
  let port: number
  let token: string
  const argv = new Set<string>()
  let sampling: NodeJS.Timeout

  before(async () => {
    shipped = shippedProgram()
    backend = await startBackend()
    server = await startApiServer({
      dataDir: join(shipped.folder, 'api'),
      crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), ...resourceSetDefinitions()],
      converters: { 'cluster.x-k8s.io/Cluster': convertCluster } as never,
    })
    const kubeconfig = join(shipped.folder, 'kubeconfig')
    writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 })
    token = /token: (\S+)/.exec(server.kubeconfig())?.[1] ?? assert.fail('no token')
    connection = connect(await loadKubeconfig({ path: kubeconfig }))
    const { objects } = connection
    await objects
      .create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
      .catch(() => undefined)
    port = await freePort()
    const args = [
      'manager',
      '--kubeconfig',
      kubeconfig,
      '--enable-controller=infrastructure',
      '--work-dir',
      join(shipped.folder, 'runs'),
      `--metrics-bind-address=127.0.0.1:${port}`,
      '--health-probe-bind-address=0',
      '--log-level=debug',
    ]
    manager = shipped.start(args, {
      env: { KUBECONFIG: kubeconfig, SOME_TOKEN: planted('environment-of-the-manager') },
    })
    sampling = setInterval(() => sample(argv), 15)
  })
  after(async () => {
    clearInterval(sampling)
    await connection?.close()
    await shipped?.end()
    backend?.close()
    await server?.close().catch(() => undefined)
  })

  const secret = (name: string, data: Readonly<Record<string, string>>) =>
    connection.objects.create<Secret>(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name },
      data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, encode(text)])),
    })
  const find = (name: string) =>
    connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace: 'default', name })
  const until = (name: string, test: (apply: WorkspaceTemplateApply | undefined) => boolean) =>
    waitUntil(
      `the state of ${name}`,
      async () => test(await find(name)),
      180_000,
      () => manager.err().slice(-3000),
    )

  it('are planted in every field that carries a secret, and used', async () => {
    const { objects } = connection
    const infrastructureRef = { apiGroup: 'x.example', kind: 'Other', name: 'demo' }
    const cluster = {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: DEMO,
      spec: { infrastructureRef },
    }
    await objects.create(clusterKind('v1beta2'), cluster as AnyObject)
    await secret('creds', {
      AWS_ACCESS_KEY_ID: 'AKcanary',
      AWS_SECRET_ACCESS_KEY: CANARIES.keys,
      credentials: `[default]\naws_secret_access_key = ${CANARIES.file}\n`,
      'web-identity-token': CANARIES.webIdentity,
      TF_VAR_from_credentials: CANARIES.variable,
    })
    await secret('files', {
      hcl: `hcl = ${JSON.stringify(CANARIES.varFileHcl)}\n`,
      json: JSON.stringify({ json: CANARIES.varFileJson }),
      env: CANARIES.env,
      variable: CANARIES.envVariable,
    })
    const from = (key: string) => ({ secretKeyRef: { name: 'files', key } })
    const forProvider = {
      varFiles: [
        { source: 'SecretKey' as const, format: 'HCL' as const, ...from('hcl') },
        { source: 'SecretKey' as const, format: 'JSON' as const, ...from('json') },
      ],
      env: [
        { name: 'HCLOUD_TOKEN', ...from('env') },
        { name: 'TF_VAR_from_env', ...from('variable') },
      ],
      enableTerraformCLILogging: true,
    }
    const args = {
      planArgs: ['-var', `from_plan=${CANARIES.planArgument}`],
      destroyArgs: [`-var=from_destroy=${CANARIES.destroyArgument}`],
    }
    await objects.create(WorkspaceTemplate, aTemplate(MODULE, { ...forProvider, ...args }, { name: 'loud' }))
    await objects.create(WorkspaceTemplate, aTemplate(FAILING, { ...forProvider, ...args }, { name: 'failing' }))
    await objects.create(
      WorkspaceTemplateApply,
      anApply(
        { ...spec, templateRef: { name: 'loud' }, writeConnectionSecretToRef: { name: 'out' } },
        { name: 'loud', labels: OF_CLUSTER },
      ),
    )
    await objects.create(
      WorkspaceTemplateApply,
      anApply({ ...spec, templateRef: { name: 'failing' } }, { name: 'failing', labels: OF_CLUSTER }),
    )
    const settings = [`address=http://127.0.0.1:${(backend.address() as AddressInfo).port}/state`, 'username=u']
    const initArgs = [
      ...settings.map((one) => `-backend-config=${one}`),
      '-backend-config',
      `password=${CANARIES.backend}`,
    ]
    await objects.create(WorkspaceTemplate, aTemplate(REMOTE, { ...forProvider, initArgs }, { name: 'remote' }))
    await objects.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'remote' } }, { name: 'remote' }))
    await until('remote', (apply) => apply !== undefined && conditionOf(apply, 'Ready')?.status === 'True')
    await until('loud', (apply) => apply !== undefined && conditionOf(apply, 'Ready')?.status === 'True')
    await until('failing', (apply) => apply !== undefined && conditionOf(apply, 'Stalled')?.status === 'True')
    const out = await objects.get<Secret>(SecretKind, { namespace: 'default', name: 'out' })
    assert.equal(
      Buffer.from(out!.data!['hidden']!, 'base64').toString(),
      CANARIES.output,
      'the connection Secret has it',
    )
    assert.match((await find('failing'))?.status?.lastError?.message ?? '', /refused: …redacted…/)
    assert.match(await logOf('loud'), /…redacted…/, 'the log says that something was there')
  })

  const logOf = (name: string) => shipped.captOk(['logs', name, '--kubeconfig', join(shipped.folder, 'kubeconfig')])

  async function assertClean(what: string, text: string | Promise<string>): Promise<void> {
    assert.deepEqual(hitsIn(await text), [], what)
  }

  async function textOf(kind: typeof EventKind | typeof WorkspaceTemplateApply): Promise<string> {
    const texts: string[] = []
    for await (const object of connection.objects.list(kind, { namespace: 'default' })) {
      const { spec: _spec, ...rest } = object as AnyObject & { readonly spec?: unknown }
      texts.push(JSON.stringify(rest))
    }
    assert.ok(texts.length > 0, `there are ${kind.kind}s`)
    return texts.join('\n')
  }

  it('are in no log of a run', async () => {
    for (const name of ['loud', 'failing', 'remote']) await assertClean(`capt logs ${name}`, logOf(name))
  })

  it('are in no status, condition or event', async () => {
    await assertClean('applies', textOf(WorkspaceTemplateApply))
    await assertClean('events', textOf(EventKind))
  })

  it('are in no record of a run', async () => {
    let records = 0
    for await (const object of connection.objects.list<Secret>(SecretKind, { namespace: 'default' })) {
      if (!object.metadata.name.startsWith('capt-run-')) continue
      records++
      for (const [key, value] of Object.entries(object.data ?? {}))
        await assertClean(`${object.metadata.name} ${key}`, readable(Buffer.from(value, 'base64')))
    }
    assert.ok(records >= 3)
  })

  it('are in no stored plan: none is left after the run', async () => {
    const names: string[] = []
    for await (const { metadata } of connection.objects.list<Secret>(SecretKind, { namespace: 'default' }))
      names.push(metadata.name)
    assert.deepEqual(
      names.filter((name) => name.startsWith('capt-plan-')),
      [],
    )
    assert.deepEqual(
      filesBelow(join(shipped.folder, 'runs')).filter((path) => path.endsWith('plan.bin')),
      [],
    )
  })

  it('are in no summary of a plan that waits, and in nothing that the page shows of a cluster and its runs', async () => {
    const apply = anApply(
      { ...spec, templateRef: { name: 'loud' }, approval: 'Manual' },
      { name: 'waiting', labels: OF_CLUSTER },
    )
    await connection.objects.create(WorkspaceTemplateApply, apply)
    await until('waiting', (one) => one !== undefined && conditionOf(one, 'Ready')?.reason === 'ApprovalRequired')
    const kubeconfig = join(shipped.folder, 'kubeconfig')
    await assertClean('capt plan', shipped.captOk(['plan', 'waiting', '--kubeconfig', kubeconfig]))
    const name = recordName(suffixOf({ namespace: 'default', name: 'waiting' }))
    const record = await connection.objects.get<Secret>(SecretKind, { namespace: 'default', name })
    for (const key of ['record', 'plan'])
      await assertClean(key, readable(Buffer.from(record?.data?.[key] ?? assert.fail(key), 'base64')))
    const page = shipped.start(['dashboard', '--kubeconfig', kubeconfig])
    await page.untilSaid(/Dashboard: \S+/)
    const [, base = '', key = ''] = /Dashboard: (\S+)\/#token=(\S+)/.exec(page.out())!
    for (const [query, sign] of [
      ['', 'default/demo'],
      ['?cluster=default/demo&run=loud', '…redacted…'],
      ['?cluster=default/demo&run=failing', '…redacted…'],
      ['?cluster=default/demo&run=waiting', '"plan":{"hash"'],
    ] as const)
      await assertClean(`the page ${query}`, streamed(`${base}/api/stream${query}`, key, sign))
    await page.stop()
    await assertClean('what the page says', page.out() + page.err())
  })

  it('are in no answer of the command line', async () => {
    const kubeconfig = ['--kubeconfig', join(shipped.folder, 'kubeconfig')]
    for (const words of [
      ['describe', 'wtapply', 'failing'],
      ['doctor', '--skip-aws'],
      ['state', 'list', 'loud'],
    ]) {
      const { out, err } = await shipped.capt([...words, ...kubeconfig])
      await assertClean(words.join(' '), out + err)
    }
  })

  it('are in no metric', async () => {
    const text = await metrics()
    assert.match(text, /capt_/)
    await assertClean('metrics', text)
  })

  it('are in no work folder after the run, except in the state', async () => {
    const searched: string[] = []
    for (const path of filesBelow(join(shipped.folder, 'runs'))) {
      // The state is what Terraform keeps; it rests here and in its Secret, readable by the manager alone.
      // What Terraform remembers of its backend has the same name in a folder of its own, and is searched.
      if (/(?<!\.terraform\/)(terraform\.tfstate(\.backup)?|last-state\.json)$/.test(path)) {
        assert.equal(statSync(path).mode & 0o077, 0, path)
        continue
      }
      if (/\/(providers|compiled)\//.test(path)) continue
      searched.push(path)
      // Templates say what they say; no value of a Secret is in them.
      const text = readable(readFileSync(path)).replaceAll(CANARIES.output, '')
      await assertClean(path, text)
    }
    assert.ok(
      searched.some((path) => path.endsWith('.log')),
      searched.join('\n'),
    )
  })

  it('are in no argument of a process, from plan to destroy', async () => {
    const { objects } = connection
    for (const name of ['loud', 'failing', 'remote', 'waiting']) {
      await objects.delete(WorkspaceTemplateApply, { namespace: 'default', name })
      await until(name, (apply) => apply === undefined)
    }
    const all = [...argv].join('\n')
    assert.match(all, /terraform\S* plan/, 'plans were seen')
    assert.match(all, /-destroy/, 'destroys were seen')
    await assertClean('argv', all)
    assert.ok(!all.includes(token), 'the token of the API server')
  })

  it('of the manager are not handed to Terraform: neither its token, its kubeconfig nor its environment', async () => {
    const spy = join(shipped.folder, 'spy')
    // The parent of the shell is Terraform.
    const look = [
      'env',
      "tr '\\\\0' '\\\\n' < /proc/$PPID/environ",
      "tr '\\\\0' ' ' < /proc/$PPID/cmdline",
      'ls -l /proc/$PPID/fd/ /proc/self/fd/',
      'find . ../vars ../credentials -type f -exec cat {} +',
    ]
    const module = `resource "terraform_data" "spy" {\n  provisioner "local-exec" {\n    command = "{ ${look.join('; ')}; echo the end; } > ${spy} 2>&1"\n  }\n}\n`
    await connection.objects.create(WorkspaceTemplate, aTemplate(module, {}, { name: 'spy' }))
    await connection.objects.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'spy' } }, { name: 'spy' }))
    await until('spy', (apply) => apply !== undefined && conditionOf(apply, 'Ready')?.status === 'True')
    const text = readFileSync(spy, 'utf8')
    assert.match(text, /TF_IN_AUTOMATION/, 'it did look')
    assert.match(text, /the end/)
    for (const secret of [
      token,
      join(shipped.folder, 'kubeconfig'),
      'KUBECONFIG',
      planted('environment-of-the-manager'),
    ])
      assert.ok(!text.includes(secret), secret)
  })

  it('are nowhere in what the manager says', async () => {
    assert.ok(manager.err().length > 0)
    await assertClean('stdout and stderr', manager.out() + manager.err())
  })

  function metrics(): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { rejectUnauthorized: false, headers: { authorization: `Bearer ${token}` } }
      request(`https://127.0.0.1:${port}/metrics`, options, (answer) => {
        const parts: Buffer[] = []
        answer.on('data', (part: Buffer) => parts.push(part))
        answer.on('end', () => resolve(Buffer.concat(parts).toString()))
      })
        .on('error', reject)
        .end()
    })
  }
})

function sample(into: Set<string>): void {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      into.add(readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' '))
    } catch {
      // It has ended.
    }
  }
}

/** Everything that the page is sent until the sign has come. */
async function streamed(url: string, token: string, sign: string): Promise<string> {
  const signal = AbortSignal.timeout(60_000)
  const { body } = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal })
  let text = ''
  for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.includes(sign)) return text
  }
  return assert.fail(`the page never got ${sign}: ${text}`)
}

function readable(bytes: Buffer): string {
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b
  return (isPacked ? gunzipSync(bytes) : bytes).toString('utf8')
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}
