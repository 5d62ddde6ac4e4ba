// The manager under its own service account and nothing more, through a cluster's life, with every request in the audit
// log: none is denied, and nothing is granted that was not used, but for the exceptions listed here with their reasons.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import {
  AddonDelivery,
  CAPTControlPlane,
  CAPTMachine,
  CAPTMachineDeployment,
  CAPTMachinePool,
  clusterKind,
  type KindRef,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { releaseFiles } from '../../../scripts/release-files.ts'
import { nodePoolExample } from '../../../scripts/templates.ts'
import type { ClusterActor } from '../../support/engine/cluster-actor.ts'
import { type Api, isTrue, openApi } from '../support/api.ts'
import { startKubelet } from '../support/kubelet.ts'
import { type Capi, freePort, type Kube, startCapi, startKube, until } from '../support/lab.ts'
import { toText } from '../support/manifests.ts'
import { prove } from '../support/proofs.ts'
import {
  eventually,
  type ManagerProcess,
  type Playing,
  startManagerProcess,
  startPlaying,
  workloadSecret,
  writeTemp,
} from '../support/world.ts'

const CAPI = 'v1.14.2'
const CLUSTER = clusterKind('v1beta2')
const EXAMPLE = readFileSync(join(import.meta.dirname, '../../../examples/simulation.yaml'), 'utf8')
const MACHINE_TEMPLATE = readFileSync(join(import.meta.dirname, '../../../templates/simulation-machine.yaml'), 'utf8')
const labels = { pool: 'singles' }
const DEPLOYMENT = {
  apiVersion: CAPTMachineDeployment.apiVersion,
  kind: CAPTMachineDeployment.kind,
  metadata: { name: 'singles', labels: { 'cluster.x-k8s.io/cluster-name': 'demo' } },
  spec: {
    replicas: 1,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        workspaceTemplateRef: { name: 'simulation-machine' },
        instanceType: 'm7i.large',
        nodeGroupRef: { name: 'demo-workers' },
      },
    },
  },
}
const files = releaseFiles({ version: '9.9.9' })
/** As clusterctl fills it in when nobody sets a variable. */
const filled = (name: string) => files.get(name)!.replace(/(?<!\$)\$\{[A-Z_]+:=([^}]*)\}/g, '$1')

interface Installed {
  readonly what: string
  readonly manifests: readonly string[]
  /** Namespace of the cluster. */
  readonly home: string
}

const INSTALLS: readonly Installed[] = [
  { what: 'install.yaml', manifests: [files.get('install.yaml')!], home: 'default' },
  {
    what: 'the two clusterctl providers',
    manifests: [filled('infrastructure-components.yaml'), filled('control-plane-components.yaml')],
    home: 'default',
  },
  {
    what: 'the namespaced overlay',
    manifests: [
      files.get('crds.yaml')!,
      JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capt-system' } }),
      files.get('install-namespaced.yaml')!,
    ],
    home: 'capt-system',
  },
]

interface Wanted {
  readonly namespace: string
  readonly account: string
  /** As the Deployment gives them, but for what only a pod has: ports and folders. */
  readonly args: readonly string[]
  readonly runnerImage: string | undefined
  readonly hasMetrics: boolean
}

/** The managers that a kubelet would start. */
function managersOf(manifests: readonly string[]): Wanted[] {
  return objectsOf(manifests)
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ metadata, spec }) => {
      const { serviceAccountName: account, containers } = spec!.template.spec
      const { namespace = '' } = metadata
      const args = containers[0]!.args.map((arg) => arg.replaceAll('$(POD_NAMESPACE)', namespace))
      assert.equal(args[0], 'manager')
      const isPods = (arg: string) => /^--(work-dir|health-probe-bind-address|metrics-bind-address)=/.test(arg)
      const hasMetrics = args.some((arg) => arg.startsWith('--metrics-bind-address='))
      const runnerImage = containers[0]!.env.find(({ name }) => name === 'CAPT_RUNNER_IMAGE')?.value
      return { namespace, account, args: args.slice(1).filter((arg) => !isPods(arg)), hasMetrics, runnerImage }
    })
}

const SWEEP = 'list serviceaccounts.'

const OWNER_REFERENCES =
  'asked for by the admission plugin OwnerReferencesPermissionEnforcement, which this server does not run'

