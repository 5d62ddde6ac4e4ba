// Shows what Terraform would change: the plan that waits for approval, or one that is made for the purpose and never applied.
import picocolors from 'picocolors'
import { type AnyObject, CLUSTER_NAME_LABEL, notFound, WorkspaceTemplateApply } from '#api'
import { type Speculated, speculate } from '#app'
import { type PlanText, readPlanText, readRecord } from '#engine'
import type { Connected } from '#kube'
import { CaptError, formatDuration, parseDuration } from '#lib'
import { type PaintLine, renderPlan } from '#view'
import { CONNECTION_OPTIONS, type Command, EXIT, filesOption, type Io, withConnection } from '../../command.ts'
import { OUTPUT_OPTION, outputOf, printData } from '../../output.ts'
import { applyNameOf } from '../../resources.ts'
import { planSpeculatively } from '../../speculative-plan.ts'

export const command: Command = {
  name: 'plan',
  summary: 'Show what Terraform would change',
  positionals: 'NAME|CLUSTER',
  examples: {
    'plan demo-vpc': 'The plan that waits for approval; otherwise one is made now and not applied',
    'plan demo': 'The same for every apply of a cluster',
    'plan -f cluster.yaml': 'What these manifests would change in the applies that are there',
  },
  options: {
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTION,
    ...filesOption('Manifests to plan instead.'),
    wait: { type: 'string', value: 'DURATION', default: '5m', about: 'How long to wait for a plan that is made now.' },
  },
  async run(args, io) {
    const [word] = args.positionals
    const name = word === undefined || /^clusters?\//i.test(word) ? word?.split('/')[1] : applyNameOf(word, 'plan')
    const files = (args.values['filename'] as readonly string[] | undefined) ?? []
    const output = outputOf(args, ['json', 'yaml'])
    if ((name === undefined) === (files.length === 0))
      throw new CaptError('CAPT_USAGE', 'plan needs a name or a file', {
        hint: 'capt plan demo-vpc, or capt plan -f cluster.yaml',
      })
    const waitMs = parseDuration(String(args.values['wait']))
    const manifests = files.length > 0 ? await (await import('../../sources.ts')).loadManifests(files, io) : []
    return withConnection(args, io, async (connected) => {
      const plans: Plan[] = []
      if (name === undefined) {
        const found = await speculate(
          connected.objects,
          connected.namespace,
          manifests.map(({ object }) => object as AnyObject),
        )
        for (const one of found) plans.push(await speculative(connected, one, waitMs, io))
      } else
        for (const apply of await findApplies(connected, name)) plans.push(await planOf(connected, apply, waitMs, io))
      if (output === 'json' || output === 'yaml') await printData(plans, output, io)
      else io.stdout.write(plans.map((plan) => describe(plan, io)).join('\n'))
      return EXIT.fine
    })
  },
}

interface Plan {
  readonly name: string
  readonly namespace: string
  /** Of a plan that waits for approval. */
  readonly hash?: string
  readonly madeAt?: string
  readonly expiresAt?: string
  readonly plan: PlanText
}

/** The apply of that name; otherwise those of the cluster of that name. */
async function findApplies(
  { objects, namespace }: Connected,
  name: string,
): Promise<readonly WorkspaceTemplateApply[]> {
  const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
  if (apply) return [apply]
  const options = { namespace, labelSelector: `${CLUSTER_NAME_LABEL}=${name}` }
  const items = await Array.fromAsync(objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, options))
  if (items.length === 0) throw notFound(WorkspaceTemplateApply, { namespace, name })
  return items
}

async function planOf(
  connected: Connected,
  { metadata, spec }: WorkspaceTemplateApply,
  waitMs: number,
  io: Io,
): Promise<Plan> {
  const { objects, namespace } = connected
  const key = { namespace, name: metadata.name }
  const proposed = (await readRecord(objects, key))?.record.proposed
  const plan = proposed && (await readPlanText(objects, key))
  if (!proposed || !plan) return await speculative(connected, { target: metadata.name, spec }, waitMs, io)
  const { hash, madeAt, expiresAt } = proposed
  return { ...key, hash, madeAt, expiresAt, plan }
}

async function speculative(connected: Connected, one: Speculated, waitMs: number, io: Io): Promise<Plan> {
  const plan = await planSpeculatively(connected, one, waitMs, io)
  return { name: one.target, namespace: connected.namespace, plan }
}

function describe({ name, namespace, hash, madeAt, expiresAt, plan }: Plan, io: Io): string {
  const text = renderPlan(plan, painter(io))
  if (hash === undefined || madeAt === undefined || expiresAt === undefined)
    return `Speculative plan for ${namespace}/${name}; nothing is applied\n\n${text}`
  const left = Date.parse(expiresAt) - io.clock.now()
  const until = left > 0 ? `expires in ${formatDuration(left)}` : 'has expired and is made again'
  const age = formatDuration(Math.max(0, io.clock.now() - Date.parse(madeAt)))
  return [
    `Plan ${hash} of ${namespace}/${name}, made ${age} ago, ${until}\n\n`,
    text,
    `\nTo apply it: capt approve ${name} --plan ${hash}\n`,
  ].join('')
}

function painter({ colour }: Io): PaintLine {
  const { green, red, yellow } = picocolors.createColors(colour)
  const bySymbol: Readonly<Record<string, (text: string) => string>> = { '+': green, '-': red, '~': yellow, '-/+': red }
  return (symbol, text) => bySymbol[symbol]?.(text) ?? text
}
