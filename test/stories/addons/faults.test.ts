import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { AddonDelivery, CustomResourceDefinitionKind, DeploymentKind, kindRef } from '#api'
import { KubeError } from '#kube'
import { type AddonsWorld, addonsWorld, conditionStatus } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const OCIRepository = kindRef('source.toolkit.fluxcd.io/v1', 'OCIRepository')
const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const stage = (name: string) => world.stage('demo', name)

describe('what goes wrong in the workload cluster', () => {
  it('a slow controller is waited for, with the count of what is available', async () => {
    world = await addonsWorld()
    await world.addCluster('demo', { faults: { 'source-controller': 'slow=30s' } })
    await world.until('it waits', () => stage('flux')?.reason === 'NotHealthy')
    assert.equal(stage('flux')?.message, 'Deployment source-controller: 0 of 1 available')
    assert.equal(stage('flux')?.healthy?.status, 'False')
    await world.until('ready', isReady, 100)
    assert.equal(stage('flux')?.lastError, undefined)
    assert.equal(stage('flux')?.attempts, undefined)
  })

  it('an image that cannot be pulled is named with what to do, and recovers when the registry does', async () => {
    world = await addonsWorld()
    await world.addCluster('demo', { faults: { 'helm-controller': 'pull' } })
    await world.until('the reason is seen', () => stage('flux')?.message?.includes('ImagePullBackOff'))
    await world.until(
      'the time is over',
      () =>
        stage('flux')?.lastError?.code === 'CAPT_STAGE_TIMEOUT' ||
        stage('flux')?.lastError?.code === 'CAPT_STAGE_UNHEALTHY',
      1200,
    )
    assert.match(stage('flux')?.lastError?.hint ?? '', /image cannot be pulled/)
    await world.setFault('demo', {})
    await world.until('ready', isReady, 200)
    assert.equal(stage('flux')?.lastError, undefined)
  })

  it('a crash loop is retried up to the limit, then a person is asked, and a repair is noticed without one', async () => {
    world = await addonsWorld()
    await world.addCluster('demo', { faults: { karpenter: 'crash' } })
    await world.until('the crash is seen', () => stage('karpenter')?.message?.includes('CrashLoopBackOff'))
    await world.until('capt gives up', () => stage('karpenter')?.state === 'Failed', 12_000)
    assert.equal(stage('karpenter')?.attempts, 5)
    assert.equal(conditionStatus(world.delivery('demo'), 'Stalled'), 'True')
    assert.match(stage('karpenter')?.lastError?.hint ?? '', /kubectl logs --previous/)
    await world.setFault('demo', {})
    await world.until('ready', isReady, 1500)
  })

  it('a chart that cannot be fetched stops before the gate: nothing of Karpenter is written', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo', { faults: { 'capt-probe': 'pull' } })
    await world.until('it is said', () => stage('flux')?.message?.includes('OCIArtifactPullFailed'))
    assert.match(stage('flux')?.lastError?.hint ?? '', /chart cannot be fetched/)
    await world.idle(5)
    assert.equal(workload.peek(DeploymentKind, { namespace: 'kube-system', name: 'karpenter' }), undefined)
    await world.setFault('demo', {})
    await world.until('ready', isReady, 100)
  })

  it('a CRD that does not arrive is named, and the stage goes on when it does', async () => {
    world = await addonsWorld()
    const missing = 'nodeclaims.karpenter.sh'
    const workload = await world.addCluster('demo', { faults: { [missing]: 'missing' } })
    await world.until('it is said', () => stage('karpenter')?.message?.includes(missing))
    assert.equal(stage('node-pool')?.reason, 'NeedsNotReady')
    await world.setFault('demo', {})
    await workload.others.create(CustomResourceDefinitionKind, {
      ...(workload.peek(CustomResourceDefinitionKind, { name: 'nodepools.karpenter.sh' }) as object),
      metadata: { name: missing },
    } as never)
    await world.until('ready', isReady, 100)
  })

  for (const [reason, shown, code] of [
    ['Unauthorized', 'WorkloadUnauthorized', 'CAPT_WORKLOAD_UNAUTHORIZED'],
    ['Unreachable', 'WorkloadUnreachable', 'CAPT_WORKLOAD_UNREACHABLE'],
    ['Forbidden', 'WorkloadForbidden', 'CAPT_WORKLOAD_FORBIDDEN'],
  ] as const) {
    it(`a workload API that answers ${reason} is reported as it is, and forgotten when it recovers`, async () => {
      world = await addonsWorld()
      await world.addCluster('demo')
      world.broken.set('default/demo', new KubeError(reason, `planned ${reason}`))
      await world.until('it is said', () => stage('flux')?.reason === shown)
      assert.equal(stage('flux')?.lastError?.code, code)
      world.broken.delete('default/demo')
      await world.until('ready', isReady, 200)
    })
  }

  it('Flux that breaks long after everything was well is noticed at the next check, and Karpenter is still watched', async () => {
    world = await addonsWorld()
    await world.addCluster('demo')
    await world.until('ready', isReady)
    await world.setFault('demo', { 'helm-controller': 'crash' })
    await world.until('it is seen', () => stage('flux')?.state === 'Checking', 1000)
    assert.equal(stage('karpenter')?.state, 'Healthy')
    await world.setFault('demo', {})
    await world.until('ready again', isReady, 1000)
  })

  it('one node only gets one replica of Karpenter, so that it fits', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo', { nodes: 1 })
    await world.until('Karpenter is healthy', () => stage('karpenter')?.state === 'Healthy')
    const deployment = workload.peek(DeploymentKind, { namespace: 'kube-system', name: 'karpenter' }) as unknown as {
      spec: { replicas: number }
    }
    assert.equal(deployment.spec.replicas, 1)
  })

  it('a person may ask for a retry after capt has given up', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo', { faults: { 'capt-probe': 'pull' } })
    await world.until('capt gives up', () => stage('flux')?.state === 'Failed', 6000)
    await world.setFault('demo', {})
    await workload.others.patch(
      OCIRepository,
      { namespace: 'flux-system', name: 'capt-probe' },
      { type: 'merge', body: { metadata: { annotations: { touched: 'yes' } } } },
    )
    const body = { metadata: { annotations: { 'capt.appthrust.com/retry': 'now' } } }
    await world.home.others.patch(AddonDelivery, { namespace: 'default', name: 'demo' }, { type: 'merge', body })
    await world.until('ready', isReady, 60)
    assert.equal(world.delivery('demo')?.status?.handledRetry, 'now')
  })
})
