// The first chapter: manifests become a cluster with a pool, machines, Flux and Karpenter.
import { clusterTree, renderTree } from '#view'
import { applyFiles } from '../../commands/clusters/apply.ts'
import { EXAMPLES } from '../examples.ts'
import { Ended, type Story } from '../story.ts'

export async function showCluster(story: Story): Promise<void> {
  const { screen, connected, io } = story
  const files = EXAMPLES.map(({ shown }) => `-f ${shown}`).join(' ')
  screen.chapter('A cluster from manifests', [{ run: `capt apply ${files}` }])
  await applyFiles(
    EXAMPLES.map(({ path }) => path),
    { ...connected, io, quiet: true },
  )
  await story.until('waiting for the parts of the cluster', (objects) => {
    story.report(objects)
    const { state } = clusterTree(objects)
    // Nothing but a person ends it.
    if (state === 'stalled') throw new Ended('a part of the cluster is stalled')
    return state === 'ready' ? true : undefined
  })
  const objects = await story.read()
  screen.text('\n')
  if (objects) screen.block((options) => renderTree(clusterTree(objects), options))
}
