// Prints the steps of an upgrade in order, with the evidence of each, and changes nothing.
import { clusterKind } from '#api'
import { servedKind } from '#kube'
import { CaptError } from '#lib'
import { planUpgrade, readState, type UpgradePlan } from '#upgrade'
import { CONNECTION_OPTIONS, type Command, EXIT, withConnection } from '../../command.ts'
import { OUTPUT_OPTION, outputOf, printData } from '../../output.ts'

export const KUBERNETES_OPTION = {
  kubernetes: {
    type: 'string',
    value: 'VERSION',
    about: 'Kubernetes version to reach, like 1.35; the newest that Flux and Karpenter support otherwise.',
  },
} as const

export const command: Command = {
  name: 'upgrade plan',
  group: 'Clusters',
  summary: 'Show the steps of an upgrade in order, with the evidence for each',
  positionals: 'CLUSTER',
  examples: [
    { run: 'upgrade plan demo', about: 'To the newest version of Kubernetes that Flux and Karpenter support' },
    { run: 'upgrade plan demo --kubernetes 1.35', about: 'To a version of your choice' },
  ],
  options: { ...CONNECTION_OPTIONS, ...KUBERNETES_OPTION, ...OUTPUT_OPTION },
  async run(args, io) {
    const output = outputOf(args, ['json', 'yaml'])
    const [name] = args.positionals
    if (name === undefined)
      throw new CaptError('CAPT_USAGE', 'upgrade plan needs the name of a cluster', { hint: 'capt upgrade plan demo' })
    return withConnection(args, io, async (connected) => {
      const kind = await servedKind(connected, clusterKind)
      const plan = planUpgrade(await readState(kind, name, connected), args.values['kubernetes'] as string | undefined)
      if (output === 'json' || output === 'yaml') {
        await printData({ ...plan, steps: plan.steps.map(({ component: _component, ...step }) => step) }, output, io)
        return EXIT.fine
      }
      io.stdout.write(renderPlan(plan))
      return EXIT.fine
    })
  },
}

const WHO = { capt: 'set', itself: 'by itself', person: 'by you' } as const

export function renderPlan({ cluster, from, to, steps }: UpgradePlan): string {
  if (steps.length === 0) return `Cluster ${cluster} runs Kubernetes ${from}: nothing to do\n`
  const rows = steps.map(({ name, from, to, by, how, evidence }, index) => {
    const change = to === 'none' ? `${name} ${from}` : `${name} ${from} -> ${to}`
    return `${String(index + 1).padStart(3)}. ${change}\n     ${WHO[by]}: ${how}\n     ${evidence}\n`
  })
  const head =
    from === to ? `Cluster ${cluster}, Kubernetes ${from}` : `Cluster ${cluster}, Kubernetes ${from} -> ${to}`
  return `${head}\n${rows.join('')}`
}
