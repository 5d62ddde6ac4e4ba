// Hands clusters over to another management cluster, Terraform state included: pause, wait for runs to end, copy, delete
// here without destroying anything, unpause there. What fails before the copy is complete leaves everything as it was.
import {
  type AnyObject,
  blocksMove,
  CLUSTER_API_VERSIONS,
  ConfigMapKind,
  clusterKind,
  clusterResourceSetBindingKind,
  clusterResourceSetKind,
  DELETE_FOR_MOVE_ANNOTATION,
  isDeletedForMove,
  type KindRef,
  keyOf,
  NamespaceKind,
  readCluster,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError, jsonEqual, parseDuration, sleep } from '#lib'
import {
  type Arguments,
  CONNECTION_OPTIONS,
  type Command,
  type Connected,
  connectionOf,
  EXIT,
  type Io,
} from './command.ts'
import { toCopy, toStatus, withPause } from './move-copy.ts'
import { type Node, nameOf, nodesOf } from './move-graph.ts'
import { confirm } from './output.ts'
import { OUR_KINDS } from './resources.ts'

export const command: Command = {
  name: 'move',
  summary: 'Hand clusters over to another management cluster, Terraform state included',
  positionals: '[CLUSTER…]',
  examples: [
    { run: 'move --to-kubeconfig mgmt.yaml', about: 'Move every cluster of the namespace' },
    { run: 'move demo --to-kubeconfig mgmt.yaml --dry-run', about: 'Show what would go' },
  ],
  options: {
    ...CONNECTION_OPTIONS,
    'to-kubeconfig': { type: 'string', value: 'FILE', about: 'Kubeconfig of the cluster to move to.' },
    'to-context': { type: 'string', value: 'NAME', about: "Context in that file; the file's current one otherwise." },
    wait: { type: 'string', value: 'DURATION', default: '10m', about: 'How long to wait for runs in progress.' },
    yes: { type: 'boolean', short: 'y', about: 'Do not ask.' },
    'dry-run': { type: 'boolean', about: 'Show what would go and change nothing.' },
  },
  async run(args, io) {
    const file = args.values['to-kubeconfig']
    if (typeof file !== 'string')
      throw new CaptError('CAPT_USAGE', 'move needs --to-kubeconfig', { hint: 'capt move --to-kubeconfig mgmt.yaml' })
    const from = await io.connect(connectionOf(args))
    const context = args.values['to-context']
    const to = await io.connect({
      kubeconfig: file,
      namespace: from.namespace,
      ...(typeof context === 'string' ? { context } : {}),
    })
    try {
      return await move(args, io, from, to)
    } finally {
      await from.close()
      await to.close()
    }
  },
}

async function move(args: Arguments, io: Io, from: Connected, to: Connected): Promise<number> {
  const say = (text: string) => io.stderr.write(`${text}\n`)
  const kinds = await kindsServedBy(from, to)
  const all = await readAll(from, kinds)
  const names = chooseClusters(all, args.positionals, from)
  const nodes = nodesOf(all, names)
  if (nodes.some((node) => isCluster(node) && isDeletedForMove(node.object))) return finish(nodes, io, from, to)
  for (const node of nodes) say(`  ${nameOf(node)}`)
  say(
    `${nodes.length} objects of ${names.size === 1 ? 'one cluster' : `${names.size} clusters`}: ${from.server} → ${to.server}`,
  )
  await refuseTaken(nodes, to.objects)
  if (args.values['dry-run'] === true) return EXIT.fine
  if (!(await confirm(`Move ${[...names].join(', ')} to ${to.server}?`, args, io))) return EXIT.failed

  const clusters = nodes.filter(isCluster)
  await setPaused(from.objects, clusters, true)
  let moved: readonly Node[]
  try {
    say('Paused; waiting for runs in progress')
    await waitForRuns(from, kinds, names, parseDuration(String(args.values['wait'])), io)
    // Runs that ended meanwhile have saved their state: read everything once more.
    moved = nodesOf(await readAll(from, kinds), names)
    await copyAll(moved, to)
  } catch (error) {
    await setPaused(from.objects, clusters, false)
    say('Nothing was moved; the clusters go on here')
    throw error
  }
  say(`Copied ${moved.length} objects`)
  return finish(moved, io, from, to)
}

