// Starts the real thing on loopback: etcd, kube-apiserver, kube-controller-manager, core Cluster API. Everything a lab
// starts, it stops, by process id; its folder goes too, unless a test failed and the logs are worth keeping.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes, randomInt } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority, issueCertificate } from '#lib'
import { planted } from '../../support/secrets/planted.ts'

export const VERSIONS = {
  kube: 'v1.33.13',
  etcd: 'v3.6.16',
  helm: 'v3.19.5',
  promtool: 'v0.315.0',
  capi: ['v1.14.2', 'v1.10.10'],
} as const
export type CapiVersion = (typeof VERSIONS.capi)[number]

const CACHE =
  process.env['CAPT_REAL_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'capt-real')

export function binary(name: string): string {
  const folder = {
    etcd: `etcd-${VERSIONS.etcd}`,
    etcdctl: `etcd-tools-${VERSIONS.etcd}`,
    etcdutl: `etcd-tools-${VERSIONS.etcd}`,
    'kube-apiserver': `kube-${VERSIONS.kube}`,
    'kube-controller-manager': `kube-${VERSIONS.kube}`,
    helm: `helm-${VERSIONS.helm}`,
    promtool: `promtool-${VERSIONS.promtool}`,
  }[name]
  const path = join(CACHE, folder ?? name, 'bin', name)
  if (!existsSync(path)) throw new Error(`${name} is not built; run test/real/build.sh`)
  return path
}

export function capiBinary(version: CapiVersion, name: 'capi-manager' | 'clusterctl'): string {
  return join(CACHE, `capi-${version}`, 'bin', name)
}

/** Built by `test/real/build.sh tofu`. */
export const TOFU = '1.10.10'

/** The folder with OpenTofu. */
export function tofuFolder(): string {
  const folder = join(CACHE, `tofu-v${TOFU}`, 'bin')
  if (!existsSync(folder)) throw new Error('tofu is not built; run test/real/build.sh tofu')
  return folder
}

export const capiFolder = (version: CapiVersion): string => join(CACHE, `capi-${version}`)

const given = new Set<number>()

/**
 * A port that nobody listens on. It lies below those that the system gives to outgoing connections and to servers that
 * listen on 0, so that nobody comes by it by chance until our program listens there; and no port is given twice.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + randomInt(17_000)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

export interface Daemon {
  readonly name: string
  readonly pid: number
  readonly log: string
  stop(): Promise<void>
}

export interface DaemonOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export function startDaemon(
  name: string,
  folder: string,
  command: string,
  args: readonly string[],
  options: DaemonOptions = {},
): Daemon {
  mkdirSync(join(folder, 'logs'), { recursive: true })
  const log = join(folder, 'logs', `${name}.log`)
  const out = openSync(log, 'a')
  const child: ChildProcess = spawn(command, [...args], {
    stdio: ['ignore', out, out],
    env: { ...process.env, ...options.env },
    ...(options.cwd ? { cwd: options.cwd } : {}),
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.once('error', () => undefined)
  running.add(child)
  void exited.then(() => running.delete(child))
  return {
    name,
    pid: child.pid ?? -1,
    log,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await exited
      clearTimeout(timer)
    },
  }
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
// A runner that is asked to stop takes its servers with it.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => process.exit(143))

export function tail(path: string, lines = 20): string {
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n') : ''
}

/** What takes longer than this on a machine five times slower than ours is taken for broken. */
export const TIMEOUT_SECONDS = 240

/** Asks until the answer is true; fails with what the daemon said when the deadline passes. */
export async function until(
  what: string,
  check: () => Promise<boolean> | boolean,
  seconds = TIMEOUT_SECONDS,
  daemon?: Daemon,
): Promise<void> {
  const end = Date.now() + seconds * 1000
  let last: unknown
  for (;;) {
    try {
      if (await check()) return
    } catch (error) {
      last = error
    }
    if (Date.now() > end) {
      const said = daemon ? `\n${tail(daemon.log)}` : ''
      throw new Error(`${what}: not within ${seconds} s${last instanceof Error ? ` (${last.message})` : ''}${said}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Names that requests come under, so that the audit log shows who did what. All of them may do everything. */
export const LAB_USERS = ['admin', 'core', 'capt', 'capt-2', 'actors'] as const
export type LabUser = (typeof LAB_USERS)[number]

export interface Kube {
  readonly folder: string
  readonly url: string
  readonly port: number
  readonly kubeconfig: string
  readonly kubeconfigText: string
  readonly caPem: string
  readonly token: string
  readonly authority: ReturnType<typeof createAuthority>
  readonly apiserver: Daemon
  readonly auditLog: string | undefined
  /** Path of a kubeconfig under another name. */
  kubeconfigOf(user: LabUser): string
  tokenOf(user: LabUser): string
  /** kubectl with this server's kubeconfig; stdout. */
  kubectl(args: readonly string[], input?: string): string
  restartApiserver(): Promise<void>
  /** An outage: nobody answers until `startApiserver`. */
  stopApiserver(): Promise<void>
  startApiserver(): Promise<void>
  /** Where etcd's gateway answers. */
  readonly etcd: string
  /** Forgets the history of etcd, so that no watch can go on from a version seen before. */
  compact(): Promise<void>
  /** With `etcdctl snapshot save`. */
  saveSnapshot(file: string): void
  /** Loses everything, and starts again from the snapshot. */
  restoreSnapshot(file: string): Promise<void>
  stop(): Promise<void>
}

export interface KubeOptions {
  /** Garbage collector, namespaces, service accounts, Jobs, Deployments. */
  readonly controllers?: boolean
  readonly audit?: boolean
  readonly name?: string
  /** Of the API server, beside those it is always given. */
  readonly flags?: readonly string[]
}

const CONTROLLERS = [
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'root-ca-certificate-publisher-controller',
  'clusterrole-aggregation-controller',
  'job-controller',
  'ttl-after-finished-controller',
  // Takes the not-ready taint, which the API server puts on every new Node, off those that report Ready.
  'node-lifecycle-controller',
].join(',')

export async function startKube(options: KubeOptions = {}): Promise<Kube> {
  const folder = mkdtempSync(join(tmpdir(), `capt-real-${options.name ?? 'kube'}-`))
  const [port, etcdPort, peerPort, kcmPort] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const file = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const authority = createAuthority({ name: 'capt-real' })
  const serving = issueCertificate(authority, {
    names: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
    ips: ['127.0.0.1', '10.96.0.1'],
    days: 2,
  })
  const secrets = Object.fromEntries(LAB_USERS.map((user) => [user, planted(randomBytes(16).toString('hex'))]))
  const tokenOf = (user: LabUser): string => secrets[user]!
  const token = tokenOf('admin')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const ca = file('ca.crt', authority.certificate)
  const saKey = file('sa.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  const tokens = file(
    'tokens.csv',
    LAB_USERS.map((user) => `${tokenOf(user)},${user},${user},system:masters\n`).join(''),
  )
  const url = `https://127.0.0.1:${port}`
  const cluster = { server: url, 'certificate-authority-data': Buffer.from(authority.certificate).toString('base64') }
  const kubeconfigTextOf = (user: LabUser): string =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'real', cluster }],
      users: [{ name: user, user: { token: tokenOf(user) } }],
      contexts: [{ name: 'real', context: { cluster: 'real', user } }],
      'current-context': 'real',
    })
  const kubeconfigText = kubeconfigTextOf('admin')
  const kubeconfig = file('kubeconfig', kubeconfigText)
  const kubeconfigOf = (user: LabUser): string =>
    user === 'admin' ? kubeconfig : file(`${user}.kubeconfig`, kubeconfigTextOf(user))

  const etcdFolder = join(folder, 'etcd')
  const member = ['--name=default', `--data-dir=${etcdFolder}`]
  const peers = [
    `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
  ]
  const startEtcd = async () => {
    const daemon = startDaemon('etcd', folder, binary('etcd'), [
      ...member,
      '--unsafe-no-fsync',
      '--log-level=warn',
      `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
      `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
      `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
      ...peers,
    ])
    await until(
      'etcd answers',
      async () => (await fetch(`http://127.0.0.1:${etcdPort}/health`)).ok,
      TIMEOUT_SECONDS,
      daemon,
    )
    return daemon
  }
  let etcd = await startEtcd()

  const auditLog = options.audit ? join(folder, 'logs', 'audit.jsonl') : undefined
  const auditArgs = auditLog
    ? [
        `--audit-log-path=${auditLog}`,
        `--audit-policy-file=${file('audit.yaml', JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules: [{ level: 'Metadata' }] }))}`,
      ]
    : []
  const startApiserver = async () => {
    const daemon = startDaemon('kube-apiserver', folder, binary('kube-apiserver'), [
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${port}`,
      `--tls-cert-file=${file('apiserver.crt', serving.certificate)}`,
      `--tls-private-key-file=${file('apiserver.key', serving.key)}`,
      `--client-ca-file=${ca}`,
      `--token-auth-file=${tokens}`,
      '--authorization-mode=RBAC',
      '--service-account-issuer=https://kubernetes.default.svc',
      '--api-audiences=https://kubernetes.default.svc',
      `--service-account-key-file=${saKey}`,
      `--service-account-signing-key-file=${saKey}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      '--endpoint-reconciler-type=none',
      '--allow-privileged=true',
      '--enable-priority-and-fairness=false',
      '--profiling=false',
      ...auditArgs,
      ...(options.flags ?? []),
    ])
    await until(
      'kube-apiserver is ready',
      async () => (await ask(url, authority.certificate, token, '/readyz')) === 200,
      TIMEOUT_SECONDS,
      daemon,
    )
    return daemon
  }
  let apiserver = await startApiserver()
  const daemons: Daemon[] = []
  if (options.controllers ?? true) {
    const kcm = startDaemon('kube-controller-manager', folder, binary('kube-controller-manager'), [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${kcmPort}`,
      `--cert-dir=${join(folder, 'kcm')}`,
      '--leader-elect=false',
      '--use-service-account-credentials=false',
      `--root-ca-file=${ca}`,
      `--service-account-private-key-file=${saKey}`,
      `--controllers=${CONTROLLERS}`,
      // No kubelet sends heartbeats here.
      '--node-monitor-grace-period=24h',
      '--kube-api-qps=200',
      '--kube-api-burst=400',
    ])
    daemons.push(kcm)
    const account = '/api/v1/namespaces/default/serviceaccounts/default'
    await until(
      'kube-controller-manager works',
      async () => (await ask(url, authority.certificate, token, account)) === 200,
      TIMEOUT_SECONDS,
      kcm,
    )
  }
  return {
    folder,
    url,
    port,
    kubeconfig,
    kubeconfigText,
    caPem: authority.certificate,
    token,
    authority,
    get apiserver() {
      return apiserver
    },
    auditLog,
    etcd: `http://127.0.0.1:${etcdPort}`,
    kubeconfigOf,
    tokenOf,
    kubectl: (args, input) => kubectl(kubeconfig, args, input),
    async restartApiserver() {
      await apiserver.stop()
      apiserver = await startApiserver()
    },
    stopApiserver: () => apiserver.stop(),
    async startApiserver() {
      apiserver = await startApiserver()
    },
    async compact() {
      const ask = (path: string, body: object) =>
        fetch(`http://127.0.0.1:${etcdPort}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) })
      const answer = (await (await ask('kv/range', { key: 'AA==', limit: 1 })).json()) as {
        header: { revision: string }
      }
      const done = await ask('kv/compaction', { revision: answer.header.revision, physical: true })
      if (!done.ok) throw new Error(`etcd refused to compact: ${await done.text()}`)
    },
    saveSnapshot(to) {
      const endpoint = `--endpoints=http://127.0.0.1:${etcdPort}`
      execFileSync(binary('etcdctl'), [endpoint, 'snapshot', 'save', to], { stdio: 'ignore' })
    },
    async restoreSnapshot(from) {
      await apiserver.stop()
      await etcd.stop()
      rmSync(etcdFolder, { recursive: true })
      const revision = ['--bump-revision=1000000000', '--mark-compacted']
      execFileSync(binary('etcdutl'), ['snapshot', 'restore', from, ...member, ...peers, ...revision], {
        stdio: 'ignore',
      })
      etcd = await startEtcd()
      apiserver = await startApiserver()
    },
    async stop() {
      for (const daemon of daemons) await daemon.stop()
      await apiserver.stop()
      await etcd.stop()
      if (!process.env['CAPT_REAL_KEEP']) rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function kubectl(kubeconfig: string, args: readonly string[], input?: string): string {
  return execFileSync('kubectl', [`--kubeconfig=${kubeconfig}`, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(input === undefined ? {} : { input }),
  })
}

function ask(url: string, ca: string, token: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request(
      new URL(path, url),
      { ca, headers: { authorization: `Bearer ${token}` }, timeout: 3000 },
      (answer) => {
        answer.resume()
        answer.once('end', () => resolve(answer.statusCode ?? 0))
      },
    )
    call.once('error', reject)
    call.once('timeout', () => call.destroy(new Error('timeout')))
    call.end()
  })
}

export interface Capi {
  readonly version: CapiVersion
  readonly manager: Daemon
  stop(): Promise<void>
}

export interface CapiOptions {
  /** False when somebody else (clusterctl init) has installed the manifests and only the process is wanted. */
  readonly install?: boolean
  readonly webhooks?: boolean
  /** Where its webhooks answer, when the manifests were made before it started. */
  readonly port?: number
}

/** Core's manifests with services turned into loopback addresses; no Deployment and no cert-manager objects. */
export function coreManifests(
  kube: Kube,
  version: CapiVersion,
  webhookPort: number,
  webhooks = true,
): Record<string, unknown>[] {
  // biome-ignore lint/suspicious/noExplicitAny: foreign manifests of many kinds
  type Loose = Record<string, any>
  const base = `https://127.0.0.1:${webhookPort}`
  const caBundle = Buffer.from(kube.caPem).toString('base64')
  const raw = kubectl(kube.kubeconfig, [
    'label',
    '--local',
    '-f',
    join(capiFolder(version), 'core-components.yaml'),
    'loopback=1',
    '-o',
    'json',
  ])
  const documents = splitJson(raw) as Loose[]
  return documents.flatMap((document) => {
    delete document['metadata'].labels?.loopback
    delete document['metadata'].annotations?.['cert-manager.io/inject-ca-from']
    if (['Deployment', 'Certificate', 'Issuer', 'Service'].includes(document['kind'])) return []
    if (document['kind'] === 'CustomResourceDefinition' && document['spec'].conversion?.strategy === 'Webhook')
      document['spec'].conversion.webhook.clientConfig = { url: `${base}/convert`, caBundle }
    if (String(document['kind']).endsWith('WebhookConfiguration')) {
      if (!webhooks) return []
      for (const hook of document['webhooks'])
        hook.clientConfig = { url: base + hook.clientConfig.service.path, caBundle }
    }
    return [document]
  })
}

function splitJson(text: string): unknown[] {
  return JSON.parse(`[${text.trim().replace(/^\}\s*\{/gm, '},{')}]`) as unknown[]
}

export async function startCapi(kube: Kube, version: CapiVersion, options: CapiOptions = {}): Promise<Capi> {
  const [port, healthPort, metricsPort] = [options.port ?? (await freePort()), await freePort(), await freePort()]
  const certificates = join(kube.folder, `capi-${version}-certificates`)
  mkdirSync(certificates, { recursive: true })
  const serving = issueCertificate(kube.authority, { names: ['localhost'], ips: ['127.0.0.1'], days: 2 })
  writeFileSync(join(certificates, 'tls.crt'), serving.certificate)
  writeFileSync(join(certificates, 'tls.key'), serving.key, { mode: 0o600 })
  const manifests = coreManifests(kube, version, port, options.webhooks ?? true)
  const isHook = (document: Record<string, unknown>) => String(document['kind']).endsWith('WebhookConfiguration')
  const send = (documents: readonly Record<string, unknown>[]) =>
    documents.length > 0 &&
    kube.kubectl(
      ['apply', '--server-side', '--force-conflicts', '-f', '-'],
      documents.map((one) => JSON.stringify(one)).join('\n---\n'),
    )
  if (options.install ?? true) {
    send(manifests.filter((document) => !isHook(document)))
    kube.kubectl([
      'wait',
      '--for=condition=Established',
      '--timeout=240s',
      'crd',
      '-l',
      'cluster.x-k8s.io/provider=cluster-api',
    ])
  }
  const manager = startDaemon(
    `capi-manager-${version}`,
    kube.folder,
    capiBinary(version, 'capi-manager'),
    [
      '--leader-elect=false',
      `--webhook-port=${port}`,
      `--webhook-cert-dir=${certificates}`,
      `--health-addr=127.0.0.1:${healthPort}`,
      `--diagnostics-address=127.0.0.1:${metricsPort}`,
      '--insecure-diagnostics=true',
      '--feature-gates=ClusterTopology=true,MachinePool=true',
    ],
    { env: { KUBECONFIG: kube.kubeconfigOf('core'), POD_NAMESPACE: 'capi-system' } },
  )
  await until(
    'core Cluster API is ready',
    async () => (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).ok,
    TIMEOUT_SECONDS,
    manager,
  )
  await until(
    'core webhooks answer',
    async () => (await ask(`https://127.0.0.1:${port}`, kube.caPem, '', '/convert')) > 0,
    TIMEOUT_SECONDS,
    manager,
  )
  if (options.install ?? true) send(manifests.filter(isHook))
  return { version, manager, stop: () => manager.stop() }
}
