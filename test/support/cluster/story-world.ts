// A home for stories: the whole of capt in a folder of its own, real terraform and real kubectl where they are there,
// and hands that do what a person does. Without them the engine is the simulated one and the hands speak HTTP.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  type Condition,
  clusterKind,
  type KindRef,
  WorkspaceTemplateApply,
} from '#api'
import { isKubeError } from '#kube'
import type { Clock } from '#lib'
import { type Home, startHome } from '../../../src/app/home.ts'
import { capt, type Printed } from '../cli-io.ts'
import { findTool, run } from '../tools.ts'

export const ClusterKind = clusterKind('v1beta2')
export const terraform = findTool('terraform')
export const kubectl = findTool('kubectl')

const KINDS = { cluster: ClusterKind, captcluster: CAPTCluster, captcontrolplane: CAPTControlPlane } as const
export type Word = keyof typeof KINDS

export interface Request {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly code: number
}

export interface StoryHome {
  readonly home: Home
  readonly folder: string
  readonly kubeconfig: string
  /** Every request to the API that has ended. */
  readonly requests: Request[]
  capt(...argv: readonly string[]): Promise<Printed>
  apply(manifest: string): Promise<void>
  patch(word: Word, name: string, body: object, namespace?: string): Promise<void>
  remove(word: Word, name: string, namespace?: string): Promise<void>
  get<T extends AnyObject>(kind: KindRef, name: string, namespace?: string): Promise<T | undefined>
  /** Resolves when the test is true of the object; fails with its conditions when that takes too long. */
  until<T extends AnyObject>(
    kind: KindRef,
    name: string,
    test: (object: T) => boolean,
    options?: { readonly namespace?: string; readonly seconds?: number },
  ): Promise<T>
  untilGone(kind: KindRef, name: string, namespace?: string): Promise<void>
  stop(): Promise<void>
}

const SECONDS = 60
const RUNNER = [process.execPath, join(import.meta.dirname, '../../../src/main.ts')]

export async function storyHome(options: { readonly clock?: Clock } = {}): Promise<StoryHome> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-story-'))
  const requests: Request[] = []
  const log: string[] = []
  const home = await startHome({
    dataDir: join(folder, 'home'),
    host: '127.0.0.1',
    port: 0,
    ...(terraform ? {} : { engine: 'simulated' }),
    runner: RUNNER,
    logLevel: 'info',
    logTo: { write: (line) => void log.push(line) },
    env: process.env,
    onRequest: (request) => requests.push(request),
    ...(options.clock ? { clock: options.clock } : {}),
  }).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true })
    throw error
  })
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, home.kubeconfig, { mode: 0o600 })
  const { objects } = home
  const keyIn = (name: string, namespace = 'default') => ({ namespace, name })

  async function byHand(args: readonly string[], input?: string): Promise<void> {
    const ran = await run(kubectl!, ['--kubeconfig', kubeconfig, ...args], {
      ...(input === undefined ? {} : { input }),
      env: { HOME: folder },
    })
    assert.equal(ran.code, 0, `kubectl ${args.join(' ')}: ${ran.err}`)
  }

  return {
    home,
    folder,
    kubeconfig,
    requests,
    capt: (...argv) => capt([...argv, '--kubeconfig', kubeconfig], { cwd: folder }),
    async apply(manifest) {
      if (kubectl) return byHand(['apply', '-f', '-'], manifest)
      writeFileSync(join(folder, 'manifest.yaml'), manifest)
      const { code, stderr } = await capt(['apply', '-f', 'manifest.yaml', '--kubeconfig', kubeconfig], { cwd: folder })
      assert.equal(code, 0, stderr)
    },
    async patch(word, name, body, namespace = 'default') {
      if (kubectl) return byHand(['-n', namespace, 'patch', word, name, '--type=merge', '-p', JSON.stringify(body)])
      await objects.patch(KINDS[word], keyIn(name, namespace), { type: 'merge', body })
    },
    async remove(word, name, namespace = 'default') {
      if (kubectl) return byHand(['-n', namespace, 'delete', word, name, '--wait=false'])
      await objects.delete(KINDS[word], keyIn(name, namespace))
    },
    get: (kind, name, namespace) => objects.get(kind, keyIn(name, namespace)),
    async until(kind, name, test, { namespace, seconds = SECONDS } = {}) {
      const deadline = Date.now() + seconds * 1000
      for (;;) {
        const object = await objects.get<never>(kind, keyIn(name, namespace))
        if (object && test(object)) return object
        if (Date.now() > deadline)
          assert.fail(
            `${kind.kind} ${name} did not get there: ${JSON.stringify((object as { status?: unknown } | undefined)?.status, null, 1)}\n${log.slice(-20).join('')}`,
          )
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    async untilGone(kind, name, namespace) {
      const deadline = Date.now() + SECONDS * 1000
      for (;;) {
        const object = await objects.get<AnyObject & { status?: unknown }>(kind, keyIn(name, namespace))
        if (!object) return
        if (Date.now() > deadline)
          assert.fail(
            `${kind.kind} ${name} does not go: ${JSON.stringify([object.metadata, object.status], null, 1)}\n${log.slice(-20).join('')}`,
          )
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    async stop() {
      await home.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function conditionIn(object: AnyObject | undefined, type: string): Condition | undefined {
  const { conditions } = ((object as { status?: unknown } | undefined)?.status ?? {}) as { conditions?: Condition[] }
  return conditions?.find((condition) => condition.type === type)
}

export const isTrue = (object: AnyObject, type: string): boolean => {
  const condition = conditionIn(object, type)
  const { observedGeneration } = condition ?? {}
  return (
    condition?.status === 'True' &&
    (observedGeneration === undefined || observedGeneration === object.metadata.generation)
  )
}

export async function applies(world: StoryHome, namespace = 'default'): Promise<readonly WorkspaceTemplateApply[]> {
  const found: WorkspaceTemplateApply[] = []
  for await (const apply of world.home.objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace }))
    found.push(apply)
  return found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
}

/** What Terraform's own provisioners wrote: one line for each thing made or destroyed. */
export function readLedger(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean)
  } catch {
    return []
  }
}

export { isKubeError }
