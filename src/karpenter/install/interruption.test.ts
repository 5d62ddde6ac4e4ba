// An installation by helm and its removal, killed before and after every single write: the same command continues without
// duplicates, and an uninstall leaves nothing. What is in AWS is there already; its steps are killed in test/stories.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type AnyObject,
  ConfigMapKind,
  CustomResourceDefinitionKind,
  DeploymentKind,
  type KindRef,
  NamespaceKind,
  SecretKind,
} from '#api'
import { KARPENTER_DEFINITIONS } from '#catalog'
import type { Objects } from '#kube'
import type { Clock } from '#lib'
import { memoryCluster } from '#testing'
import { readJournal } from '../journal.ts'
import { EC2NodeClassKind, listAll, NodePoolKind } from '../kinds.ts'
import { madeByModule, VERSION } from '../plan/example.ts'
import { planInstall } from '../plan/plan.ts'
import { readKubernetesSide } from '../survey/read-kubernetes.ts'
import { install } from './install.ts'
import type { Helm, Site } from './site.ts'
import { surveyRemoval, uninstall } from './uninstall.ts'

type Side = 'before' | 'after'
/** The process ends at the write with this number. */
interface Kill {
  readonly at: number
  readonly side: Side
}

const NEVER: Kill = { at: Number.POSITIVE_INFINITY, side: 'before' }
const WRITES = ['create', 'replace', 'patch', 'apply', 'delete']
const SEEN: readonly KindRef[] = [
  NamespaceKind,
  ConfigMapKind,
  SecretKind,
  DeploymentKind,
  CustomResourceDefinitionKind,
  NodePoolKind,
  EC2NodeClassKind,
]

/** Every look at it is a second later, and no pause takes time. */
function hastyClock(): Clock {
  let seconds = 0
  return {
    now: () => Date.now() + 1000 * seconds,
    monotonic: () => 1000 * ++seconds,
    after(_delayMs, callback) {
      const handle = setImmediate(callback)
      return { cancel: () => clearImmediate(handle) }
    },
  }
}

function world() {
  const { others, seed } = memoryCluster()
  const found = madeByModule('irsa', { hasChart: false })

  /** A process of capt with the helm that it starts: both end at the kill. */
  function processOf({ at, side }: Kill) {
    let writes = 0
    let isDead = false
    const write = async <T>(work: () => Promise<T> | T): Promise<T> => {
      if (isDead) throw new Error('killed')
      const isLast = ++writes === at
      if (isLast) isDead = true
      if (isLast && side === 'before') throw new Error('killed')
      const done = await work()
      if (isLast) throw new Error('killed')
      return done
    }
    const objects = new Proxy(others, {
      get: (target, verb: keyof Objects) => {
        const call = target[verb] as (...args: unknown[]) => Promise<unknown>
        return WRITES.includes(verb) ? (...args: unknown[]) => write(() => call.apply(target, args)) : call.bind(target)
      },
    })
    const site = {
      objects,
      helm: helmOver(objects, (kind, object) => write(() => void seed(kind, object))),
      aws: { region: 'eu-west-1', query: async () => ({ name: 'answer', text: '', children: [] }) },
      cluster: { name: 'demo' },
      clock: hastyClock(),
      signal: new AbortController().signal,
      waitMs: 0,
      report: () => undefined,
    } as unknown as Site
    return { site, wasKilled: () => isDead }
  }

  return {
    async install(kill = NEVER): Promise<boolean> {
      const { site, wasKilled } = processOf(kill)
      const { nodes, hasCni, hasDns } = found.kubernetes
      const kubernetes = { ...(await readKubernetesSide(others)), nodes, hasCni, hasDns }
      const survey = { ...found, helm: '/usr/bin/helm', kubernetes }
      const plan = planInstall(survey, { version: VERSION })
      assert.deepEqual(plan.refusals, [])
      await install(plan, survey, site).catch((error) => assert.ok(wasKilled(), error))
      return wasKilled()
    },
    async uninstall(kill = NEVER): Promise<boolean> {
      const { site, wasKilled } = processOf(kill)
      const kept = await readJournal(others)
      if (kept)
        await uninstall(kept, await surveyRemoval(kept, site), false, site).catch((error) =>
          assert.ok(wasKilled(), error),
        )
      return wasKilled()
    },
    /** Names of what there is, and of releases how their newest operation ended. */
    async observe(): Promise<readonly string[]> {
      const names = new Set<string>()
      for (const kind of SEEN)
        for (const { metadata } of await listAll(others, kind)) {
          const { name, status } = metadata.labels ?? {}
          names.add(kind === SecretKind ? `release ${name} ${status}` : `${kind.kind} ${metadata.name}`)
        }
      return [...names].sort()
    },
    made: async () => (await readJournal(others))?.journal.made.map(({ type, name }) => `${type} ${name}`) ?? [],
  }
}

