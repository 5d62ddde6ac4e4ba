// What both migrations end with: the pipeline that delivers the release under its old name, and the labels of the Cluster. The pipeline
// is made before Terraform forgets the release, because afterwards its namespace and values are in no state any more.
import { AddonDelivery, AddonPipeline, type AnyObject, clusterKind, notFound } from '#api'
import {
  clusterLabels,
  type decideOnChanges,
  type FoundKarpenter,
  PIPELINE_LABEL,
  pipelineName,
  type ReleaseFacts,
  refuseRelease,
  renderPipeline,
} from '#karpenter'
import { type Connected, servedKind } from '#kube'
import { CaptError, parseDuration, sleep } from '#lib'
import { type Arguments, EXIT, type Io } from '../command.ts'
import { createReporter } from '../progress/reporter.ts'

const POLL_MS = 250

interface Target {
  readonly connected: Connected
  readonly args: Arguments
  readonly io: Io
  /** Command line that continues. */
  readonly again: string
}

export const listOf = ({ values }: Arguments, name: string): readonly string[] =>
  (values[name] as readonly string[] | undefined) ?? []

export function showFound(what: string, found: FoundKarpenter, io: Io): void {
  const { releases, manifests, forgotten, iam, idleProviders } = found
  io.stderr.write(`${what}\n`)
  for (const { address, line, file, chart } of releases)
    io.stderr.write(`  forget  ${address} (${file}, line ${line}): the chart ${chart} stays installed\n`)
  for (const { address, line, file } of manifests)
    io.stderr.write(`  forget  ${address} (${file}, line ${line}): its objects stay in the cluster\n`)
  for (const address of forgotten) io.stderr.write(`  done    ${address} has its removed block already\n`)
  for (const address of iam) io.stderr.write(`  keep    ${address}\n`)
  for (const name of idleProviders)
    io.stderr.write(`note: provider ${name} has nothing left to do; remove it after the run that forgets the release\n`)
}

export function showVerdict(apply: string, { forgotten, others }: ReturnType<typeof decideOnChanges>, io: Io): void {
  io.stderr.write(`plan of ${apply}: ${forgotten.length} to forget, 0 to destroy, 0 changes of IAM\n`)
  for (const { action, address } of others)
    io.stderr.write(`note: the run will also ${action} ${address}; that has nothing to do with the migration\n`)
}

/** Checks everything that can refuse, before anything changes. Returns what makes the pipelines. */
export async function prepareDelivery(
  { connected, io }: Target,
  clusters: readonly string[],
  releaseOf: (cluster: string) => ReleaseFacts | undefined,
): Promise<() => Promise<void>> {
  const { objects, namespace } = connected
  const pipelines: AddonPipeline[] = []
  for (const cluster of clusters) {
    const name = pipelineName(cluster)
    await readCluster(connected, cluster)
    const existing = await objects.get<AddonPipeline>(AddonPipeline, { namespace, name })
    const release = releaseOf(cluster)
    if (existing) {
      io.stderr.write(`AddonPipeline ${name} is there already and is used as it is\n`)
      continue
    }
    if (release?.namespace === undefined)
      throw new CaptError(
        'CAPT_MIGRATE_NAMESPACE',
        `the namespace of the release is not known for Cluster ${cluster}`,
        {
          hint: `give helm_release a literal namespace, or write AddonPipeline ${name} yourself; nothing was changed`,
        },
      )
    const refusal = refuseRelease(release)
    if (refusal) throw refusal
    const values = release.values ? 'with its values' : 'without values: the state does not have them'
    io.stderr.write(
      `  deliver karpenter ${release.version ?? ''} in namespace ${release.namespace} to ${cluster}, ${values}\n`,
    )
    for (const path of release.hidden)
      io.stderr.write(`note: the value ${path} is sensitive and is left out: set it in AddonPipeline ${name}\n`)
    pipelines.push(renderPipeline(namespace, cluster, release))
  }
  return async () => {
    for (const pipeline of pipelines) await objects.create<AddonPipeline>(AddonPipeline, pipeline)
  }
}

async function readCluster(connected: Connected, name: string): Promise<AnyObject> {
  const { objects, namespace } = connected
  const kind = await servedKind(connected, clusterKind)
  const cluster = await objects.get<AnyObject>(kind, { namespace, name })
  if (!cluster) throw notFound(kind, { namespace, name })
  const chosen = cluster.metadata.labels?.[PIPELINE_LABEL]
  if (chosen !== undefined && chosen !== pipelineName(name))
    throw new CaptError('CAPT_MIGRATE_PIPELINE', `Cluster ${name} follows the AddonPipeline ${chosen}`, {
      hint: `add a stage karpenter with the namespace of the release to ${chosen}, or remove the label ${PIPELINE_LABEL}; nothing was changed`,
    })
  return cluster
}

async function untilAlone(
  { objects, namespace }: Connected,
  cluster: string,
  waitMs: number,
  io: Io,
): Promise<boolean> {
  const reporter = createReporter(io)
  try {
    for (;;) {
      const others: string[] = []
      for await (const { spec } of objects.list<AddonDelivery>(AddonDelivery, { namespace }))
        if (spec.clusterName === cluster && spec.pipelineRef.name !== pipelineName(cluster))
          others.push(spec.pipelineRef.name)
      if (others.length === 0) return true
      if (reporter.elapsedMs() > waitMs) return false
      reporter.live(`waiting for AddonPipeline ${others.join(', ')} to let go of Cluster ${cluster}`)
      await sleep(io.clock, POLL_MS, io.signal)
    }
  } finally {
    reporter.close()
  }
}

/** From here on helm-controller owns the release. */
export async function deliver({ connected, args, io, again }: Target, clusters: readonly string[]): Promise<number> {
  const { objects, namespace } = connected
  const kind = await servedKind(connected, clusterKind)
  const label = (name: string, labels: object) =>
    objects.patch(kind, { namespace, name }, { type: 'merge', body: { metadata: { labels } } })
  for (const name of clusters) {
    const { [PIPELINE_LABEL]: chosen, ...requests } = clusterLabels(name)
    // Another pipeline that still serves the Cluster would answer to the requests, with another namespace and other values.
    await label(name, { [PIPELINE_LABEL]: chosen })
    if (!(await untilAlone(connected, name, parseDuration(String(args.values['wait'])), io))) {
      io.stderr.write(`another pipeline still serves Cluster ${name}; run this again: ${again} --cluster ${name}\n`)
      return EXIT.notReady
    }
    await label(name, requests)
    io.stderr.write(`Cluster ${name} labelled; AddonPipeline ${pipelineName(name)} delivers: capt describe ${name}\n`)
  }
  return EXIT.fine
}
