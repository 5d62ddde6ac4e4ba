// An uninstall where Karpenter no longer runs: what nobody would end is named first, and --force takes everything else away.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, type ConfigMap, ConfigMapKind, DeploymentKind, type KindRef, NodeKind } from '#api'
import { systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { type ResourceRef, readJournal } from '../journal.ts'
import { EC2NodeClassKind, NodeClaimKind, NodePoolKind } from '../kinds.ts'
import { exampleJournal } from '../survey/example.ts'
import type { Site } from './site.ts'
import { orphansOf, surveyRemoval, uninstall } from './uninstall.ts'

const TERMINATION = 'karpenter.sh/termination'
const MACHINE = 'i-0123456789'
const tag = (name: string, children: readonly object[] | string) =>
  typeof children === 'string' ? { name, text: children, children: [] } : { name, text: '', children }

interface Left {
  readonly claims: readonly string[]
  readonly machines: readonly string[]
  readonly isAlive?: boolean
  readonly made?: readonly ResourceRef[]
}

const RELEASE: ResourceRef = { type: 'release', name: 'karpenter', of: 'kube-system', value: 'flux' }

async function world({ claims, machines, isAlive = false, made = [RELEASE] }: Left) {
  const { objects, seed } = memoryCluster()
  const add = (kind: KindRef, name: string, more: object = {}) =>
    seed(kind, {
      apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`,
      kind: kind.kind,
      metadata: { name, ...more },
    } as AnyObject)
  const labels = { 'karpenter.sh/nodepool': 'default' }
  add(NodePoolKind, 'default')
  add(EC2NodeClassKind, 'default', { finalizers: ['karpenter.k8s.aws/termination'] })
  for (const name of claims) {
    add(NodeClaimKind, name, { labels, finalizers: [TERMINATION] })
    add(NodeKind, `node-of-${name}`, { labels, finalizers: [TERMINATION, 'example.com/mine'] })
  }
  if (isAlive)
    seed(DeploymentKind, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: 'kube-system', name: 'karpenter' },
      status: { availableReplicas: 1 },
    } as AnyObject)
  const journal = JSON.stringify(exampleJournal({ made }))
  const metadata = { namespace: 'kube-system', name: 'capt-karpenter' }
  await objects.create<ConfigMap>(ConfigMapKind, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { journal } })
  const instances = machines.map((id) => tag('item', [tag('instancesSet', [tag('item', [tag('instanceId', id)])])]))
  const said: string[] = []
  const site = {
    objects,
    aws: { region: 'eu-west-1', query: async () => tag('answer', [tag('reservationSet', instances)]) },
    cluster: { name: 'demo' },
    clock: systemClock,
    signal: new AbortController().signal,
    waitMs: 0,
    report: (text: string) => said.push(text),
  } as unknown as Site
  const kept = (await readJournal(objects))!
  const removal = await surveyRemoval(kept, site)
  const left = async () => {
    const names: string[] = []
    for (const kind of [NodePoolKind, NodeClaimKind, EC2NodeClassKind, ConfigMapKind])
      for await (const { metadata } of objects.list(kind)) names.push(`${kind.kind} ${metadata.name}`)
    return names
  }
  return { objects, said, removal, left, run: (isForced: boolean) => uninstall(kept, removal, isForced, site) }
}

describe('an uninstall where Karpenter does not run', () => {
  it('is refused with what nobody would end, and changes nothing', async () => {
    const { run, removal, left } = await world({ claims: ['default-a'], machines: [MACHINE] })
    assert.deepEqual(orphansOf(removal), ['NodeClaim default-a', `EC2 instance ${MACHINE}`])
    const before = await left()
    await assert.rejects(run(false), {
      code: 'CAPT_KARPENTER_NOT_DRAINED',
      message: `Karpenter does not run, so nobody would end NodeClaim default-a, EC2 instance ${MACHINE}`,
      hint: /capt karpenter install demo.*--force/,
    })
    assert.deepEqual(await left(), before)
  })

  it('ends by force: nothing waits for a finalizer of Karpenter, Nodes included, and those of others stay', async () => {
    const { objects, run, left } = await world({ claims: ['default-a'], machines: [MACHINE] })
    await run(true)
    assert.deepEqual(await left(), [])
    const node = await objects.get<AnyObject>(NodeKind, { name: 'node-of-default-a' })
    assert.deepEqual(node?.metadata.finalizers, ['example.com/mine'])
  })

  it('ends without force when no machine is left: its node class waits for nobody', async () => {
    const { run, left } = await world({ claims: [], machines: [] })
    await run(false)
    assert.deepEqual(await left(), [])
  })

  it('takes no finalizer from a controller that runs, and says what is not gone in time', async () => {
    const { run, left } = await world({ claims: ['default-a'], machines: [MACHINE], isAlive: true })
    await assert.rejects(run(true), { code: 'CAPT_KARPENTER_NOT_DRAINED', message: /in time: default-a/ })
    assert.ok((await left()).includes('NodeClaim default-a'))
  })

  it('leaves the pools and nodes of a Karpenter that capt did not bring', async () => {
    const { run, removal, left } = await world({ claims: ['default-a'], machines: [MACHINE], isAlive: true, made: [] })
    assert.deepEqual(orphansOf(removal), [])
    await run(false)
    assert.deepEqual(await left(), ['NodePool default', 'NodeClaim default-a', 'EC2NodeClass default'])
  })
})