/** Granted although this life does not need it, or cannot show that it does. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'update captclusters/finalizers.infrastructure.cluster.x-k8s.io': OWNER_REFERENCES,
  'update captcontrolplanes/finalizers.controlplane.cluster.x-k8s.io': OWNER_REFERENCES,
  'update captmachinepools/finalizers.infrastructure.cluster.x-k8s.io': OWNER_REFERENCES,
  'delete captmachinepools.infrastructure.cluster.x-k8s.io': 'only when a control plane is deleted without its Cluster',
  ...Object.fromEntries(
    ['captmachines', 'captmachinesets', 'captmachinedeployments'].flatMap((plural) => [
      [`update ${plural}/finalizers.infrastructure.cluster.x-k8s.io`, OWNER_REFERENCES],
      [`delete ${plural}.infrastructure.cluster.x-k8s.io`, 'only those that nothing else deletes, with their Cluster'],
    ]),
  ),
  'get machines.cluster.x-k8s.io': 'only for a machine that a core Machine owns',
  'patch machinepools.cluster.x-k8s.io': 'only when an autoscaler owns the replicas of a pool',
  'get events.events.k8s.io': 'only when a manager before this one has recorded the same',
  'patch events.events.k8s.io': 'only when the same happens again',
  'patch clusterresourcesets.addons.cluster.x-k8s.io': 'only when a new version needs other payloads',
  'delete addondeliveries.infrastructure.cluster.x-k8s.io': 'only when a cluster is no longer selected',
  'get addonpipelines.infrastructure.cluster.x-k8s.io':
    'only when load balancers are left after EKS is gone: the pipeline may forbid to delete them',
  'get workspacetemplateapplies.infrastructure.cluster.x-k8s.io': 'only when a pipeline takes variables from one',
  'get pods.': 'only when a run of an earlier pod is left, whose end proves that the run is dead',
  'get clusters.cluster.x-k8s.io':
    'given to runs, which begin nothing under a pause: nobody gives away what they do not have',
  'patch leases.coordination.k8s.io': 'given to runs, which hold the locks: nobody gives away what they do not have',
  'list events.': 'only when no pod is made for a Job: they say why',
}

for (const { what, manifests, home } of INSTALLS) {
  const managers = managersOf(manifests)
  describe(`with the rights of ${what}`, () => {
    let folder: string
    let management: Kube
    let workload: Kube
    let capi: Capi
    let playing: Playing
    let kubelet: ClusterActor
    let api: Api
    const running: ManagerProcess[] = []
    const metricsPorts = new Map<string, number>()
    const healthPorts: number[] = []
    const cluster = { namespace: home, name: 'demo' }

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'capt-real-rights-'))
      management = await startKube({ name: 'rights', audit: true })
      workload = await startKube({ name: 'rights-workload' })
      api = openApi(management)
      capi = await startCapi(management, CAPI)
      for (const text of manifests) management.kubectl(['apply', '--server-side', '-f', '-'], text)
      management.kubectl(['apply', '-f', '-'], JSON.stringify(workloadSecret(cluster, workload)))
      playing = await startPlaying(cluster, management, workload)
      kubelet = await startKubelet(management, 'capt-system', folder)
      for (const { namespace, account, args, hasMetrics, runnerImage } of managers) {
        const port = await freePort()
        if (hasMetrics) metricsPorts.set(namespace, port)
        const kubeconfig = writeTemp(
          folder,
          namespace,
          kubeconfigOf(management, tokenOf(management, namespace, account)),
        )
        const healthPort = await freePort()
        healthPorts.push(healthPort)
        const health = `--health-probe-bind-address=[::]:${healthPort}`
        const metrics = hasMetrics ? [`--metrics-bind-address=[::]:${port}`] : []
        // Nothing on its PATH: a manager that starts Terraform itself would fail.
        const env = {
          POD_NAMESPACE: namespace,
          PATH: dirname(process.execPath),
          ...(runnerImage ? { CAPT_RUNNER_IMAGE: runnerImage } : {}),
        }
        running.push(await startManagerProcess(kubeconfig, folder, [...args, health, ...metrics], env))
      }
    })
    after(async () => {
      for (const manager of running) await manager.stop()
      await kubelet?.stop()
      await playing?.stop()
      api?.close()
      await capi?.stop()
      await workload?.stop()
      await management?.stop()
      if (folder) rmSync(folder, { recursive: true, force: true })
    })

    const seen = async (what: string, check: () => Promise<boolean>, seconds?: number): Promise<void> => {
      try {
        await eventually({ manager: running[0]!, capi }, what, check, seconds)
      } catch (error) {
        const [delivery] = await api.list(AddonDelivery, { namespace: home })
        throw new Error(`${(error as Error).message}\ndelivery: ${JSON.stringify(delivery?.['status']?.stages)}`)
      }
    }
    const holds = async (kind: KindRef, type: string) => isTrue(await api.find(kind, 'demo', home), type)

    it('a cluster comes up, is upgraded and goes away', async () => {
      // What the older project left: a Secret of another type, which cannot be changed and is recreated.
      management.kubectl([
        'create',
        'secret',
        'generic',
        'demo-user-kubeconfig',
        '-n',
        home,
        '--from-literal=value=old',
      ])
      management.kubectl(['apply', '-n', home, '-f', '-'], EXAMPLE)
      await seen('the control plane is available', () => holds(CAPTControlPlane, 'Available'))
      await seen('the add-ons are ready', () => holds(AddonDelivery, 'Ready'), 480)
      management.kubectl(['apply', '-n', home, '-f', '-'], toText(nodePoolExample()))
      const pool = () => api.find(CAPTMachinePool, 'demo-workers', home)
      await seen('a node group is made', async () => isTrue(await pool(), 'NodeGroupReady'))
      management.kubectl(['apply', '-n', home, '-f', '-'], MACHINE_TEMPLATE)
      management.kubectl(['apply', '-n', home, '-f', '-'], JSON.stringify(DEPLOYMENT))
      const machines = () => api.list(CAPTMachine, { namespace: home })
      await seen('a machine is made', async () => (await machines()).some(({ spec }) => spec.providerID !== undefined))
      await api.patch(CAPTControlPlane, 'demo', { spec: { version: 'v1.36.0' } }, home)
      const version = async () => (await api.get(CAPTControlPlane, 'demo', home))['status'].version as string
      await seen('the new version runs', async () => (await version()) === 'v1.36.0')
      await seen('the add-ons are ready again', () => holds(AddonDelivery, 'Ready'), 480)
      const options = { 'installation.appthrust.com/eks-karpenter': null }
      await api.patch(CLUSTER, 'demo', { metadata: { labels: options } }, home)
      await seen('Karpenter is taken away again', async () => {
        const { stages } = (await api.get(AddonDelivery, 'demo', home))['status']
        return stages.some(({ name, state }: Stage) => name === 'karpenter' && state === 'NotWanted')
      })
      await api.remove(CLUSTER, 'demo', home)
      const kinds = [CLUSTER, WorkspaceTemplateApply, AddonDelivery, CAPTMachineDeployment, CAPTMachine]
      const left = async () => (await Promise.all(kinds.map((kind) => api.list(kind, { namespace: home })))).flat()
      await seen('everything is gone', async () => (await left()).length === 0, 600)
      const templates = ['simulation-vpc', 'simulation-eks-controlplane', 'simulation-node-group', 'simulation-machine']
      for (const name of templates) await api.remove(WorkspaceTemplate, name, home)
      await seen('the templates are gone', async () => (await api.list(WorkspaceTemplate)).length === 0)
    })

    it('probes are answered on the address of the manifests', async () => {
      for (const port of healthPorts)
        for (const path of ['healthz', 'readyz'])
          assert.equal((await fetch(`http://127.0.0.1:${port}/${path}`)).status, 200, path)
    })

    if (managers.some(({ hasMetrics }) => hasMetrics))
      it('metrics are read by those who may, and by nobody else', async () => {
        management.kubectl(['create', 'serviceaccount', 'reader', '-n', 'default'])
        const token = tokenOf(management, 'default', 'reader')
        for (const port of metricsPorts.values()) assert.equal(await scrape(port, token), 403)
        const roles = management.kubectl(['get', 'clusterrole', '-o', 'name']).match(/\S*metrics-reader\S*/g) ?? []
        for (const [i, role] of roles.entries()) {
          const name = role.split('/')[1]!
          const subject = '--serviceaccount=default:reader'
          management.kubectl(['create', 'clusterrolebinding', `reader-${i}`, `--clusterrole=${name}`, subject])
        }
        for (const port of metricsPorts.values()) {
          assert.equal(await scrape(port, undefined), 401)
          // A refusal is remembered for ten seconds.
          await until('metrics are served', async () => (await scrape(port, token)) === 200)
        }
      })

    it('identities that nobody needs are looked for, a minute after the start', async () => {
      const has = (namespace: string, account: string) =>
        requestsOf(management, namespace, account).some(({ did }) => did === SWEEP)
      const sweeping = managers.filter(({ namespace, account }) =>
        grantsTo(manifests, namespace, account).includes(SWEEP),
      )
      assert.ok(sweeping.length > 0)
      await seen('the sweep', async () => sweeping.every(({ namespace, account }) => has(namespace, account)), 120)
    })

    it('nothing it asked for was denied', async () => {
      for (const manager of running.splice(0)) await manager.stop()
      for (const { namespace, account } of managers) {
        const mine = requestsOf(management, namespace, account)
        assert.ok(mine.length > 20, `${namespace}/${account} did something`)
        assert.deepEqual([...new Set(mine.filter(({ isDenied }) => isDenied).map(({ did }) => did))], [])
      }
    })

    it('nothing is granted that was not used', () => {
      for (const { namespace, account } of managers) {
        const used = new Set(requestsOf(management, namespace, account).flatMap(({ counts }) => counts))
        const granted = grantsTo(manifests, namespace, account)
        assert.ok(granted.length > 10)
        const unused = granted.filter((grant) => !used.has(grant) && !(grant in EXCEPTIONS))
        assert.deepEqual(unused, [], `${namespace}/${account}`)
        prove(
          'least privilege',
          CAPI,
          `${what}: ${namespace}/${account}`,
          `${used.size} of ${granted.length} grants used, 0 denied`,
        )
      }
    })
  })
}

