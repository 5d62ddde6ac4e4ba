// How many requests lie between the end of Terraform and Ready, and how many an apply causes that is ready: counted at
// the server, watches left out.
import { setTimeout as pass } from 'node:timers/promises'
import { WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { anApply, aTemplate } from '#testing'
import { type EngineWorld, isReady } from '../test/support/engine/world.ts'

export interface RequestCounts {
  readonly toReady: readonly string[]
  readonly idle: readonly string[]
}

const IDLE_MS = 10_000

export async function countRequests(world: EngineWorld): Promise<RequestCounts> {
  const name = 'counted'
  const manager = await world.manager()
  const asked = (from: number) =>
    world.requests
      .slice(from)
      .filter(({ path }) => !path.includes('watch=true'))
      .map(({ method, path }) => `${method} ${path.split('?')[0]}`)
      // Our own looks at the apply.
      .filter((line) => !line.startsWith('GET ') || !line.endsWith(`workspacetemplateapplies/${name}`))
  await world.create(WorkspaceTemplate, aTemplate('resource "terraform_data" "x" {}', {}, { name }))
  const from = world.requests.length
  await world.create(WorkspaceTemplateApply, anApply({ templateRef: { name } }, { name }))
  await world.until(name, isReady, 120)
  const life = asked(from)
  const saved = life.findLastIndex((line) => /^PATCH .*\/secrets\/tfstate-/.test(line))
  const released = life.findIndex((line, i) => i > saved && /lock-tfstate/.test(line))
  const reported = life.findIndex((line, i) => i > released && /^PATCH .*\/status$/.test(line))
  if (saved < 0 || released < 0 || reported < 0)
    throw new Error(`the end of the run is not to be seen:\n${life.join('\n')}`)
  // What was set in motion by the last status (events, finalizers) comes to rest first.
  for (let before = -1; before !== asked(0).length; ) {
    before = asked(0).length
    await pass(1000)
  }
  const rest = world.requests.length
  await pass(IDLE_MS)
  const idle = asked(rest)
  await manager.stop()
  return { toReady: life.slice(saved + 1, reported + 1), idle }
}
