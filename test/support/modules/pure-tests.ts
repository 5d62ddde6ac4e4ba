// Which tests need nothing but their own process: `make check` runs them, in whichever folder they are.
//   node test/support/modules/pure-tests.ts   prints their paths
import { join } from 'node:path'
import { importsOf, readSources, type Sources, targetOf } from './source-graph.ts'

/** What starts a process, opens a socket or a database. */
const EFFECTS =
  /^(?:node:(?:child_process|https?|net|sqlite|tls|worker_threads)|playwright-core|src\/(?:apiserver|app|simulation)\/.*)$/

/** Suites that drive the built program or a real server. */
const DRIVEN = /^test\/(?:browser|chaos|real|shipped)\//

/** Tests beside their source, and those elsewhere of which no file below test/ and scripts/ imports an effect. */
export function findPureTests(sources: Sources): string[] {
  const isPure = (file: string, before: ReadonlySet<string> = new Set()): boolean =>
    importsOf(file, sources.get(file) ?? '')
      .filter(({ names, types }) => names.length > 0 || types.length === 0)
      .map((one) => targetOf(one) ?? one.target)
      .every((target) => {
        if (EFFECTS.test(target)) return false
        return !/^(?:test|scripts)\//.test(target) || before.has(target) || isPure(target, new Set([...before, file]))
      })
  return [...sources.keys()].filter(
    (file) => file.endsWith('.test.ts') && (file.startsWith('src/') || (!DRIVEN.test(file) && isPure(file))),
  )
}

if (import.meta.main)
  console.log(findPureTests(readSources(join(import.meta.dirname, '../../..'), ['src', 'test', 'scripts'])).join('\n'))