function tokenOf(kube: Kube, namespace: string, account: string): string {
  return kube.kubectl(['create', 'token', account, '-n', namespace, '--duration=2h']).trim()
}

function kubeconfigOf(kube: Kube, token: string): string {
  const config = JSON.parse(kube.kubeconfigText) as { users: { user: { token: string } }[] }
  config.users[0]!.user.token = token
  return JSON.stringify(config)
}

interface Stage {
  readonly name: string
  readonly state: string
}

interface Request {
  /** `list secrets.` */
  readonly did: string
  /** What this request needed: an apply that creates needs both verbs. */
  readonly counts: readonly string[]
  readonly isDenied: boolean
}

function requestsOf(kube: Kube, namespace: string, account: string): Request[] {
  const username = `system:serviceaccount:${namespace}:${account}`
  const lines = readFileSync(kube.auditLog!, 'utf8').trimEnd().split('\n')
  return lines.flatMap((line): Request[] => {
    const event = JSON.parse(line) as {
      user: { username: string }
      verb: string
      objectRef?: { resource: string; subresource?: string; apiGroup?: string }
      responseStatus?: { code: number }
      annotations?: Readonly<Record<string, string>>
    }
    const { objectRef, verb } = event
    if (event.user.username !== username || !objectRef) return []
    const { resource, subresource, apiGroup = '' } = objectRef
    const on = `${subresource ? `${resource}/${subresource}` : resource}.${apiGroup}`
    const code = event.responseStatus?.code ?? 0
    const isMade = verb === 'patch' && code === 201
    return [
      {
        did: `${verb} ${on}`,
        counts: [`${verb} ${on}`, ...(isMade ? [`create ${on}`] : [])],
        isDenied: code === 403 || event.annotations?.['authorization.k8s.io/decision'] === 'forbid',
      },
    ]
  })
}

