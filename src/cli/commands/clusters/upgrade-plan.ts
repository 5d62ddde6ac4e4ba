// Prints the steps of an upgrade in order, with the evidence of each, and changes nothing.
import { clusterKind } from '#api'
import { servedKind } from '#kube'
import { CaptError } from '#lib'
import { planUpgrade, readState, type UpgradePlan } from '#upgrade'
import { type Arguments, CONNECTION_OPTIONS, type Command, EXIT, withConnection } from '../../command.ts'
import { OUTPUT_OPTION, outputOf, printData } from '../../output.ts'

export const TARGET_OPTIONS = {
  kubernetes: {
    type: 'string',
    value: 'VERSION',
    about: 'Kubernetes version to reach, like 1.35; the newest that Flux and Karpenter support otherwise.',
  },
  'node-image': {
    type: 'string',
    value: 'ALIAS',
    about: "Image of Karpenter's nodes, like al2023@v20261102; what the control plane pinned otherwise.",
  },
} as const

export const command: Command = {
  name: 'upgrade plan',
  summary: 'Show the steps of an upgrade in order, with the evidence for each',
  positionals: 'CLUSTER',
  examples: {
    'upgrade plan demo': 'To the newest version of Kubernetes that Flux and Karpenter support',
    'upgrade plan demo --kubernetes 1.35': 'To a version of your choice',
  },
  options: { ...CONNECTION_OPTIONS, ...TARGET_OPTIONS, ...OUTPUT_OPTION },
  async run(args, io) {
    const output = outputOf(args, ['json', 'yaml'])
    const [name] = args.positionals
    if (name === undefined)
      throw new CaptError('CAPT_USAGE', 'upgrade plan needs the name of a cluster', { hint: 'capt upgrade plan demo' })
    return withConnection(args, io, async (connected) => {
      const kind = await servedKind(connected, clusterKind)
      const { target, image } = targetOf(args)
      const plan = planUpgrade(await readState(kind, name, connected), target, image)
      if (output === 'json' || output === 'yaml') {
        await printData({ ...plan, steps: plan.steps.map(({ component: _component, ...step }) => step) }, output, io)
        return EXIT.fine
      }
      io.stdout.write(renderPlan(plan))
      return EXIT.fine
    })
  },
}

export const targetOf = ({ values }: Arguments) => ({
  target: values['kubernetes'] as string | undefined,
  image: values['node-image'] as string | undefined,
})

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
