// One picture of one thing: the tree of a cluster or the story of an apply, and what to do when it stopped.
import type { Connected } from '#kube'
import { CaptError, sleep } from '#lib'
import { type Arguments, CONNECTION_OPTIONS, type Command, EXIT, type Io, withConnection } from '../../command.ts'
import { type Described, describeObject, renderDescribed } from '../../objects/describe.ts'
import { FILE_OPTION, filesOf, groupsOf, readGroup, SELECTOR_OPTION } from '../../objects/select.ts'
import { OUTPUT_OPTION, outputOf, printData, renderOptions } from '../../output.ts'
import { report } from '../../run.ts'

const POLL_MS = 1000

export const command: Command = {
  name: 'describe',
  summary: 'Show a cluster as a tree, and what to do when it stopped',
  positionals: 'KIND [NAME...] | KIND/NAME...',
  examples: {
    'describe cluster demo': 'The whole of one cluster',
    'describe cluster demo -w': 'The same, drawn again as it changes',
    'describe wtapply/demo-vpc -v': 'One Terraform workspace with every condition',
    'describe clusters -l env=prod -o json': 'Trees and stops as data',
  },
  options: {
    ...CONNECTION_OPTIONS,
    output: { ...OUTPUT_OPTION.output, value: 'json|yaml' },
    ...SELECTOR_OPTION,
    ...FILE_OPTION,
    verbose: { type: 'boolean', short: 'v', about: 'Conditions, templates, hashes and details of what is healthy.' },
    watch: { type: 'boolean', short: 'w', about: 'Stay, and draw it again until Ctrl-C.' },
  },
  async run(args, io) {
    if (args.positionals.length === 0 && filesOf(args).length === 0)
      throw new CaptError('CAPT_USAGE', 'describe needs a kind and a name', { hint: 'capt describe cluster demo' })
    const output = outputOf(args, ['json', 'yaml'])
    if (output !== undefined && args.values['watch'] === true)
      throw new CaptError('CAPT_USAGE', '--watch draws text; it cannot be combined with --output', {
        hint: 'capt get KIND NAME -w -o json prints changes as data',
      })
    return withConnection(args, io, async (connected) => {
      if (args.values['watch'] === true) return await redraw(args, connected, io)
      const { described, missing } = await describeAll(args, connected, io)
      if (output === 'json' || output === 'yaml') {
        const trees = described.map(({ tree }) => tree)
        const isOne = described.length === 1 && missing.length === 0
        if (described.length > 0) await printData(isOne ? trees[0] : { items: trees }, output, io)
      } else io.stdout.write(textOf(described, args, io))
      for (const error of missing) report(error, io)
      return missing.length > 0 ? EXIT.failed : EXIT.fine
    })
  },
}

async function describeAll(args: Arguments, connected: Connected, io: Io) {
  const described: Described[] = []
  const missing: CaptError[] = []
  for (const group of await groupsOf(args.positionals, args, { connected, io, command: 'describe' })) {
    const found = await readGroup(group, connected)
    missing.push(...found.missing)
    const namespace = group.namespace ?? connected.namespace
    for (const { metadata } of found.objects)
      described.push(await describeObject(group.kind, metadata.name, { ...connected, namespace }))
    if (found.objects.length + found.missing.length === 0)
      io.stderr.write(`No ${group.kind.plural} in namespace ${namespace}\n`)
  }
  return { described, missing }
}

function textOf(described: readonly Described[], args: Arguments, io: Io): string {
  const options = { ...renderOptions(io), isVerbose: args.values['verbose'] === true }
  return described.map((one) => renderDescribed(one, options)).join('\n')
}

/** In place on a terminal; elsewhere each picture that differs by more than its ages follows the last one. */
async function redraw(args: Arguments, connected: Connected, io: Io): Promise<never> {
  let shown = ''
  for (;;) {
    const { described, missing } = await describeAll(args, connected, io)
    const text =
      described.length === 0 ? `${missing.map(({ message }) => message).join('\n')}\n` : textOf(described, args, io)
    const content = JSON.stringify([described, missing.map(({ message }) => message)])
    if (io.stdout.isTerminal) io.stdout.write(`\u001b[H\u001b[2J${text}`)
    else if (content !== shown) io.stdout.write(`${shown === '' ? '' : '\n'}${text}`)
    shown = content
    await sleep(io.clock, POLL_MS, io.signal)
  }
}
