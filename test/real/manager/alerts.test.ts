// Every alert of config/prometheus fires for the built manager when the thing it watches is broken, and not before: its own
// /metrics, evaluated by the real promtool with the rules that ship. Hours pass by the clock of the manager.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  AddonPipeline,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CHECK_DRIFT_ANNOTATION,
  ConfigMapKind,
  CustomResourceDefinitionKind,
  clusterKind,
  type KindRef,
  LeaseKind,
  PodKind,
  RETRY_ANNOTATION,
  readManifests,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { leaseName, suffixOf } from '#engine'
import type { Objects } from '#kube'
import { anApply, aTemplate } from '#testing'
import { waitUntil } from '../../shipped/support.ts'
import { clusterInMoto } from '../../support/aws/home.ts'
import { template, variablesOf } from '../../support/aws/moto-templates.ts'
import { NOTE_PROVIDER, type NoteProvider, startNoteProvider } from '../../support/engine/note-provider.ts'
import { alerts } from '../../support/prometheus.ts'
import { planted } from '../../support/secrets/planted.ts'
import { VERSIONS } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { openRules, type Rules, type Scrape } from '../support/managers/alerts.ts'
import { type ScrapedManager, scrapedManager } from '../support/managers/scraped-manager.ts'
import { prove } from '../support/proofs.ts'

const TIMEOUT_MS = 180_000
const API = 'infrastructure.cluster.x-k8s.io/v1beta1'
const NAMESPACE = 'capt-system'
const EXAMPLE = join(import.meta.dirname, '../../../examples/simulation.yaml')
const MAKES = 'resource "terraform_data" "x" {}'
const KINDS: readonly KindRef[] = [
  WorkspaceTemplate,
  WorkspaceTemplateApply,
  clusterKind('v1beta1'),
  CAPTCluster,
  CAPTControlPlane,
  AddonPipeline,
  ConfigMapKind,
  SecretKind,
]
/** Runs the command when it is made, or when it is destroyed. */
const runsModule = (command: string, when = '') => `resource "terraform_data" "x" {
  provisioner "local-exec" {
    command = ${JSON.stringify(command)}
    ${when}
  }
}`
const key = (name: string) => ({ namespace: NAMESPACE, name })

