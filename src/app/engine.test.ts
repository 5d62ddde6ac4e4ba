import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Informers } from '#kube'
import { silentLog, systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { engineOf, runAccounts, startEngine } from './engine.ts'

describe('The engine of a manager', () => {
  for (const [what, asked, isInPod, expected] of [
    ['in a pod is job', undefined, true, { isJob: true }],
    ['on a machine of its owner is the program on the PATH', undefined, false, { isJob: false }],
    ['in a pod is beside the manager where that is asked for', 'local', true, { isJob: false }],
    ['is the program that was asked for, also in a pod', 'tofu', true, { isJob: false, program: 'tofu' }],
    ['is job where that is asked for, also outside of a pod', 'job', false, { isJob: true }],
    ['is simulated where that is asked for', 'simulated', true, { isJob: false, program: 'simulated' }],
  ] as const)
    it(what, () => assert.deepEqual(engineOf(asked, { isInPod }), expected))
})

describe('The engine job', () => {
  it('caches of Jobs and pods the metadata alone, and those of runs alone', async () => {
    const registered: object[] = []
    const informers = {
      register: ({ kind }: { kind: string }, selection: object) => void registered.push({ kind, ...selection }),
      onChange: () => undefined,
    } as unknown as Informers
    const engine = await startEngine({
      workDir: '/nowhere',
      objects: memoryCluster().objects,
      clock: systemClock,
      log: silentLog,
      kubeconfigForRunner: () => assert.fail('nothing runs on this machine'),
      jobs: { runNamespace: 'runs', image: 'i', accounts: [], access: { server: 'https://10.0.0.1' }, informers },
    })
    const selection = { namespace: 'runs', labelSelector: 'capt.appthrust.com/workspace', metadataOnly: true }
    assert.deepEqual(registered, [
      { kind: 'Job', ...selection },
      { kind: 'Pod', ...selection },
    ])
    await engine.stop()
  })
})

describe('The account of runs towards the cloud', () => {
  for (const [what, given, expected] of [
    ['is capt-run where nobody names one', [], 'capt-run'],
    ['is the one that all namespaces have', ['shared'], 'shared'],
    ['is that of its namespace', ['shared', 'team-a=own'], 'own'],
    ['is not that of another namespace', ['team-b=theirs'], 'capt-run'],
  ] as const)
    it(what, () => assert.equal(runAccounts(given)('team-a'), expected))

  for (const text of ['', 'team-a=', '=own', 'team-a=b=c'])
    it(`is refused as "${text}"`, () => assert.throws(() => runAccounts([text]), { code: 'CAPT_USAGE' }))
})
