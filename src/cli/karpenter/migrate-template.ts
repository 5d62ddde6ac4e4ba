// The migration of a WorkspaceTemplate: its new text, a plan of it upon the state of every apply that uses it, and then the change itself.
import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  ALLOW_NAMESPACES_ANNOTATION,
  CLUSTER_NAME_LABEL,
  conditionOf,
  PROPOSED_FOR_ANNOTATION,
  readManifests,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { loadState, readRecord } from '#engine'
import {
  decideOnChanges,
  type FoundKarpenter,
  findKarpenter,
  type InlineTemplate,
  inlineTemplates,
  type ReleaseFacts,
  refuseRelease,
  refuseTool,
  releasesInState,
  rewriteManifest,
  rewriteModule,
} from '#karpenter'
import type { Connected } from '#kube'
import { boundedName, CaptError, parseDuration, sleep } from '#lib'
import { type Arguments, EXIT, type Io, withConnection } from '../command.ts'
import { applyManifests } from '../commands/clusters/apply.ts'
import { confirm } from '../output.ts'
import { createReporter } from '../progress/reporter.ts'
import { readSource } from '../sources.ts'
import { planSpeculatively } from '../speculative-plan.ts'
import { deliver, listOf, prepareDelivery, showFound, showVerdict } from './migrate-cluster.ts'

const FILE = 'main.tf'
const POLL_MS = 500

interface Migration {
  readonly template: InlineTemplate
  readonly found: FoundKarpenter
  /** Addresses that leave the state. */
  readonly leaving: readonly string[]
  readonly text: string
}

interface Situation {
  readonly apply: WorkspaceTemplateApply
  readonly releases: readonly ReleaseFacts[]
}

export async function migrateTemplate(file: string, args: Arguments, io: Io): Promise<number> {
  const { name, text } = await readSource(file, io)
  readManifests(text, name)
  const migration = prepare(text, name, listOf(args, 'release'))
  const { template, found } = migration
  showFound(`WorkspaceTemplate ${template.name}`, found, io)
  return await withConnection(args, io, async (session) => {
    const connected = { ...session, namespace: template.namespace ?? session.namespace }
    const situations = await observe(connected, migration)
    const clusters = listOf(args, 'cluster')
    const target = { connected, args, io, again: `capt karpenter migrate -f ${file}` }
    const createPipelines = await prepareDelivery(target, clusters, (cluster) =>
      releaseOf(cluster, migration, situations),
    )
    await plan(connected, migration, situations, args, io)
    if (args.values['dry-run'] === true) {
      io.stdout.write('Nothing was changed (--dry-run)\n')
      return EXIT.fine
    }
    if (!(await write(migration.text, args, io))) return EXIT.failed
    if (clusters.length === 0) return EXIT.fine
    const question = `Apply WorkspaceTemplate ${template.name} and deliver Karpenter to ${clusters.join(', ')}?`
    if (!(await confirm(question, args, io))) return EXIT.failed
    await createPipelines()
    await applyManifests(readManifests(migration.text, name), { ...connected, io: onStderr(io) })
    const waitMs = parseDuration(String(args.values['wait']))
    if (!(await untilForgotten(connected, migration, situations, waitMs, io))) {
      io.stderr.write(`not yet forgotten; run this again with the new manifest: ${target.again} --cluster …\n`)
      return EXIT.notReady
    }
    return await deliver(target, clusters)
  })
}

const onStderr = (io: Io): Io => ({ ...io, stdout: io.stderr })

function prepare(text: string, name: string, named: readonly string[]): Migration {
  const templates = inlineTemplates(text)
  if (templates.length === 0)
    throw new CaptError('CAPT_MIGRATE_NO_RELEASE', `${name} has no WorkspaceTemplate with inline HCL`, {
      hint: 'spec.template.spec.forProvider: source Inline, inlineFormat HCL. For a module elsewhere: --module FOLDER',
    })
  for (const template of templates) {
    const files = { [FILE]: template.module }
    const found = findKarpenter(files, named)
    const blocks = [...found.releases, ...found.manifests]
    if (found.releases.length === 0 && found.forgotten.length === 0) continue
    const module = rewriteModule(files, blocks)[FILE]
    return {
      template,
      found,
      leaving: [...blocks.map(({ address }) => address), ...found.forgotten],
      text: module === undefined ? text : rewriteManifest(text, template, module),
    }
  }
  throw new CaptError('CAPT_MIGRATE_NO_RELEASE', `no helm_release of Karpenter is in ${name}`, {
    hint: 'where its chart is an expression, name it: --release helm_release.NAME',
  })
}

/** Every apply of the template takes its change, so every one of them is asked. */
async function observe(
  { objects, namespace }: Connected,
  { template, leaving }: Migration,
): Promise<readonly Situation[]> {
  const situations: Situation[] = []
  for await (const apply of objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, {})) {
    const { name, namespace: from = apply.metadata.namespace } = apply.spec.templateRef
    if (name !== template.name || from !== namespace || apply.spec.speculativeFor !== undefined) continue
    const key = { namespace: apply.metadata.namespace ?? namespace, name: apply.metadata.name }
    const { bundle } = (await readRecord(objects, key))?.record ?? {}
    const refusal = bundle?.tool === undefined ? undefined : refuseTool(bundle.tool)
    if (refusal) throw refusal
    const state = await loadState(objects, key)
    situations.push({ apply, releases: state === undefined ? [] : releasesInState(state, leaving) })
  }
  return situations
}

