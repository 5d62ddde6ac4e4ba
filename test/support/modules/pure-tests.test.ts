import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { findPureTests } from './pure-tests.ts'
import { readSources } from './source-graph.ts'

const SOURCES = new Map([
  ['src/a/beside.test.ts', "import { spawn } from 'node:child_process'\n"],
  ['test/cli/plain.test.ts', "import { a } from '#api'\nimport { b } from '../support/b.ts'\n"],
  ['test/cli/types.test.ts', "import type { Server } from 'node:http'\n"],
  ['test/cli/process.test.ts', "import { spawn } from 'node:child_process'\n"],
  ['test/cli/server.test.ts', "import { startApiServer } from '#apiserver'\n"],
  ['test/cli/around.test.ts', "import { c } from '../support/c.ts'\n"],
  ['test/real/driven.test.ts', ''],
  ['test/support/b.ts', "import { c } from '../cli/plain.test.ts'\n"],
  ['test/support/c.ts', "import { d } from './d.ts'\n"],
  ['test/support/d.ts', "import { connect } from 'node:net'\n"],
])

describe('The tests of make check', () => {
  it('are those beside their source, and those elsewhere that start no process and no server', () =>
    assert.deepEqual(findPureTests(SOURCES), [
      'src/a/beside.test.ts',
      'test/cli/plain.test.ts',
      'test/cli/types.test.ts',
    ]))

  it('include decisions in the stories, and leave out the stories of a server', () => {
    const pure = findPureTests(readSources(join(import.meta.dirname, '../../..'), ['src', 'test', 'scripts']))
    const has = (name: string) => pure.includes(`test/stories/${name}.test.ts`)
    assert.deepEqual([has('cluster/decide'), has('apiserver/kill')], [true, false])
  })
})
