// Asks for another try, whatever became of the last one: a Terraform run of an apply, or the stages of a delivery.

import { AddonDelivery, notFound, RETRY_ANNOTATION, WorkspaceTemplateApply } from '#api'
import { clearSuspects, declareGone, findOwner, isOpen, readRecord } from '#engine'
import type { Connected } from '#kube'
import { CaptError } from '#lib'
import { type Arguments, CONNECTION_OPTIONS, type Command, EXIT, type Io, withConnection } from '../../command.ts'
import { confirm, YES_OPTION } from '../../output.ts'
import { findKind } from '../../resources.ts'

const RUN_OPTIONS = ['clear-suspects', 'holder-is-gone'] as const

export const command: Command = {
  name: 'retry',
  summary: 'Try again: a Terraform run of an apply, or the add-ons of a cluster',
  positionals: '[KIND] NAME',
  examples: {
    'retry demo-vpc': 'Start another run; the count of attempts begins again',
    'retry adeliv demo': 'Try the add-ons of cluster demo again, at once and from the first attempt',
    'retry demo-vpc --clear-suspects': 'The suspects were looked at: forget them, and run again',
    'retry demo-vpc --holder-is-gone': 'The machine of an unreachable run is gone for good',
  },
  options: {
    ...CONNECTION_OPTIONS,
    'clear-suspects': { type: 'boolean', about: 'Forget the resources that were in flight when a run was killed.' },
    'holder-is-gone': { type: 'boolean', about: 'Take the lock of a run whose machine you know to be gone.' },
    ...YES_OPTION,
  },
  async run(args, io) {
    const { word, name } = readWords(args.positionals)
    return withConnection(args, io, async (connected) => {
      const kind = word === undefined ? WorkspaceTemplateApply : await findKind(word, connected)
      if (kind === WorkspaceTemplateApply) return await retryApply(args, io, connected, name)
      if (kind === AddonDelivery) return await retryDelivery(args, io, connected, name)
      throw new CaptError('CAPT_USAGE', `retry does not work on ${kind.kind}`, {
        hint: 'capt retry NAME for a WorkspaceTemplateApply, capt retry adeliv NAME for an AddonDelivery',
      })
    })
  },
}

/** `demo-vpc`, `wtapply demo-vpc` or `wtapply/demo-vpc`. */
function readWords(positionals: readonly string[]): { readonly word?: string; readonly name: string } {
  const [first, second, ...more] = positionals.length === 1 ? positionals[0]!.split('/') : positionals
  if (!first || second === '' || more.length > 0)
    throw new CaptError('CAPT_USAGE', first ? 'retry takes a kind and one name' : 'retry needs a name', {
      hint: 'capt retry demo-vpc, or capt retry adeliv demo',
    })
  return second === undefined ? { name: first } : { word: first, name: second }
}

async function retryApply(args: Arguments, io: Io, connected: Connected, name: string): Promise<number> {
  const { objects, namespace } = connected
  const { owner, apply } = await findOwner(objects, { namespace, name })
  if (!apply) throw notFound(WorkspaceTemplateApply, { namespace, name })
  if (args.values['holder-is-gone'] === true) {
    const run = (await readRecord(objects, owner))?.record.run
    const who = run?.runner ?? run?.holder
    const question = `Is process ${who?.pid} on ${who?.host} gone for good? Two Terraforms at once would damage the state.`
    if (isOpen(run) && !(await confirm(question, args, io))) return EXIT.failed
    await declareGone(objects, io.clock, owner)
  }
  const cleared = args.values['clear-suspects'] === true ? await clearSuspects(objects, owner) : 0
  const open = (await readRecord(objects, owner))?.record.run
  await objects.patch(WorkspaceTemplateApply, { namespace, name }, { type: 'merge', body: request(io) })
  if (cleared > 0) io.stdout.write(`Forgot ${cleared} suspects\n`)
  io.stdout.write(`Asked for another run of ${namespace}/${name}; capt logs ${name} --follow shows it\n`)
  if (isOpen(open)) io.stderr.write(`A run is in progress: the new one follows it; capt cancel ${name} ends both\n`)
  if (apply.spec.suspend) io.stderr.write('It is suspended: nothing starts before spec.suspend is false\n')
  return EXIT.fine
}

async function retryDelivery(args: Arguments, io: Io, connected: Connected, name: string): Promise<number> {
  const wrong = RUN_OPTIONS.find((option) => args.values[option] === true)
  if (wrong)
    throw new CaptError('CAPT_USAGE', `--${wrong} is about Terraform runs, not about an AddonDelivery`, {
      hint: 'leave it out, or name a WorkspaceTemplateApply',
    })
  const { objects, namespace } = connected
  const delivery = await objects.get<AddonDelivery>(AddonDelivery, { namespace, name })
  if (!delivery) throw notFound(AddonDelivery, { namespace, name })
  await objects.patch(AddonDelivery, { namespace, name }, { type: 'merge', body: request(io) })
  const { clusterName, suspend } = delivery.spec
  io.stdout.write(`Asked for another try of ${namespace}/${name}; capt describe cluster ${clusterName} shows it\n`)
  if (suspend) io.stderr.write('It is suspended: nothing is tried before spec.suspend is false\n')
  return EXIT.fine
}

const request = ({ clock }: Io) => ({
  metadata: { annotations: { [RETRY_ANNOTATION]: new Date(clock.now()).toISOString() } },
})
