// Looks at everything that is kept about clusters and their Terraform workspaces, and says what needs a person. Before a
// first cluster it checks whether one can be made from here.

import { AddonDelivery, type AnyObject } from '#api'
import {
  type Cloud,
  credentialSecretsOf,
  examineAbandoned,
  examineApply,
  examineCluster,
  examineObject,
  examinePods,
  examinePreflight,
  examineStaticKey,
  observeAbandoned,
  observePreflight,
  observeStaticKeys,
  observeWorkspace,
  planOf,
  readScope,
  withoutRepeats,
} from '#doctor'
import type { Connected, Objects } from '#kube'
import { type Examined, renderFindings } from '#view'
import {
  type Arguments,
  CONNECTION_OPTIONS,
  type Command,
  EXIT,
  filesOption,
  type Io,
  withConnection,
} from '../../command.ts'
import { filesOf } from '../../objects/select.ts'
import { OUTPUT_OPTION, outputOf, printData, renderOptions } from '../../output.ts'
import { findKind } from '../../resources.ts'
import { loadManifests } from '../../sources.ts'

type OpenCloud = (objects: Objects, io: Io) => Promise<Cloud>
type OpenRegion = (io: Io) => Promise<Parameters<typeof observePreflight>[1]['requests']>

export function doctorCommand(openCloud: OpenCloud, openRegion: OpenRegion): Command {
  return {
    name: 'doctor',
    summary: 'Say what needs a person; before a first cluster, whether one can be made from here',
    positionals: '[CLUSTER | KIND NAME]',
    examples: {
      doctor: 'Everything in the namespace',
      'doctor demo': 'One cluster',
      'doctor wtapply demo-vpc': 'One Terraform workspace',
      'doctor -f cluster.yaml': 'Preflight: tool, permissions, credentials, address ranges and quotas',
      'doctor demo --skip-aws -o json': 'As data, without asking AWS',
    },
    options: {
      ...CONNECTION_OPTIONS,
      ...OUTPUT_OPTION,
      output: { ...OUTPUT_OPTION.output, value: 'json|yaml' },
      ...filesOption('Check whether the clusters of these manifests can be made.'),
      'skip-aws': { type: 'boolean', about: 'Do not ask AWS what carries the tags of the workspaces.' },
    },
    /** 0: nothing needs a person. 1: something does. */
    async run(args, io) {
      const output = outputOf(args, ['json', 'yaml'])
      const words = args.positionals.length === 1 ? args.positionals[0]!.split('/') : args.positionals
      return withConnection(args, io, async (connected) => {
        const [first, second] = words
        if (filesOf(args).length > 0) {
          const manifests = await loadManifests(filesOf(args), io)
          const objects = manifests.map(({ object }) => object as AnyObject)
          return await show(await preflight(objects, args, connected, io), output, connected, io)
        }
        const scope = await readScope(
          second === undefined ? { name: first } : { kind: await findKind(first!, connected), name: second },
          connected,
        )
        const cloud = args.values['skip-aws'] === true ? undefined : await openCloud(connected.objects, io)
        const examined: Examined[] = []
        for (const apply of scope.applies)
          examined.push(examineApply(await observeWorkspace(connected, apply, cloud, io.clock.now())))
        const abandoned =
          args.positionals.length === 0 ? await observeAbandoned(connected.objects, connected.namespace) : []
        const secrets = credentialSecretsOf(scope.applies, scope.others)
        const keys = await observeStaticKeys(connected.objects, secrets, cloud?.askKeyAge)
        const others = [
          ...abandoned.map(examineAbandoned),
          ...keys.flatMap((key) => examineStaticKey(key, io.clock.now())),
          ...scope.clusters.map((one) => examineCluster(one, io.clock.now())),
          ...(await Promise.all(scope.others.map((object) => examineWithPods(object, connected, io)))),
        ]
        examined.push(...others.filter(({ findings }) => findings.length > 0))
        const isFirst = first === undefined && scope.applies.length + scope.clusters.length === 0
        if (isFirst) examined.push(...(await preflight([], args, connected, io)))
        return await show(withoutRepeats(examined), output, connected, io)
      })
    },
  }

  async function preflight(objects: readonly AnyObject[], args: Arguments, connected: Connected, io: Io) {
    const requests = args.values['skip-aws'] === true ? undefined : await openRegion(io)
    return examinePreflight(await observePreflight(planOf(objects, io.env), { connected, env: io.env, requests }))
  }
}

/** A delivery with the pods behind what fails. */
async function examineWithPods(object: AnyObject, { objects }: Connected, { clock }: Io): Promise<Examined> {
  const examined = examineObject(object, clock.now())
  if (object.kind !== AddonDelivery.kind) return examined
  const pods = await examinePods(objects, object as AddonDelivery, clock)
  return { ...examined, findings: [...examined.findings, ...pods] }
}

async function show(
  examined: readonly Examined[],
  output: ReturnType<typeof outputOf>,
  { namespace }: Connected,
  io: Io,
): Promise<number> {
  const needsPerson = examined.some(({ findings }) => findings.some(({ weight }) => weight === 'person'))
  if (output === 'json' || output === 'yaml') await printData({ namespace, needsPerson, examined }, output, io)
  else io.stdout.write(renderFindings(examined, renderOptions(io)))
  return needsPerson ? EXIT.failed : EXIT.fine
}

export const command: Command = doctorCommand(
  async (objects, io) => (await import('#app')).openCloud(objects, io.clock, io.env),
  async (io) => (await import('#app')).openRegion(io.clock, io.env, io.signal),
)
