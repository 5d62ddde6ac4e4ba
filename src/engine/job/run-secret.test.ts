// What a runner in a Job reads is what the manager wrote into the Secret of the run.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readFact } from '../runner/inputs/folder.ts'
import { type JobRequest, openMounted, toRunSecret } from './run-secret.ts'

const PROGRAMS = { terraform: { terraform_version: '1.11.4' }, tofu: { terraform_version: '1.10.6', tofu_version: '' } }
const owner = { namespace: 'a', name: 'vpc', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }

/** What the runner in the pod of that request works from; both programs are in its image. */
async function mounted(request: object) {
  const base = mkdtempSync(join(tmpdir(), 'capt-run-secret-'))
  try {
    const { data = {} } = toRunSecret({
      key: { namespace: 'a', name: 'run' },
      account: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'vpc', namespace: 'a' } },
      access: { server: 'https://127.0.0.1:6443' },
      request: { runId: 'r', verb: 'apply', owner, ...request } as unknown as JobRequest,
      credentials: [],
    })
    const [from, folder] = ['mounted', 'work'].map((name) => join(base, name)) as [string, string]
    for (const path of [from, folder]) mkdirSync(path)
    for (const [name, text] of Object.entries(data)) writeFileSync(join(from, name), Buffer.from(text, 'base64'))
    for (const [name, version] of Object.entries(PROGRAMS))
      writeFileSync(join(from, name), `#!/bin/sh\necho '${JSON.stringify(version)}'\n`, { mode: 0o755 })
    await openMounted(from, folder, { PATH: `${from}:${process.env['PATH']}` })
    return readFact({ path: folder }, 'request')!
  } finally {
    rmSync(base, { recursive: true })
  }
}

describe('a run in a Job', () => {
  it('is given values with integers of 64 bits and with any name', async () => {
    const values = '{"__proto__":{"a":1},"big":9223372036854775807,"constructor":"c"}'
    const workspace = { values: { ...(JSON.parse(values) as object), big: 9223372036854775807n } }
    const read = (await mounted({ workspace })).workspace as unknown as typeof workspace
    assert.equal(JSON.stringify(read.values), values)
  })

  for (const [what, request, expected] of [
    ['the default', {}, 'terraform'],
    ['the one that its template names', { workspace: { tool: { name: 'tofu' } } }, 'tofu'],
    ['the one that wrote the state', { workspace: {}, lastTool: 'tofu 1.10.6' }, 'tofu'],
    [
      'the one of the last apply for a destroy without a template',
      { verb: 'destroy', lastTool: 'tofu 1.10.6' },
      'tofu',
    ],
    [
      'the one of the last apply for a destroy, whatever its template names by now',
      { verb: 'destroy', workspace: { tool: { name: 'terraform' } }, lastTool: 'tofu 1.10.6' },
      'tofu',
    ],
  ] as const)
    it(`uses ${what}`, async () => assert.equal((await mounted(request)).tool.name, expected))
})