async function plan(
  connected: Connected,
  { template, text, leaving }: Migration,
  situations: readonly Situation[],
  args: Arguments,
  io: Io,
): Promise<void> {
  const { objects, namespace } = connected
  if (situations.length === 0) io.stderr.write('no WorkspaceTemplateApply uses it: there is no state, and no plan\n')
  for (const { apply, releases } of situations) {
    for (const release of releases) {
      const refusal = release.address.startsWith('helm_release.') ? refuseRelease(release) : undefined
      if (refusal && release.name !== 'karpenter-crd') throw refusal
    }
    if (releases.length === 0)
      io.stderr.write(`the state of ${apply.metadata.name} has none of ${leaving.join(', ')}: nothing to forget\n`)
  }
  if (situations.length === 0) return
  const wanted = inlineObject(text, template)
  const existing = await objects.get<WorkspaceTemplate>(WorkspaceTemplate, { namespace, name: template.name })
  const name = boundedName(`${template.name}-migrate-${randomUUID().slice(0, 8)}`, 63)
  const allowed = existing?.metadata.annotations?.[ALLOW_NAMESPACES_ANNOTATION]
  const annotations = {
    [PROPOSED_FOR_ANNOTATION]: template.name,
    ...(allowed === undefined ? {} : { [ALLOW_NAMESPACES_ANNOTATION]: allowed }),
  }
  await objects.create<WorkspaceTemplate>(WorkspaceTemplate, {
    ...wanted,
    metadata: { name, namespace, annotations },
  } as WorkspaceTemplate)
  try {
    for (const { apply } of situations) {
      const { metadata, spec } = apply
      const own = { ...connected, namespace: metadata.namespace ?? namespace }
      const speculated = { target: metadata.name, spec: { ...spec, templateRef: { name, namespace } } }
      const { changes } = await planSpeculatively(own, speculated, parseDuration(String(args.values['wait'])), io)
      showVerdict(metadata.name, decideOnChanges(changes), io)
    }
  } finally {
    await objects.delete(WorkspaceTemplate, { namespace, name })
  }
}

const inlineObject = (text: string, { index, name }: InlineTemplate): WorkspaceTemplate => {
  const all = readManifests(text, name).map(({ object }) => object)
  const object = all.find((one) => one.kind === 'WorkspaceTemplate' && one.metadata.name === name)
  if (!object) throw new CaptError('CAPT_INVALID', `document ${index + 1} is no WorkspaceTemplate`)
  return object as unknown as WorkspaceTemplate
}

/** What the state says counts; the text where there is none. */
function releaseOf(cluster: string, { found }: Migration, situations: readonly Situation[]): ReleaseFacts | undefined {
  const own = situations.find(({ apply }) => apply.metadata.labels?.[CLUSTER_NAME_LABEL] === cluster)
  const { releases } = own ?? (situations.length === 1 ? situations[0]! : { releases: [] })
  const release = found.releases.find(({ chart }) => chart === 'karpenter')
  const inState = releases.find(({ address }) => address === release?.address)
  if (!release) return undefined
  const { address, name, namespace, version } = release
  return {
    address,
    name: inState?.name ?? name,
    namespace: inState?.namespace ?? namespace,
    version: inState?.version ?? version,
    ...(inState?.values ? { values: inState.values } : {}),
    hidden: inState?.hidden ?? [],
  }
}

async function write(text: string, args: Arguments, io: Io): Promise<boolean> {
  const { out } = args.values
  if (typeof out !== 'string') {
    io.stdout.write(text)
    return true
  }
  const path = resolve(io.cwd, out)
  if (existsSync(path) && !(await confirm(`Overwrite ${out}?`, args, io))) return false
  writeFileSync(path, text)
  io.stderr.write(`${out} written\n`)
  return true
}

async function untilForgotten(
  { objects, namespace }: Connected,
  { leaving }: Migration,
  situations: readonly Situation[],
  waitMs: number,
  io: Io,
): Promise<boolean> {
  const reporter = createReporter(io)
  try {
    for (const { apply } of situations) {
      const key = { namespace: apply.metadata.namespace ?? namespace, name: apply.metadata.name }
      for (;;) {
        const state = await loadState(objects, key)
        if (state === undefined || releasesInState(state, leaving).length === 0) break
        const now = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key)
        const message = (now && conditionOf(now, 'Ready')?.message) ?? ''
        if (message !== '') reporter.note(key.name, message)
        if (reporter.elapsedMs() > waitMs) return false
        reporter.live(`waiting for ${key.name} to forget ${leaving.join(', ')}`)
        await sleep(io.clock, POLL_MS, io.signal)
      }
    }
    return true
  } finally {
    reporter.close()
  }
}