/** The fields of several kinds that are read here. */
interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: {
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string
        readonly containers: readonly {
          readonly args: readonly string[]
          readonly env: readonly { readonly name: string; readonly value?: string }[]
        }[]
      }
    }
  }
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly name: string; readonly namespace?: string }[]
  readonly rules?: readonly {
    readonly apiGroups?: readonly string[]
    readonly resources?: readonly string[]
    readonly verbs: readonly string[]
  }[]
}

function objectsOf(manifests: readonly string[]): Manifest[] {
  return manifests.flatMap((text) => parseAllDocuments(text).map((one) => one.toJS() as Manifest))
}

function grantsTo(manifests: readonly string[], namespace: string, account: string): string[] {
  const objects = objectsOf(manifests)
  const roles = objects.flatMap(({ roleRef, subjects }) =>
    subjects?.some((one) => one.name === account && one.namespace === namespace) ? [roleRef!] : [],
  )
  const rules = roles.flatMap(
    (role) => objects.find(({ kind, metadata }) => kind === role.kind && metadata.name === role.name)!.rules!,
  )
  const grants = rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`))),
  )
  return [...new Set(grants)]
}

function scrape(port: number, token: string | undefined): Promise<number> {
  const headers = token ? { authorization: `Bearer ${token}` } : {}
  return new Promise((resolve, reject) => {
    // The certificate is the manager's own, as in a cluster without cert-manager.
    const call = request(
      { host: '127.0.0.1', port, path: '/metrics', headers, rejectUnauthorized: false },
      (answer) => {
        answer.resume()
        answer.once('end', () => resolve(answer.statusCode ?? 0))
      },
    )
    call.once('error', reject)
    call.end()
  })
}
