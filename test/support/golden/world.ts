// The API server behind the golden files: fixed objects, run records, states, logs and a plan, at a time that stands still.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ALL_KINDS, type AnyObject, toCustomResourceDefinition, WorkspaceTemplateApply } from '#api'
import { startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { restoreState } from '#engine'
import { type Objects, openSession } from '#kube'
import type { Clock } from '#lib'
import { manualClock } from '#testing'
import type { Owner } from '../../../src/engine/owner.ts'
import { newRecord, type RunRecord } from '../../../src/engine/record/record.ts'
import { writeRecord } from '../../../src/engine/record/record-store.ts'
import { packPlanText } from '../../../src/engine/runner/plan/proposal.ts'
import { bundleRef, packBundle, saveBundle } from '../../../src/engine/saved/bundle.ts'
import { FIXTURE, type Made } from '../cli-objects.ts'
import { BLOG } from './blog.ts'
import { HELD } from './records.ts'

export const NOW = Date.parse('2026-01-01T12:00:00Z')
const MINUTES_10 = 600_000

export interface GoldenWorld {
  readonly folder: string
  /** A clock that moves by itself as far as a command waits; each command has one. */
  readonly clock: () => Clock
  readonly kubeconfig: string
  readonly steady: (text: string) => string
  close(): Promise<void>
}

export async function startGoldenWorld(): Promise<GoldenWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-golden-'))
  const serverClock = manualClock(NOW - MINUTES_10)
  const start = (name: string) =>
    startApiServer({
      dataDir: join(folder, name),
      clock: serverClock,
      crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), ...resourceSetDefinitions()],
      converters: { 'cluster.x-k8s.io/Cluster': convertCluster as never },
    })
  const server = await start('home')
  const target = await start('target')
  await Promise.all([server.ready(), target.ready()])
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, server.kubeconfig())
  writeFileSync(join(folder, 'target.yaml'), target.kubeconfig())
  // Port 9 is closed on every machine that does not serve the discard protocol.
  writeFileSync(join(folder, 'closed.yaml'), server.kubeconfig().replace(/127\.0\.0\.1:\d+/, '127.0.0.1:9'))
  const { objects, close } = await openSession({ kubeconfig }, {})
  const uids = new Map<string, string>()
  for (const made of [...FIXTURE, ...BLOG]) await create(objects, made, uids)
  for (const held of HELD) await hold(objects, held, folder, serverClock)
  await close()
  await serverClock.advance(MINUTES_10)
  return {
    folder,
    kubeconfig,
    clock: () => movingClock(NOW),
    steady: (text) => steady(text, folder),
    async close() {
      await server.close()
      await target.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function create(objects: Objects, { kind, object }: Made, uids: Map<string, string>): Promise<void> {
  const { status, ...rest } = object
  const ownerReferences = object.metadata.ownerReferences?.map((one) => ({ ...one, uid: uids.get(one.uid) ?? '' }))
  const metadata = { ...object.metadata, ...(ownerReferences ? { ownerReferences } : {}) }
  const made = await objects.create<AnyObject>(kind, { ...rest, metadata })
  uids.set(`${kind.kind}/${object.metadata.name}`, made.metadata.uid ?? '')
  if (status) await objects.replace<AnyObject>(kind, { ...made, status } as AnyObject, { subresource: 'status' })
}

async function hold(objects: Objects, held: (typeof HELD)[number], folder: string, clock: Clock) {
  const { name, record, log, plan, state } = held
  const key = { namespace: 'default', name }
  const { apiVersion, kind, metadata } = (await objects.get<AnyObject>(WorkspaceTemplateApply, key))!
  const owner = { ...key, uid: metadata.uid ?? '', apiVersion, kind }
  const whole: RunRecord = { ...newRecord(`w-${name}`), ...record, ...(await keepInputs(objects, owner, held, folder)) }
  await writeRecord(objects, owner, undefined, whole, log, plan && packPlanText(plan))
  if (state !== undefined) await restoreState(objects, clock, owner, state)
}

const TOOL = 'terraform 1.11.4'

async function keepInputs(objects: Objects, owner: Owner, { name, inputs }: (typeof HELD)[number], folder: string) {
  if (!inputs) return {}
  const work = join(folder, 'work', name)
  mkdirSync(work, { recursive: true })
  for (const [file, text] of Object.entries(inputs.files)) writeFileSync(join(work, file), text)
  const packed = packBundle(work, inputs, TOOL)
  const bundle = bundleRef(packed, inputs.hash, TOOL)
  await saveBundle(objects, owner, packed, bundle)
  return { bundle }
}

/** Every wait ends at once, and time has moved by as much. */
function movingClock(startMs: number): Clock {
  let elapsed = 0
  return {
    now: () => startMs + elapsed,
    monotonic: () => elapsed,
    after(delayMs, callback) {
      const timer = setImmediate(() => {
        elapsed += delayMs
        callback()
      })
      return { cancel: () => clearImmediate(timer) }
    },
  }
}

const steady = (text: string, folder: string): string =>
  text
    .replaceAll(folder, 'FOLDER')
    .replace(/(?!11111111|22222222)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replace(/(capt-bundle-\S+)-[a-z]{8}-(\d+)/g, '$1-HASH-$2')
    .replace(/("?resourceVersion"?: )"\d+"/g, '$1"N"')
    .replace(/https:\/\/127\.0\.0\.1:(?!9\b)\d+/g, 'https://SERVER')
    .replace(/http:\/\/127\.0\.0\.1:\d+/g, 'http://PAGE')
    .replace(/: \d+ bytes of \S+ encrypted with key \S+/g, ': SIZE bytes of TIME, encrypted with key KEY')
    .replace(/(token=|#)[A-Za-z0-9_-]{20,}/g, '$1TOKEN')
