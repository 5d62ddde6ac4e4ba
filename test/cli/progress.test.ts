// Long work is never silent: off a terminal a line at least every ten seconds, on one the last line is drawn again at
// least every two. Time is that of a clock which moves as far as a command waits.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { CANCEL_ANNOTATION, CAPTCluster, clusterKind, WorkspaceTemplateApply } from '#api'
import { openSession } from '#kube'
import { newRecord } from '../../src/engine/record/record.ts'
import { writeRecord } from '../../src/engine/record/record-store.ts'
import { capt } from '../support/cli-io.ts'
import { type GoldenWorld, startGoldenWorld } from '../support/golden/world.ts'

const LATE = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: CAPTCluster
metadata: {name: late}
spec: {region: eu-west-1, vpcTemplateRef: {name: vpc}}
`
const WAITING: readonly (readonly [string, string?])[] = [
  ['apply -f - --wait 25s', LATE],
  ['delete wtapply scratch --yes --wait 25s'],
  ['plan shop-vpc --wait 25s'],
  ['cancel scratch --wait 25s'],
  ['rollout status workers --timeout 25s'],
  ['upgrade blog --kubernetes 1.35 --yes --wait 25s'],
  ['withdraw blog karpenter --yes --wait 25s'],
  ['move blog --to-kubeconfig FOLDER/target.yaml --yes --wait 25s'],
]

describe('While it waits', () => {
  let world: GoldenWorld
  before(async () => {
    world = await startGoldenWorld()
    const { objects, close } = await openSession({ kubeconfig: world.kubeconfig }, {})
    const key = { namespace: 'default', name: 'scratch' }
    const body = { metadata: { finalizers: ['example.com/held'] } }
    const { apiVersion, kind, metadata } = await objects.patch<WorkspaceTemplateApply>(WorkspaceTemplateApply, key, {
      type: 'merge',
      body,
    })
    const held = { metadata: { annotations: { 'clusterctl.cluster.x-k8s.io/block-move': '' } } }
    await objects.patch(CAPTCluster, { namespace: 'default', name: 'blog' }, { type: 'merge', body: held })
    const holder = { pid: 1, start: '1', host: 'elsewhere', machine: 'm', boot: 'b', space: 's' }
    const run = {
      id: 'a-run',
      verb: 'apply',
      phase: 'Apply',
      attempt: 1,
      startedAt: '2026-01-01T11:59:00Z',
      hash: 'h',
      holder,
      resumed: 0,
      folder: '/nowhere',
      timeoutSeconds: 60,
    } as const
    await writeRecord(objects, { ...key, uid: metadata.uid ?? '', apiVersion, kind }, undefined, {
      ...newRecord('w'),
      run,
    })
    await close()
    await capt(['rollout', 'restart', 'workers', '--kubeconfig', world.kubeconfig])
  })
  after(async () => {
    await world?.close()
  })
  // capt withdraw takes it off.
  beforeEach(async () => {
    const { objects, close } = await openSession({ kubeconfig: world.kubeconfig }, {})
    const body = { metadata: { labels: { 'installation.appthrust.com/eks-karpenter': 'enabled' } } }
    await objects.patch(clusterKind('v1beta2'), { namespace: 'default', name: 'blog' }, { type: 'merge', body })
    await close()
  })

  for (const [line, stdin] of WAITING)
    for (const [where, terminal, mostMs] of [
      ['off', false, 10_500],
      ['on', true, 2_000],
    ] as const)
      it(`capt ${line.split(' -')[0]} prints something every ${Math.floor(mostMs / 1000)} s ${where} a terminal, and ends with 3 or a reason`, async () => {
        const clock = world.clock()
        const times = [clock.monotonic()]
        const argv = line.replace('FOLDER', world.folder).split(' ')
        const { code, stderr } = await capt([...argv, '--kubeconfig', world.kubeconfig], {
          clock,
          terminal,
          ...(stdin === undefined ? {} : { stdin }),
          onWrite: () => times.push(clock.monotonic()),
        })
        assert.ok(clock.monotonic() >= 24_000, `it waited ${clock.monotonic()} ms: ${stderr}`)
        const gaps = times.map((time, i) => time - (times[i - 1] ?? 0))
        assert.ok(Math.max(...gaps) <= mostMs, `${Math.max(...gaps)} ms of silence: ${stderr}`)
        assert.ok(code === 3 || /error: .*\n {2}hint /.test(stderr), stderr)
      })

  it('capt describe -w draws again at least every 2 s on a terminal, until Ctrl-C', async () => {
    const clock = world.clock()
    const times = [clock.monotonic()]
    const argv = ['describe', 'cluster', 'blog', '-w', '--kubeconfig', world.kubeconfig]
    const onWrite = () => times.push(clock.monotonic())
    const { code } = await capt(argv, { clock, terminal: true, onWrite, interruptAfter: /\b6m30s\b/ })
    assert.equal(code, 130)
    assert.ok(times.length > 25, `${times.length} times`)
    assert.ok(Math.max(...times.map((time, i) => time - (times[i - 1] ?? 0))) <= 2_000)
  })

  it('capt cancel leaves its request on the apply', async () => {
    const { stdout } = await capt(['get', 'wtapply', 'scratch', '-o', 'json', '--kubeconfig', world.kubeconfig])
    assert.equal(JSON.parse(stdout).metadata.annotations[CANCEL_ANNOTATION], 'a-run')
  })
})
