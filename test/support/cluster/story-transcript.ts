// A story as text: what was done, and what was seen then. Compared with a golden file; UPDATE_GOLDEN=1 updates it,
// STORY_ALOUD=1 prints it while it happens.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CAPTCluster, CAPTControlPlane } from '#api'
import { applies, ClusterKind, conditionIn, type StoryHome } from './story-world.ts'

export interface Transcript {
  /** A chapter of the story. */
  chapter(title: string): void
  did(what: string): void
  saw(what: string): void
  readonly text: string
}

export function transcript(): Transcript {
  const lines: string[] = []
  const add = (line: string): void => {
    lines.push(line)
    if (process.env['STORY_ALOUD']) console.error(line)
  }
  return {
    chapter(title) {
      if (lines.length > 0) add('')
      add(`# ${title}`)
    },
    did: (what) => add(`> ${what}`),
    saw: (what) => add(`  ${what}`),
    get text() {
      return `${lines.join('\n')}\n`
    },
  }
}

/** `without`: chapters that could not run here. */
export function compareGolden(name: string, text: string, without: readonly string[] = []): void {
  const path = join(import.meta.dirname, '../../stories/cluster/golden', name)
  if (process.env['UPDATE_GOLDEN']) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  const chapters = readFileSync(path, 'utf8').split(/\n(?=# )/)
  const wanted = chapters.filter((chapter) => !without.some((title) => chapter.startsWith(`# ${title}\n`)))
  assert.equal(text, wanted.join('\n'))
}

type Loose = { readonly status?: Readonly<Record<string, unknown>> }

/** One line for each object of a cluster: what a person reads first. */
export async function picture(world: StoryHome, name: string): Promise<readonly string[]> {
  const cluster = await world.get(ClusterKind, name)
  const infra = await world.get(CAPTCluster, name)
  const plane = await world.get(CAPTControlPlane, name)
  const ready = (object: typeof cluster, type: string) => {
    const { status, reason = '', message = '' } = conditionIn(object, type) ?? {}
    return status === 'True' ? type : `not ${type}: ${reason}${message ? `: ${firstLine(message)}` : ''}`
  }
  const text = (object: typeof cluster, field: string) => String((object as Loose)?.status?.[field] ?? 'none')
  const found = (await applies(world)).filter(({ metadata }) => metadata.name.startsWith(`${name}-`))
  return [
    ...(cluster ? [`Cluster/${name}: ${text(cluster, 'phase')}, ${ready(cluster, 'Available')}`] : []),
    ...(infra ? [`CAPTCluster/${name}: ${ready(infra, 'Ready')}, ${text(infra, 'vpcId')}`] : []),
    ...(plane ? [`CAPTControlPlane/${name}: ${ready(plane, 'Ready')}, ${text(plane, 'version')}`] : []),
    ...found.map(({ metadata, status }) => {
      const owner = metadata.ownerReferences?.[0]?.kind ?? 'nobody'
      return `${metadata.name}: ${status?.phase}, ${counted(status?.state?.resources ?? 0)}, owned by ${owner}`
    }),
  ]
}

const counted = (resources: number): string => `${resources} ${resources === 1 ? 'resource' : 'resources'}`

/** Where a run keeps its files is this machine's affair. */
export const withoutPaths = (text: string): string => text.replaceAll(/\/\S+\//g, '')

export const firstLine = (text: string): string => text.split('\n')[0] ?? ''