describe('the alerts, for a manager where something is broken', () => {
  const fired = new Set<string>()
  let rules: Rules
  let world: ScrapedManager
  let objects: Objects
  let provider: NoteProvider
  let silent: Server

  before(async () => {
    rules = openRules()
    provider = await startNoteProvider()
    // Accepts and never answers, like a workload API behind a broken network.
    silent = createServer().listen(0, '127.0.0.1')
    world = await scrapedManager()
    objects = world.cluster.objects
    const pod = await objects.create(PodKind, aPod('capt-0'))
    await world.start({ CAPT_POD: identity(pod), AWS_ENDPOINT_URL: 'http://127.0.0.1:1' })
  })
  after(async () => {
    await world?.end()
    await provider?.close()
    silent?.close()
    rules?.close()
  })

  async function create(...all: readonly object[]): Promise<void> {
    for (const object of all as readonly AnyObject[]) {
      const kind = KINDS.find((one) => one.kind === object.kind)!
      await objects.create(kind, { ...object, metadata: { ...object.metadata, namespace: NAMESPACE } })
    }
  }
  const make = (name: string, module: string, spec: object = {}, forProvider: object = {}) =>
    create(aTemplate(module, forProvider, { name }), anApply({ templateRef: { name }, ...spec }, key(name)))
  const annotate = (name: string, annotations: object) =>
    objects.patch(WorkspaceTemplateApply, key(name), { type: 'merge', body: { metadata: { annotations } } })
  async function untilApply(name: string, test: (apply: WorkspaceTemplateApply) => boolean): Promise<void> {
    let last: WorkspaceTemplateApply | undefined
    const holds = async () => {
      last = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key(name))
      return last !== undefined && test(last)
    }
    await waitUntil(name, holds, TIMEOUT_MS, () => `${JSON.stringify(last?.status)}\n${world.log()}`)
  }
  /** A Cluster with keys of its own, at the workload API that never answers. */
  async function createSigned(name: string): Promise<void> {
    const identity = { secretRef: { name: `${name}-keys` } }
    const stringData = { AWS_ACCESS_KEY_ID: 'AK', AWS_SECRET_ACCESS_KEY: planted('of-the-alerts') }
    await create({ apiVersion: 'v1', kind: 'Secret', metadata: identity.secretRef, stringData })
    await create(...clusterInMoto(name, { infra: { clusterName: name, identity }, plane: { identity } }))
  }
  const isApplied = ({ status }: WorkspaceTemplateApply) => status?.phase === 'Applied'

  /** Silent before and firing once it is broken; `minutes` pass before each look. */
  async function fires(alert: string, breakIt: (scrapes: Scrape[]) => unknown, minutes = 0): Promise<void> {
    const scrapes = [await world.scrape()]
    assertSilent(scrapes[0]!, alert)
    await breakIt(scrapes)
    await untilFiring(alert, scrapes, minutes)
  }
  async function untilFiring(alert: string, scrapes: readonly Scrape[], minutes = 0): Promise<void> {
    const isFiring = async () => {
      world.pass(minutes)
      return rules.fires(alert, [...scrapes, await world.scrape()])
    }
    await waitUntil(`${alert} fires`, isFiring, TIMEOUT_MS, world.log)
    fired.add(alert)
    prove('promtool', VERSIONS.promtool, `${alert} fires for a broken manager`)
  }
  const assertSilent = (scrape: Scrape, ...names: readonly string[]) => {
    for (const alert of names) assert.equal(rules.fires(alert, [scrape]), false, alert)
  }

  it('are silent while it is healthy', async () => {
    await make('locked', MAKES)
    await untilApply('locked', isApplied)
    assertSilent(await world.scrape(), ...alerts.map(({ alert }) => alert))
    assert.equal((await world.health()).status, 200)
  })

  it('CaptWorkspaceStalled, CaptRunsFail: four runs fail', async () => {
    const scrape = await world.scrape()
    assertSilent(scrape, 'CaptWorkspaceStalled')
    await fires('CaptRunsFail', async () => {
      for (const name of ['f1', 'f2', 'f3', 'f4']) await make(name, 'data "terraform_remote_state" "x" {}')
    })
    await untilFiring('CaptWorkspaceStalled', [scrape])
  })

  it('CaptLockAwaited: somebody works with Terraform by hand', () =>
    fires('CaptLockAwaited', async () => {
      const body = { spec: { holderIdentity: 'a person' } }
      await objects.patch(LeaseKind, key(leaseName(suffixOf(key('locked')))), { type: 'merge', body })
      await annotate('locked', { [RETRY_ANNOTATION]: '1' })
    }))

  it('CaptDrift: somebody changes what Terraform made', async () => {
    const env = [{ name: 'TF_REATTACH_PROVIDERS', value: provider.reattach }]
    const page = `${NOTE_PROVIDER}\nresource "note_page" "own" {\n  name = "own"\n  text = "ours"\n}`
    await make('notes', page, { driftDetection: { interval: '12h' } }, { env })
    await untilApply('notes', isApplied)
    await fires('CaptDrift', async () => {
      provider.pages.set('own', { ...provider.pages.get('own')!, text: 'theirs' })
      await annotate('notes', { [CHECK_DRIFT_ANNOTATION]: '1' })
    })
  })

  it('CaptAddonStageFailed: a check of its objects never holds', async () => {
    const all = readManifests(readFileSync(EXAMPLE, 'utf8'), EXAMPLE) as unknown as { readonly object: object }[]
    await create(...all.map(({ object }) => object))
    const manifest = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: about\n  namespace: default\n'
    await create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'team' }, data: { about: manifest } })
    const check = { type: 'Condition', apiVersion: 'v1', kind: 'ConfigMap', name: 'about', namespace: 'default' }
    const stage = {
      name: 'about',
      resources: [{ kind: 'ConfigMap', name: 'team' }],
      checks: [{ ...check, path: 'data.is', equals: 'there' }],
      timeout: '1s',
      retry: { limit: 0 },
    }
    const spec = { clusterSelector: { matchLabels: { 'fluxcd.io/enabled': 'true' } }, stages: [stage] }
    await fires('CaptAddonStageFailed', () =>
      create({ apiVersion: API, kind: 'AddonPipeline', metadata: { name: 'team' }, spec }),
    )
  })

  it('CaptRunQueueStuck, CaptRunTooLong, CaptDeletionTooLong: nothing ends for hours', async () => {
    const gate = join(world.folder, 'gate')
    await make('stuck', runsModule('exit 1', 'when = destroy'))
    await untilApply('stuck', isApplied)
    await objects.delete(WorkspaceTemplateApply, key('stuck'))
    await untilApply('stuck', ({ status }) => status?.run?.verb === 'destroy' && status.run.phase === 'Failed')
    const waits = `touch ${gate}.reached; while [ ! -e ${gate} ]; do sleep 0.1; done`
    await make('hung', runsModule(waits), { timeout: '10h' })
    await waitUntil('the run hangs', () => existsSync(`${gate}.reached`), TIMEOUT_MS, world.log)
    await make('behind', MAKES)
    await untilApply('behind', ({ status }) => status?.run?.phase === 'Queued')
    await fires('CaptRunQueueStuck', () => world.pass(35))
    const scrape = await world.scrape()
    assertSilent(scrape, 'CaptDeletionTooLong')
    await fires('CaptRunTooLong', () => world.pass(120))
    await untilFiring('CaptDeletionTooLong', [scrape])
    writeFileSync(gate, '')
    await untilApply('behind', isApplied)
  })

  it('CaptKubeconfigExpired: the key that signs it is taken away', async () => {
    const { port } = silent.address() as { port: number }
    const outputs = {
      cluster_name: 'signed',
      cluster_endpoint: `https://127.0.0.1:${port}`,
      cluster_certificate_authority_data: Buffer.from(world.cluster.server.caPem).toString('base64'),
    }
    const lines = Object.entries(outputs).map(
      ([name, value]) => `output "${name}" { value = ${JSON.stringify(value)} }`,
    )
    await create(template('moto-eks', `${variablesOf('eks-controlplane')}${lines.join('\n')}`))
    await createSigned('signed')
    const expiry = async () => (await world.scrape()).samples.get(EXPIRY) ?? ''
    await waitUntil('a token', async () => (await expiry()) !== '', TIMEOUT_MS, world.log)
    const first = await expiry()
    world.pass(11)
    await waitUntil('the next token', async () => (await expiry()) > first, TIMEOUT_MS, world.log)
    await fires('CaptKubeconfigExpired', async () => {
      const body = { data: { AWS_SECRET_ACCESS_KEY: null } }
      await objects.patch(SecretKind, key('signed-keys'), { type: 'merge', body })
      world.pass(16)
    })
  })

  it('CaptReconcileTooLong: a reconcile waits for a workload API that never answers', async () => {
    const alert = 'CaptReconcileTooLong'
    const isSilent = async () => !rules.fires(alert, [await world.scrape()])
    // The clock was moved on while one waited.
    await waitUntil('the end of that reconcile', isSilent, TIMEOUT_MS, world.log)
    // Each request has an end within a minute, so it is the clock that makes one too long.
    const waits = async () => {
      const connection = once(silent, 'connection', { signal: AbortSignal.timeout(TIMEOUT_MS) })
      await createSigned('mute')
      await connection
    }
    await fires(alert, waits, 6)
    // After fifteen minutes a restart would help, says the probe; once the reconcile has ended, no more.
    const isOverdue = async () => {
      world.pass(16)
      return /^fail reconciles: captcontrolplane works on capt-system\/\S+ for \d+ seconds$/m.test(
        (await world.health()).said,
      )
    }
    await waitUntil('it is not healthy', isOverdue, TIMEOUT_MS, world.log)
    await waitUntil('it is healthy', async () => (await world.health()).status === 200, TIMEOUT_MS, world.log)
  })

  it('CaptReconcilesFail: the API server refuses every status, as with the CRDs of another release', async () => {
    const crd = { name: 'workspacetemplateapplies.infrastructure.cluster.x-k8s.io' }
    const { spec } = (await objects.get<AnyObject & Loose>(CustomResourceDefinitionKind, crd))!
    const serve = (versions: unknown) =>
      objects.patch(CustomResourceDefinitionKind, crd, { type: 'merge', body: { spec: { versions } } })
    const other = structuredClone(spec.versions)
    other[0].schema.openAPIV3Schema.properties.status.properties.phase.enum = ['None']
    await fires('CaptReconcilesFail', async (scrapes) => {
      await serve(other)
      const names = Array.from({ length: 10 }, (_, i) => `refused-${i}`)
      for (const name of names) await make(name, MAKES, { suspend: true })
      for (let minute = 0; minute < 30; minute++) {
        world.pass(1)
        for (const name of names) await annotate(name, { minute: String(minute) })
        scrapes.push(await world.scrape())
      }
    })
    await serve(spec.versions)
  })

  it('CaptAbsent, CaptRunnerUnreachable: the node of the manager is gone with a run on it', async () => {
    const mark = join(world.folder, 'mark')
    await make('lost', runsModule(`touch ${mark}; sleep 600`))
    await waitUntil('the run is on', () => existsSync(mark), TIMEOUT_MS, world.log)
    await fires('CaptAbsent', world.lose)
    // The pod stays Running in the API, as it does when nobody can ask its node.
    await world.start({})
    await fires('CaptRunnerUnreachable', () => undefined, 2)
  })

  it('have each fired', () => {
    assert.deepEqual([...fired].sort(), alerts.map(({ alert }) => alert).sort())
  })
})

const EXPIRY = 'capt_kubeconfig_expiry_timestamp_seconds{namespace="capt-system",cluster="signed"}'

const aPod = (name: string): AnyObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: NAMESPACE, name },
    spec: { containers: [{ name: 'manager', image: 'capt' }] },
  }) as AnyObject

const identity = ({ metadata: { namespace, name, uid } }: AnyObject) => JSON.stringify({ namespace, name, uid })