/** Everything is there: it is deleted here, and then work begins there. A move that was cut off goes on from here. */
async function finish(nodes: readonly Node[], io: Io, from: Connected, to: Connected): Promise<number> {
  const clusters = nodes.filter(isCluster)
  await deleteAll(nodes, from.objects)
  io.stderr.write('Deleted here, without destroying anything\n')
  await setPaused(to.objects, clusters, false)
  const names = clusters.map(({ object }) => object.metadata.name).sort()
  io.stdout.write(`Moved ${names.join(', ')} to ${to.server}\n`)
  return EXIT.fine
}

const isCluster = ({ kind }: Node): boolean => kind.kind === 'Cluster'

/** Cluster API kinds in the newest version that both sides serve; kinds that the target lacks are refused when needed. */
async function kindsServedBy(from: Connected, to: Connected): Promise<readonly KindRef[]> {
  const shared = async (
    make: (version: (typeof CLUSTER_API_VERSIONS)[number]) => KindRef,
  ): Promise<readonly KindRef[]> => {
    const here = await servedVersions(from, make('v1beta2').group)
    const there = await servedVersions(to, make('v1beta2').group)
    const version = CLUSTER_API_VERSIONS.find((one) => here.includes(one) && there.includes(one))
    if (version) return [make(version)]
    if (here.length === 0) return []
    throw new CaptError('CAPT_CLUSTER_API_MISSING', `${to.server} does not serve ${make('v1beta2').kind}`, {
      hint: 'run clusterctl init there first, with the providers of capt',
    })
  }
  const foreign = await Promise.all([clusterKind, clusterResourceSetKind, clusterResourceSetBindingKind].map(shared))
  return [...foreign.flat(), ...OUR_KINDS, SecretKind, ConfigMapKind]
}

async function servedVersions(connected: Connected, group: string): Promise<readonly string[]> {
  const answer = await connected.raw(`/apis/${group}`)
  if (answer.status !== 200) return []
  const { versions = [] } = JSON.parse(answer.body) as { versions?: readonly { readonly version: string }[] }
  return versions.map(({ version }) => version)
}

async function readAll({ objects, namespace }: Connected, kinds: readonly KindRef[]): Promise<readonly Node[]> {
  const nodes: Node[] = []
  for (const kind of kinds) {
    try {
      for await (const object of objects.list<AnyObject>(kind, { namespace })) nodes.push({ kind, object })
    } catch (error) {
      if (!isKubeError(error, 'KindNotServed', 'NotFound')) throw error
    }
  }
  return nodes
}

function chooseClusters(
  all: readonly Node[],
  wanted: readonly string[],
  { namespace, server }: Connected,
): Set<string> {
  const present = all.filter(isCluster).map(({ object }) => object.metadata.name)
  const missing = wanted.filter((name) => !present.includes(name))
  if (missing.length > 0 || present.length === 0)
    throw new CaptError(
      'CAPT_KUBE_NOT_FOUND',
      missing.length > 0
        ? `There is no Cluster "${missing[0]}" in namespace ${namespace}`
        : `There is no Cluster in namespace ${namespace} of ${server}`,
      { hint: 'capt get clusters' },
    )
  const chosen = new Set(wanted.length > 0 ? wanted : present)
  for (const { object } of all.filter(isCluster).filter((node) => chosen.has(node.object.metadata.name))) {
    if (isDeletedForMove(object)) continue
    const why = object.metadata.deletionTimestamp ? 'is being deleted' : readCluster(object).paused ? 'is paused' : ''
    if (why === '') continue
    throw new CaptError('CAPT_MOVE_REFUSED', `Cluster ${object.metadata.name} ${why}`, {
      hint: why === 'is paused' ? 'set spec.paused to false first: a move pauses by itself' : 'wait until it is gone',
    })
  }
  return chosen
}

/** What is there already stays as it is, so it must be the same; a Cluster of that name is never overwritten. */
async function refuseTaken(nodes: readonly Node[], objects: Objects): Promise<void> {
  for (const { kind, object } of nodes) {
    const there = await objects.get<AnyObject>(kind, keyOf(object)).catch((error: unknown) => {
      if (isKubeError(error, 'KindNotServed')) return undefined
      throw error
    })
    if (!there || isSame(there, object)) continue
    throw new CaptError('CAPT_MOVE_REFUSED', `${kind.kind} ${object.metadata.name} exists in the target and differs`, {
      hint: 'rename or delete it there, then move again; nothing was changed',
    })
  }
}

