// Adopts an EKS cluster that capt did not make: reads it and what runs in it, and writes objects that only read it; with its state
// and the template that made it, capt manages it from then on.
import { type AnyObject, clusterKind, readManifests } from '#api'
import type { ManagedAdoption } from '#import'
import { decideAdoption, PIPELINE_LABEL, pipelineName, readHelmRelease, readKubernetesSide } from '#karpenter'
import { type Connected, servedKind } from '#kube'
import { CaptError, parseDuration } from '#lib'
import { adoptManaged, checkManagedOptions, MANAGED_OPTIONS, readManaged } from '../../adopt/managed.ts'
import { type Arguments, CONNECTION_OPTIONS, type Command, EXIT, type Io, withConnection } from '../../command.ts'
import { adoptedManifest } from '../../new/adopted-manifest.ts'
import { CHECKS } from '../../new/manifest.ts'
import { YES_OPTION } from '../../output.ts'
import { waitForReady } from '../../progress/wait.ts'
import { applyManifests } from './apply.ts'

export const command: Command = {
  name: 'adopt',
  summary: 'Adopt an EKS cluster that capt did not make: read only, or whole with its Terraform state',
  positionals: 'EKS-CLUSTER',
  examples: {
    'adopt shop --region eu-west-1': 'Read the cluster, and print the manifest',
    'adopt shop --region eu-west-1 --yes --wait 10m': 'Apply it, and wait until the cluster is ready',
    'adopt shop --karpenter --yes': 'Also take over the Karpenter that Helm installed in it',
    'adopt shop --state shop.tfstate --template shop.yaml --yes --wait 10m':
      'Manage it as a whole: the state, and the template that made it; a first plan that is not empty is refused',
  },
  options: {
    ...CONNECTION_OPTIONS,
    region: { type: 'string', value: 'REGION', about: 'AWS region; $AWS_REGION otherwise.', check: CHECKS.region },
    name: {
      type: 'string',
      value: 'NAME',
      about: 'Name of the Cluster; that of the EKS cluster otherwise.',
      check: CHECKS.name,
    },
    'role-arn': { type: 'string', value: 'ARN', about: 'IAM role that the manager assumes for this cluster.' },
    flux: { type: 'boolean', about: 'Deliver Flux; one that runs is left as it is.' },
    karpenter: { type: 'boolean', about: 'Take over the Karpenter that Helm installed; brings Flux.' },
    ...MANAGED_OPTIONS,
    wait: { type: 'string', value: 'DURATION', about: 'With --yes: wait until the cluster is ready.' },
    yes: { ...YES_OPTION.yes, about: 'Apply the manifest instead of printing it.' },
  },
  async run(args, io) {
    const [eks] = args.positionals
    if (eks === undefined)
      throw new CaptError('CAPT_USAGE', 'adopt needs the name of an EKS cluster', {
        hint: 'capt adopt shop --region eu-west-1',
      })
    const name = text(args, 'name') ?? eks
    const fault = CHECKS.name(name)
    if (fault !== undefined)
      throw new CaptError('CAPT_USAGE', `${name} cannot be the name of a Cluster`, {
        hint: `${fault}: add --name NAME`,
      })
    checkManagedOptions(args)
    const isApplied = args.values['yes'] === true
    if (!isApplied) {
      io.stdout.write((await survey(eks, name, text(args, 'namespace') ?? 'default', args, io)).manifest)
      return EXIT.fine
    }
    return await withConnection(args, io, async (connected) => {
      if (args.values['karpenter'] === true) await refuseExisting(connected, name)
      const { manifest, managed } = await survey(eks, name, connected.namespace, args, io)
      const applied = managed
        ? await adoptManaged(managed, manifest, connected, args, io)
        : await applyManifests(readManifests(manifest, 'the adopted cluster'), { ...connected, io })
      if (managed) io.stderr.write(`Cluster ${name} is managed by capt: deleting it destroys EKS cluster ${eks}\n`)
      const wait = text(args, 'wait')
      return wait === undefined ? EXIT.fine : await waitForReady(applied, parseDuration(wait), connected, io)
    })
  },
}

/** Its add-ons follow another pipeline, which would answer to the same labels first. */
async function refuseExisting(connected: Connected, name: string): Promise<void> {
  const { objects, namespace } = connected
  const kind = await servedKind(connected, clusterKind)
  const cluster = await objects.get<AnyObject>(kind, { namespace, name })
  if (!cluster || cluster.metadata.labels?.[PIPELINE_LABEL] === pipelineName(name)) return
  throw new CaptError('CAPT_ADOPT_KARPENTER', `Cluster ${name} is there already`, {
    hint: `delete it first (an adopted one is only detached): capt delete cluster ${name}; nothing was changed`,
  })
}

const text = ({ values }: Arguments, name: string): string | undefined =>
  typeof values[name] === 'string' ? (values[name] as string) : undefined

interface Surveyed {
  readonly manifest: string
  readonly managed: ManagedAdoption | undefined
}

/** Reads the cluster with the credentials of the person, and answers its manifest. */
async function survey(eks: string, name: string, namespace: string, args: Arguments, io: Io): Promise<Surveyed> {
  const region = text(args, 'region') ?? io.env['AWS_REGION'] ?? io.env['AWS_DEFAULT_REGION']
  const { openSite } = await import('#app')
  const site = await openSite({
    cluster: eks,
    region,
    env: io.env,
    clock: io.clock,
    signal: io.signal,
    waitMs: 0,
    report: (line) => io.stderr.write(`${line}\n`),
  })
  try {
    const { cluster } = site
    const wanted = { flux: args.values['flux'] === true, karpenter: args.values['karpenter'] === true }
    const found = await readKubernetesSide(site.objects)
    const at = found.karpenter[0]?.namespace
    const release = wanted.karpenter && at !== undefined ? await readHelmRelease(site.objects, at) : undefined
    const adoption = decideAdoption(cluster, found, release, wanted)
    io.stderr.write(`EKS cluster ${cluster.name}, Kubernetes ${cluster.version}, in ${cluster.vpcId}\n`)
    for (const note of adoption.notes) io.stderr.write(`  ${note}\n`)
    const managed = await readManaged(args, io, { name, namespace, eks: cluster })
    const manifest = adoptedManifest({
      name,
      namespace,
      region: region!,
      eks: cluster,
      flux: wanted.flux,
      release: adoption.release,
      roleArn: text(args, 'role-arn'),
      template: managed?.template.metadata.name,
    })
    return { manifest, managed }
  } finally {
    await site.close()
  }
}
