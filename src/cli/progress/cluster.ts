// The progress of one cluster: what became true, what stopped, and what is under way, from the objects as they are now.
import { type Branch, type ClusterObjects, clusterTree, milestonesOf, runningApply, stopsIn } from '#view'
import type { Io } from '../command.ts'
import type { Reporter } from './reporter.ts'

const BAR = 14

/** Reports what is new, and returns what is under way now. `prefix` names the cluster where there are several. */
export function reportCluster(objects: ClusterObjects, reporter: Reporter, prefix: string, io: Io): string {
  for (const milestone of milestonesOf(objects)) {
    const id = `${prefix}${milestone.id}`
    reporter.milestone({ ...milestone, id, subject: `${prefix}${milestone.subject}` })
  }
  const tree = clusterTree(objects)
  reportStops(tree, reporter, prefix, io)
  return `${prefix}${runText(objects, io) ?? openText(tree)}`
}

/** A wait that may end within this time is not worth a line. */
const GRACE_MS = 30_000

export function reportStops(tree: Branch, reporter: Reporter, prefix: string, io: Io): void {
  for (const { name, state, stop } of stopsIn(tree)) {
    const { what, since, nextAttempt } = stop!
    const isOld = since !== undefined && io.clock.now() - Date.parse(since) > GRACE_MS
    if (state === 'stalled' || nextAttempt !== undefined || isOld)
      reporter.note(`${prefix}${name}`, `${state === 'stalled' ? 'stalled' : 'not ready'}: ${what}`)
  }
}

/** The Terraform run under way: a bar on a terminal, numbers elsewhere. */
export function runText(objects: ClusterObjects, io: Io): string | undefined {
  const run = runningApply(objects)
  if (!run) return undefined
  const full = run.of === 0 ? 0 : Math.round((run.done / run.of) * BAR)
  const bar = io.stderr.isTerminal ? `▕${'█'.repeat(full).padEnd(BAR)}▏ ` : ''
  const count = run.of === 0 ? '' : `${run.done} of ${run.of} resources  `
  return `${run.subject.padEnd(15)} ${run.verb.padEnd(16)} ${bar}${count}${run.address}`
}

/** The deepest part that is not ready. */
function openText(tree: Branch): string {
  const open = deepestOpen(tree)
  return `${(open.name.split('/')[0] ?? '').padEnd(15)} ${open.word.padEnd(16)} ${open.fact.split('\n')[0]}`
}

function deepestOpen(branch: Branch): Branch {
  const open = branch.children.find(({ state }) => state !== 'ready')
  return open ? deepestOpen(open) : branch
}