function isSame(there: AnyObject, here: AnyObject): boolean {
  if (here.kind === 'Cluster') return false
  const content = ({ metadata: _, status: __, ...rest }: AnyObject & { readonly status?: unknown }) => rest
  return jsonEqual(content(there), content(here))
}

async function setPaused(objects: Objects, clusters: readonly Node[], paused: boolean): Promise<void> {
  for (const { kind, object } of clusters)
    await objects.patch(kind, keyOf(object), { type: 'merge', body: { spec: { paused } } })
}

const ENDED = ['Succeeded', 'Failed', 'Cancelled', 'Lost']

async function waitForRuns(
  from: Connected,
  kinds: readonly KindRef[],
  names: ReadonlySet<string>,
  limitMs: number,
  io: Io,
): Promise<void> {
  const deadline = io.clock.monotonic() + limitMs
  for (;;) {
    const busy = nodesOf(await readAll(from, kinds), names).filter(isBusy)
    if (busy.length === 0) return
    if (io.clock.monotonic() >= deadline)
      throw new CaptError('CAPT_MOVE_BLOCKED', `Still in progress: ${busy.map(nameOf).join(', ')}`, {
        hint: 'wait for the run to end (capt describe), or give --wait more time',
      })
    await sleep(io.clock, 1000, io.signal)
  }
}

function isBusy({ kind, object }: Node): boolean {
  if (blocksMove(object)) return true
  if (kind.kind !== WorkspaceTemplateApply.kind) return false
  const phase = (object as WorkspaceTemplateApply).status?.run?.phase
  return phase !== undefined && !ENDED.includes(phase)
}

async function copyAll(nodes: readonly Node[], to: Connected): Promise<void> {
  await ensureNamespace(to)
  const uids = new Map<string, string>()
  const made: Node[] = []
  try {
    for (const node of nodes) {
      const { kind, object } = node
      const copy = isCluster(node) ? withPause(toCopy(object, uids), true) : toCopy(object, uids)
      const written = await makeOrTake(to.objects, kind, copy)
      uids.set(object.metadata.uid ?? '', written.object.metadata.uid ?? '')
      if (!written.isNew) continue
      made.push({ kind, object: written.object })
      const status = toStatus(object, written.object.metadata.generation)
      if (status && kind.group !== '')
        await to.objects.patch(kind, keyOf(object), { type: 'merge', body: { status } }, { subresource: 'status' })
    }
  } catch (error) {
    await deleteAll(made, to.objects)
    throw error
  }
}

async function makeOrTake(
  objects: Objects,
  kind: KindRef,
  copy: AnyObject,
): Promise<{ object: AnyObject; isNew: boolean }> {
  try {
    return { object: await objects.create(kind, copy), isNew: true }
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
    const object = await objects.get<AnyObject>(kind, keyOf(copy))
    if (!object) throw error
    return { object, isNew: false }
  }
}

async function ensureNamespace({ objects, namespace }: Connected): Promise<void> {
  if (await objects.get(NamespaceKind, { name: namespace })) return
  const object: AnyObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
  await objects.create(NamespaceKind, object)
}

/** Marked first, all of them: whoever watches must know why they go before the first one does. */
async function deleteAll(nodes: readonly Node[], objects: Objects): Promise<void> {
  const annotations = { [DELETE_FOR_MOVE_ANNOTATION]: '' }
  const forgive = (error: unknown): undefined => {
    if (!isKubeError(error, 'NotFound')) throw error
    return undefined
  }
  for (const { kind, object } of nodes)
    await objects.patch(kind, keyOf(object), { type: 'merge', body: { metadata: { annotations } } }).catch(forgive)
  for (const { kind, object } of nodes.toReversed()) {
    const uid = object.metadata.uid
    await objects.delete(kind, keyOf(object), uid ? { uid } : {})
    await objects.patch(kind, keyOf(object), { type: 'merge', body: { metadata: { finalizers: null } } }).catch(forgive)
  }
}
