// Withdraws add-ons from a cluster that lives. The controller first finds the pods that would have nowhere to go: they are shown, and
// nothing is removed before a person has confirmed it. Without that the add-ons are kept.
import { AddonDelivery, AddonPipeline, clusterKind, conditionOf, type KindRef, keyOf, notFound } from '#api'
import { CONFIRM_REMOVAL_ANNOTATION, planWithdrawal, type Withdrawal } from '#app'
import { type Connected, servedKind } from '#kube'
import { CaptError, parseDuration, sleep } from '#lib'
import { readClusterObjects } from '#view'
import {
  type Arguments,
  CONNECTION_OPTIONS,
  type Command,
  EXIT,
  Interrupted,
  type Io,
  withConnection,
} from '../../command.ts'
import { confirm, YES_OPTION } from '../../output.ts'
import { createReporter } from '../../progress/reporter.ts'

const POLL_MS = 500

export const command: Command = {
  name: 'withdraw',
  summary: 'Remove add-ons from a cluster that lives, once it is known which pods have nowhere to go',
  positionals: 'CLUSTER STAGE...',
  examples: {
    'withdraw demo karpenter --dry-run': 'What would go with it, and the labels that ask for it',
    'withdraw demo karpenter --yes --wait 20m': 'Show the pods, confirm, and follow it to the end',
  },
  options: {
    ...CONNECTION_OPTIONS,
    'dry-run': { type: 'boolean', about: 'Show what would be removed and change nothing.' },
    wait: { type: 'string', value: 'DURATION', default: '15m', about: 'How long to follow it.' },
    ...YES_OPTION,
  },
  async run(args, io) {
    const [name, ...stages] = args.positionals
    if (name === undefined || stages.length === 0)
      throw new CaptError('CAPT_USAGE', 'withdraw needs a cluster and the stages', {
        hint: 'capt withdraw demo karpenter',
      })
    return withConnection(args, io, async (connected) => {
      const target = await read(connected, name, stages)
      const { going, labels } = target.withdrawal
      io.stdout.write(
        `Cluster ${name} loses ${going.join(', ')}; labels that ask for them: ${Object.keys(labels).join(', ')}\n`,
      )
      if (args.values['dry-run'] === true) return EXIT.fine
      if (!(await confirm(`Withdraw ${going.join(', ')} from cluster ${connected.namespace}/${name}?`, args, io)))
        return EXIT.failed
      return await withdraw(target, connected, args, io)
    })
  },
}

interface Target {
  readonly kind: KindRef
  readonly name: string
  readonly delivery: AddonDelivery
  readonly withdrawal: Withdrawal
}

async function read(connected: Connected, name: string, stages: readonly string[]): Promise<Target> {
  const { objects, namespace } = connected
  const kind = await servedKind(connected, clusterKind)
  const { cluster, deliveries } = await readClusterObjects(kind, name, connected)
  const has = ({ status }: AddonDelivery) => status?.stages?.some((one) => stages.includes(one.name))
  const delivery = deliveries.find(has) ?? deliveries[0]
  if (!delivery) throw notFound(AddonDelivery, { namespace, name })
  const { name: pipelineName, namespace: at = namespace } = delivery.spec.pipelineRef
  const pipeline = await objects.get<AddonPipeline>(AddonPipeline, { namespace: at, name: pipelineName })
  if (!pipeline) throw notFound(AddonPipeline, { namespace: at, name: pipelineName })
  return { kind, name, delivery, withdrawal: planWithdrawal(pipeline, delivery, cluster.metadata.labels ?? {}, stages) }
}

async function withdraw(target: Target, connected: Connected, args: Arguments, io: Io): Promise<number> {
  const { withdrawal, name, delivery } = target
  const { going, labels } = withdrawal
  await setLabels(target, connected, Object.fromEntries(Object.keys(labels).map((key) => [key, null])))
  const waitMs = parseDuration(String(args.values['wait']))
  const reporter = createReporter(io)
  for (let isConfirmed = false, shown = ''; ; ) {
    const now = await connected.objects.get<AddonDelivery>(AddonDelivery, keyOf(delivery))
    const states = now?.status?.stages?.filter((one) => going.includes(one.name)) ?? []
    if (!now || states.every(({ state }) => state === 'NotWanted')) {
      reporter.close()
      io.stdout.write(`Withdrew ${going.join(', ')} from cluster ${name}\n`)
      return EXIT.fine
    }
    const stop = conditionOf(now, 'Stalled')
    const text = stop?.status === 'True' ? stop.message : (states.find(({ message }) => message)?.message ?? '')
    if (text !== shown) reporter.line(text)
    shown = text
    if (stop?.reason === 'RemovalUnconfirmed' && !isConfirmed) {
      reporter.close()
      if (!(await confirm('Remove them all the same? These pods have nowhere to go.', args, io))) {
        await setLabels(target, connected, labels)
        io.stdout.write(`Kept ${going.join(', ')}\n`)
        return EXIT.failed
      }
      const body = { metadata: { annotations: { [CONFIRM_REMOVAL_ANNOTATION]: going.join(',') } } }
      await connected.objects.patch(AddonDelivery, keyOf(delivery), { type: 'merge', body })
      isConfirmed = true
    }
    if (reporter.elapsedMs() > waitMs) {
      reporter.close()
      io.stderr.write(`not through in time; it goes on by itself: capt describe cluster ${name}\n`)
      return EXIT.notReady
    }
    reporter.live(text || `waiting for ${going.join(', ')} to go`)
    await sleep(io.clock, POLL_MS, io.signal).catch(() => {
      reporter.close()
      throw new Interrupted('the removal goes on without this command')
    })
  }
}

const setLabels = ({ kind, name }: Target, { objects, namespace }: Connected, labels: object) =>
  objects.patch(kind, { namespace, name }, { type: 'merge', body: { metadata: { labels } } })
