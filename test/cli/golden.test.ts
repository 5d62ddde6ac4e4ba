// What each command prints, in its normal, wide, JSON and error form, over objects and a time that do not change.
// UPDATE_GOLDEN=1 writes the file anew.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ALL_KINDS, type AnyObject, type KindRef, toCustomResourceDefinition } from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { openSession } from '#kube'
import { manualClock } from '#testing'
import { capt } from '../support/cli-io.ts'
import { FIXTURE } from '../support/cli-objects.ts'

const FILE = join(import.meta.dirname, 'golden', 'commands.txt')
const NOW = Date.parse('2026-01-01T12:00:00Z')

const LINES = [
  'get clusters',
  'get captclusters',
  'get captcontrolplanes',
  'get captcontrolplanes -o wide',
  'get wtapply',
  'get wtapply -o wide',
  'get wtapply -A -l team=shop',
  'get clusters,wtapply -o name',
  'get wtapply/shop-vpc captcluster/ghost',
  'get wtapply -o jsonpath={range .items[*]}{.metadata.name} {.status.phase};{end}',
  'get captcluster shop -o json',
  'get captcluster shop -o yaml',
  'get runs',
  'get runs -o json',
  'get captcluster ghost',
  'get pods',
  'get cluster shop -o xml',
  'describe cluster shop',
  'describe cluster shop -v',
  'describe wtapply shop-vpc -o json',
  'describe cluster ghost',
  'describe cluster shop -w -o json',
  'delete cluster shop --dry-run',
  'delete cluster shop',
  'delete cluster ghost --yes',
  'delete clusters',
  'doctor shop --skip-aws',
  'doctor shop --skip-aws -o json',
  'doctor ghost --skip-aws',
  'logs shop-vpc',
  'logs ghost',
  'logs captcluster/shop',
  'kubeconfig shop',
  'kubeconfig ghost',
  'retry ghost',
  'cancel ghost',
  'state list ghost',
  'explain CAPT_KUBECONFIG_NAME_TAKEN',
  'explain VcpuLimitExceeded',
  'new shop --region eu-west-1 --file -',
  'new shop --region nowhere',
  'version --help',
  'completion tcsh',
]

describe('what commands print', () => {
  let folder: string
  let server: ApiServer
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'capt-golden-'))
    const clock = manualClock(NOW - 600_000)
    server = await startApiServer({
      dataDir: join(folder, 'home'),
      clock,
      crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), ...resourceSetDefinitions()],
      converters: { 'cluster.x-k8s.io/Cluster': convertCluster as never },
    })
    await server.ready()
    writeFileSync(join(folder, 'kubeconfig'), server.kubeconfig())
    const { objects, close } = await openSession({ kubeconfig: join(folder, 'kubeconfig') }, {})
    const uids = new Map<string, string>()
    for (const { kind, object } of FIXTURE) await create(kind, object, uids)
    await close()
    await clock.advance(600_000)

    async function create(kind: KindRef, object: AnyObject & { status?: object }, uids: Map<string, string>) {
      const { status, ...rest } = object
      const ownerReferences = object.metadata.ownerReferences?.map((one) => ({ ...one, uid: uids.get(one.uid) ?? '' }))
      const metadata = { ...object.metadata, ...(ownerReferences ? { ownerReferences } : {}) }
      const made = await objects.create<AnyObject>(kind, { ...rest, metadata })
      uids.set(`${kind.kind}/${object.metadata.name}`, made.metadata.uid ?? '')
      await objects.replace<AnyObject>(kind, { ...made, status } as AnyObject, { subresource: 'status' })
    }
  })
  after(async () => {
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('is as the golden file holds it', async () => {
    const clock = manualClock(NOW)
    const parts: string[] = []
    for (const line of LINES) {
      const [before, template] = line.split(' -o jsonpath=')
      const argv = [...before!.split(' '), ...(template === undefined ? [] : ['-o', `jsonpath=${template}`])]
      const isLocal = /^(explain|new|version|completion)/.test(line)
      const flags = isLocal ? [] : ['--kubeconfig', join(folder, 'kubeconfig')]
      const { code, stdout, stderr } = await capt([...argv, ...flags], { clock })
      const errors = stderr.replace(/^/gm, '! ').replace(/^! $/gm, '').trimEnd()
      parts.push(`$ capt ${line}\n${stdout}${errors === '' ? '' : `${errors}\n`}(${code})\n`)
    }
    const text = parts
      .join('\n')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
      .replace(/("?resourceVersion"?: )"\d+"/g, '$1"N"')
      .replaceAll(folder, 'FOLDER')
      .replace(/https:\/\/127\.0\.0\.1:\d+/g, 'https://SERVER')
    if (process.env['UPDATE_GOLDEN']) writeFileSync(FILE, text)
    assert.equal(text, readFileSync(FILE, 'utf8'))
  })
})
