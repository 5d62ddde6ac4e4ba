// What a runner in a Job reads is what the manager wrote into the Secret of the run.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { readFact } from '../runner/inputs/folder.ts'
import { type JobRequest, openMounted, toRunSecret } from './run-secret.ts'

it('a run in a Job is given values with integers of 64 bits and with any name', async () => {
  const base = mkdtempSync(join(tmpdir(), 'capt-run-secret-'))
  try {
    const values = '{"__proto__":{"a":1},"big":9223372036854775807,"constructor":"c"}'
    const workspace = { values: { ...(JSON.parse(values) as object), big: 9223372036854775807n } }
    const owner = { namespace: 'a', name: 'vpc', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
    const { data = {} } = toRunSecret({
      key: { namespace: 'a', name: 'run' },
      account: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'vpc', namespace: 'a' } },
      access: { server: 'https://127.0.0.1:6443' },
      request: { runId: 'r', verb: 'apply', owner, workspace } as unknown as JobRequest,
      credentials: [],
    })
    const [from, folder] = ['mounted', 'work'].map((name) => join(base, name)) as [string, string]
    for (const path of [from, folder]) mkdirSync(path)
    for (const [name, text] of Object.entries(data)) writeFileSync(join(from, name), Buffer.from(text, 'base64'))
    const version = `#!/bin/sh\necho '{"terraform_version":"1.11.4"}'\n`
    writeFileSync(join(from, 'terraform'), version, { mode: 0o755 })
    await openMounted(from, folder, { PATH: `${from}:${process.env['PATH']}` })
    const read = readFact({ path: folder }, 'request')?.workspace as unknown as typeof workspace
    assert.equal(JSON.stringify(read.values), values)
  } finally {
    rmSync(base, { recursive: true })
  }
})
