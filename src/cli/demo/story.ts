// What every chapter of the demo works with: the home, the screen, the time that is left, and the cluster as it is now.
import { clusterKind } from '#api'
import type { Home } from '#app'
import type { Connected } from '#kube'
import { sleep } from '#lib'
import { type ClusterObjects, type Milestone, milestonesOf, readClusterObjects } from '#view'
import type { Io } from '../command.ts'
import { absent } from '../objects/list.ts'
import { runText } from '../progress/cluster.ts'
import type { Screen } from './screen.ts'

const POLL_MS = 200
export const CLUSTER = { namespace: 'default', name: 'demo' } as const

/** Thrown when the time is over or the demo was interrupted. */
export class Ended extends Error {
  override readonly name = 'Ended'
}

export interface Story {
  readonly home: Home
  readonly io: Io
  readonly screen: Screen
  readonly connected: Omit<Connected, 'close'>
  /** Runs are simulated too. */
  readonly isSimulated: boolean
  /** The cluster with all that belongs to it; undefined when it is gone. */
  read(): Promise<ClusterObjects | undefined>
  /** Looks until there is an answer, and shows meanwhile what is under way. */
  until<T>(waitsFor: string, check: (objects: ClusterObjects) => Answer<T>): Promise<T>
  /** The same, also when the cluster is gone. */
  watch<T>(waitsFor: string, check: (objects: ClusterObjects | undefined) => Answer<T>): Promise<T>
  /** Facts of the cluster that are not on the screen yet. */
  report(objects: ClusterObjects): void
}

type Answer<T> = T | undefined | Promise<T | undefined>

interface StoryOptions {
  readonly home: Home
  readonly io: Io
  readonly screen: Screen
  readonly timeoutMs: number
}

export function createStory({ home, io, screen, timeoutMs }: StoryOptions): Story {
  const { objects, url: server, raw } = home
  const connected = { objects, namespace: CLUSTER.namespace, server, raw }
  const isSimulated = home.manager.engine?.name.startsWith('simulated') ?? false
  const reported = new Set<string>()
  const engineWord = (word: string) => (isSimulated ? word.replace('terraform', 'simulated') : word)
  const read = () => readClusterObjects(clusterKind('v1beta2'), CLUSTER.name, connected).catch(absent)
  const watch: Story['watch'] = async (waitsFor, check) => {
    for (;;) {
      if (io.signal.aborted || screen.elapsedMs() > timeoutMs) throw new Ended(waitsFor)
      const found = await read()
      const answer = await check(found)
      if (answer !== undefined) return answer
      screen.live(engineWord((found && runText(found, { ...io, stderr: io.stdout })) ?? waitsFor))
      await sleep(io.clock, POLL_MS, io.signal).catch(() => {
        throw new Ended(waitsFor)
      })
    }
  }
  return {
    home,
    io,
    screen,
    connected,
    isSimulated,
    read,
    report(found) {
      for (const milestone of milestonesOf(found)) {
        if (reported.has(milestone.id)) continue
        reported.add(milestone.id)
        screen.fact({ ...milestone, word: engineWord(milestone.word), state: stateOfMilestone(milestone) })
      }
    },
    until: (waitsFor, check) => watch(waitsFor, (found) => found && check(found)),
    watch,
  }
}

const FINAL_WORDS = ['ready', 'healthy', 'available']
const stateOfMilestone = ({ word }: Milestone) => (FINAL_WORDS.includes(word) ? 'ready' : 'working')