/** As helm 3.19 was seen to work: a record first, which is pending until everything is there, and none beside a pending one. */
function helmOver(objects: Objects, bring: (kind: KindRef, object: AnyObject) => Promise<void>): Helm {
  const records = (name: string, namespace: string) =>
    listAll(objects, SecretKind, { namespace, labelSelector: `owner=helm,name=${name}` })
  return {
    path: 'helm',
    async upgrade({ name, namespace, version }) {
      const known = await records(name, namespace)
      if (known.some(({ metadata }) => metadata.labels?.['status']?.startsWith('pending')))
        throw new Error('another operation (install/upgrade/rollback) is in progress')
      const key = { namespace, name: `sh.helm.release.v1.${name}.v${known.length + 1}` }
      const status = known.length === 0 ? 'pending-install' : 'pending-upgrade'
      const labels = { owner: 'helm', name, status }
      await objects.create(SecretKind, { apiVersion: 'v1', kind: 'Secret', metadata: { ...key, labels } } as never)
      for (const [kind, object] of contentOf(name, namespace, version)) await bring(kind, object)
      const settle = (one: string, to: string) =>
        objects.patch(
          SecretKind,
          { namespace, name: one },
          { type: 'merge', body: { metadata: { labels: { status: to } } } },
        )
      await settle(key.name, 'deployed')
      for (const { metadata } of known) await objects.delete(SecretKind, { namespace, name: metadata.name })
    },
    async uninstall(name, namespace) {
      const known = await records(name, namespace)
      if (known.length === 0) return
      for (const [kind, { metadata }] of contentOf(name, namespace, VERSION))
        if (await objects.get(kind, metadata)) await objects.delete(kind, metadata)
      for (const { metadata } of known) await objects.delete(SecretKind, { namespace, name: metadata.name })
    },
  }
}

function contentOf(release: string, namespace: string, version: string): readonly (readonly [KindRef, AnyObject])[] {
  if (release === 'karpenter-crd')
    return KARPENTER_DEFINITIONS.filter(({ isShared }) => !isShared).map(({ name }) => [
      CustomResourceDefinitionKind,
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name },
        status: { conditions: [{ type: 'Established', status: 'True' }], storedVersions: ['v1'] },
      } as AnyObject,
    ])
  const labels = { 'app.kubernetes.io/name': 'karpenter', 'app.kubernetes.io/version': version }
  return [
    [
      DeploymentKind,
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { namespace, name: 'karpenter', labels },
        spec: { replicas: 2 },
        status: { availableReplicas: 2, conditions: [{ type: 'Available', status: 'True' }] },
      } as AnyObject,
    ],
  ]
}

const kills = (side: Side) => Array.from({ length: 60 }, (_, i): Kill => ({ at: i + 1, side }))

/** Kills at the first write, the second and so on, each in a world of its own, until the work ends by itself. */
async function killEverywhere(
  begin: (kill: Kill) => Promise<boolean>,
  check: (kill: Kill) => Promise<void>,
): Promise<void> {
  for (const side of ['before', 'after'] as const) {
    let count = 0
    for (const kill of kills(side)) {
      if (!(await begin(kill))) break
      await check(kill)
      count++
    }
    assert.ok(count > 10 && count < 60, `${count} kills`)
  }
}

describe('Karpenter by helm', () => {
  let one = world()
  const says = ({ at, side }: Kill) => `killed ${side} write ${at}`

  it('is installed by the same command after a kill at every write, without duplicates', async () => {
    await one.install()
    const [whole, made] = [await one.observe(), await one.made()]
    assert.ok(whole.includes('release karpenter deployed') && whole.includes('NodePool default'), whole.join())
    await killEverywhere(
      async (kill) => {
        one = world()
        return await one.install(kill)
      },
      async (kill) => {
        await one.install()
        assert.deepEqual([await one.observe(), await one.made()], [whole, made], says(kill))
      },
    )
  })

  it('leaves nothing when an installation that was killed at any write is rolled back', async () => {
    await killEverywhere(
      async (kill) => {
        one = world()
        return await one.install(kill)
      },
      async (kill) => {
        await one.uninstall()
        assert.deepEqual(await one.observe(), [], says(kill))
      },
    )
  })

  it('is uninstalled by the same command after a kill at every write', async () => {
    await killEverywhere(
      async (kill) => {
        one = world()
        await one.install()
        return await one.uninstall(kill)
      },
      async (kill) => {
        await one.uninstall()
        assert.deepEqual(await one.observe(), [], says(kill))
      },
    )
  })
})
