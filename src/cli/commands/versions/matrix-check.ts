// Asks the version matrix about one combination, or about the versions a manifest names. Exit 1 when it is forbidden.
import { checkPair, defaultVersionsFor, eksState, type MatrixFault, type Pair } from '#catalog'
import { readManifests } from '#karpenter'
import { CaptError } from '#lib'
import { type Arguments, type Command, EXIT, type Io } from '../../command.ts'
import { versionsIn } from '../../manifest-versions.ts'
import { OUTPUT_OPTION, outputOf, printData } from '../../output.ts'
import { readSource } from '../../sources.ts'

interface Asked extends Pair {
  /** What asked: the flags, or an object of the manifest. */
  readonly from: string
}

interface Answer {
  readonly from: string
  readonly pair: Pair
  readonly faults: readonly MatrixFault[]
  readonly warnings: readonly MatrixFault[]
}

export const command: Command = {
  name: 'matrix check',
  summary: 'Check a version, a pair or a manifest against the matrix',
  examples: {
    'matrix check --kubernetes 1.34 --karpenter 1.0.7': 'One combination',
    'matrix check --kubernetes 1.35': 'What capt would install on this version',
    'matrix check -f cluster.yaml': 'The versions a manifest names',
  },
  options: {
    kubernetes: { type: 'string', value: 'VERSION', about: 'Kubernetes version of the cluster.' },
    flux: { type: 'string', value: 'VERSION', about: 'Flux version.' },
    karpenter: { type: 'string', value: 'VERSION', about: 'Karpenter version.' },
    filename: {
      type: 'string',
      short: 'f',
      value: 'FILE',
      about: 'Manifest to read the versions from; - for standard input.',
    },
    ...OUTPUT_OPTION,
  },
  async run(args, io) {
    const output = outputOf(args, ['json', 'yaml'])
    const asked = await questions(args, io)
    const today = new Date(io.clock.now()).toISOString().slice(0, 10)
    const answers = asked.map((question) => answer(question, today))
    if (output === 'json' || output === 'yaml') await printData(answers, output, io)
    else for (const one of answers) io.stdout.write(renderAnswer(one))
    return answers.some(({ faults }) => faults.length > 0) ? EXIT.failed : EXIT.fine
  },
}

async function questions(args: Arguments, io: Io): Promise<Asked[]> {
  const text = (name: string) => (typeof args.values[name] === 'string' ? (args.values[name] as string) : undefined)
  const flags = { flux: text('flux'), karpenter: text('karpenter') }
  const [kubernetes, filename] = [text('kubernetes'), text('filename')]
  if (!filename) {
    if (kubernetes) return [{ from: 'flags', kubernetes, ...flags }]
    throw new CaptError('CAPT_USAGE', 'nothing to check', { hint: 'give --kubernetes VERSION or -f FILE' })
  }
  const manifests = readManifests(await readSource(filename, io))
  const found = versionsIn(manifests, { kubernetes, ...flags })
  if (found.length > 0) return found
  throw new CaptError('CAPT_MATRIX_NOTHING', `${filename} names no Kubernetes version`, {
    hint: 'add --kubernetes VERSION',
  })
}

function answer({ from, ...pair }: Asked, today: string): Answer {
  return { from, pair, faults: checkPair(pair), warnings: supportWarnings(pair.kubernetes, today) }
}

function supportWarnings(kubernetes: string, today: string): MatrixFault[] {
  const state = eksState(kubernetes, today)
  if (state === 'extended')
    return [
      {
        code: 'CAPT_EKS_EXTENDED_SUPPORT',
        message: `Kubernetes ${kubernetes} is in extended support, which costs extra per cluster hour`,
        hint: 'plan an upgrade, one minor at a time',
      },
    ]
  if (state === 'ended')
    return [
      {
        code: 'CAPT_EKS_SUPPORT_ENDED',
        message: `EKS support for Kubernetes ${kubernetes} has ended: AWS upgrades the control plane by itself and creates none`,
        hint: 'choose a version from capt matrix',
      },
    ]
  return []
}

function renderAnswer({ from, pair, faults, warnings }: Answer): string {
  const named = [
    `Kubernetes ${pair.kubernetes}`,
    pair.flux ? `Flux ${pair.flux}` : '',
    pair.karpenter ? `Karpenter ${pair.karpenter}` : '',
  ]
  const title = `${from === 'flags' ? '' : `${from}: `}${named.filter((name) => name !== '').join(', ')}`
  const lines = [
    ...faults.flatMap(({ code, message, hint }) => [`  forbidden  ${message}  ${code}`, `             ${hint}`]),
    ...warnings.flatMap(({ code, message, hint }) => [`  warning    ${message}  ${code}`, `             ${hint}`]),
  ]
  if (faults.length === 0) lines.unshift(`  fine       ${choice(pair)}`)
  return `${[title, ...lines].join('\n')}\n`
}

function choice(pair: Pair): string {
  if (pair.flux && pair.karpenter) return 'these run together'
  const { flux, karpenter } = defaultVersionsFor(pair.kubernetes)
  return `capt would install ${[pair.flux ? '' : `Flux ${flux}`, pair.karpenter ? '' : `Karpenter ${karpenter}`].filter(Boolean).join(' and ')}`
}
