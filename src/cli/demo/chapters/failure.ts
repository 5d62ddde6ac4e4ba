// The third chapter: a fault of the simulation breaks Karpenter, capt describe explains it, and it is repaired.
import { AddonDelivery, ConfigMapKind, RETRY_ANNOTATION } from '#api'
import { clusterTree, renderStops, renderTree, stopsIn } from '#view'
import { CLUSTER, type Story } from '../story.ts'

/** The fault switches of the simulation, in the workload cluster. */
const SWITCHES = { namespace: 'kube-system', name: 'capt-simulation' }
const COMPONENT = 'karpenter'
const FAULT = 'crash'

export async function showFailure(story: Story): Promise<void> {
  const { screen, home } = story
  screen.chapter('A failure, explained', [
    {
      run: `kubectl --context ${CLUSTER.name} create configmap ${SWITCHES.name} -n ${SWITCHES.namespace} --from-literal ${COMPONENT}=${FAULT}`,
      about: 'a fault of the simulation, in the workload cluster',
    },
    { run: `capt retry adeliv ${CLUSTER.name}`, about: 'looks at the add-ons now, not within the minute' },
    { run: `capt describe cluster ${CLUSTER.name}` },
  ])
  const workload = (await home.manager.workloads.open(CLUSTER))?.objects
  if (!workload) throw new Error(`${CLUSTER.name} has no kubeconfig`)
  const data = { [COMPONENT]: FAULT }
  await workload.create(ConfigMapKind, { apiVersion: 'v1', kind: 'ConfigMap', metadata: SWITCHES, data } as never)
  await retry(story)
  const tree = await story.until('waiting for Karpenter to fail', (objects) => {
    const found = clusterTree(objects)
    return stopsIn(found).some(({ name }) => name === COMPONENT) ? found : undefined
  })
  screen.text('\n')
  screen.block((options) => renderTree(tree, options) + renderStops(tree, options))
  await workload.delete(ConfigMapKind, SWITCHES)
  screen.text('\n')
  screen.fact({ subject: 'fault', word: 'removed', evidence: `ConfigMap ${SWITCHES.name} deleted`, state: 'working' })
  await retry(story)
  const healthy = await story.until('waiting for Karpenter to work again', ({ deliveries, ...rest }) => {
    if (clusterTree({ deliveries, ...rest }).state !== 'ready') return undefined
    return deliveries.flatMap(({ status }) => status?.stages ?? []).find(({ name }) => name === COMPONENT)?.healthy
  })
  screen.fact({
    subject: COMPONENT,
    word: 'healthy',
    evidence: healthy.evidence?.filter((one) => one.startsWith('Deployment')).join(', ') ?? '',
  })
}

/** What `capt retry adeliv` does. Each time is another value. */
async function retry({ connected, io }: Story): Promise<void> {
  const annotations = { [RETRY_ANNOTATION]: new Date(io.clock.now()).toISOString() }
  await connected.objects.patch(AddonDelivery, CLUSTER, { type: 'merge', body: { metadata: { annotations } } })
}
