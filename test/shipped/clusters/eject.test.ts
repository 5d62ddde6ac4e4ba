// No lock-in, by the shipped program: what `capt eject` writes is enough for plain Terraform, whose plan is empty; nothing
// changes in the API server, and what is not the whole truth is not written.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import { CLUSTER_NAME_LABEL, type Secret, SecretKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { stateName, suffixOf } from '#engine'
import { type Connection, connect, loadKubeconfig, type Objects } from '#kube'
import { anApply, aTemplate } from '#testing'
import { findTool, run } from '../../support/tools.ts'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const terraform = findTool('terraform')
const TIMEOUT_MS = 180_000
const FOLDERS = ['demo-eks-controlplane-apply', 'demo-vpc', 'demo-workers-node-group', 'extra']

describe('capt eject', { skip: terraform ? false : 'not installed: terraform' }, () => {
  let shipped: Shipped
  let home: UpHome
  let connection: Connection
  let objects: Objects

  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up()
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    objects = connection.objects
    writeFileSync(join(shipped.folder, 'extra.yaml'), extra())
    const examples = ['simulation', 'node-pool'].flatMap((name) => ['-f', join(ROOT, 'examples', `${name}.yaml`)])
    await capt('apply', ...examples, '-f', 'extra.yaml')
    await waitUntil(
      'every workspace to be applied',
      async () => (await readyNames()).length === FOLDERS.length,
      TIMEOUT_MS,
    )
  })
  after(async () => {
    await connection?.close()
    await shipped.end()
  })

  const at = (...words: readonly string[]) => [...words, '--kubeconfig', home.kubeconfig]
  const capt = (...words: readonly string[]) => shipped.captOk(at(...words), { timeoutMs: TIMEOUT_MS })
  const readyNames = async (): Promise<readonly string[]> => {
    const names: string[] = []
    for await (const { metadata, status } of objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, {}))
      if (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'))
        names.push(metadata.name)
    return names.sort()
  }
  /** Everything that is kept for the workspaces, with its version. */
  const versions = async (): Promise<readonly string[]> => {
    const found: string[] = []
    for await (const { metadata } of objects.list<Secret>(SecretKind, {
      labelSelector: 'capt.appthrust.com/workspace',
    }))
      found.push(`${metadata.name} ${metadata.resourceVersion}`)
    for await (const { metadata } of objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, {}))
      found.push(`${metadata.name} ${metadata.generation}`)
    return found.sort()
  }
  /** By hand, in a shell without any setting of capt. */
  const planIn = async (folder: string, env: Readonly<Record<string, string>> = {}) => {
    const options = { cwd: join(shipped.folder, folder), env: { ...shipped.env, ...env }, timeoutMs: TIMEOUT_MS }
    const init = await run(terraform!, ['init', '-input=false', '-no-color'], options)
    assert.equal(init.code, 0, init.err)
    return run(terraform!, ['plan', '-input=false', '-no-color', '-detailed-exitcode'], options)
  }
  const refused = async (code: string, text: RegExp, ...words: readonly string[]) => {
    const ran = await shipped.capt(at('eject', 'demo', '--to', 'refused', ...words))
    assert.equal(ran.code, 1, ran.out + ran.err)
    assert.match(ran.err, new RegExp(code))
    assert.match(ran.err, text)
    assert.ok(!existsSync(join(shipped.folder, 'refused')), 'nothing was written')
    assert.deepEqual(
      readdirSync(shipped.folder).filter((name) => name.startsWith('.refused')),
      [],
    )
  }

  it('writes a root module per workspace; the plan of plain Terraform is empty in each', async () => {
    const before = await versions()
    const printed = await capt('eject', 'demo', '--to', 'out')
    assert.deepEqual(
      printed.trim().split('\n').sort(),
      FOLDERS.map((name) => `out/${name}`),
    )
    const plans = await Promise.all(FOLDERS.map((name) => planIn(`out/${name}`)))
    for (const [i, { code, out, err }] of plans.entries()) {
      assert.equal(code, 0, `${FOLDERS[i]}: ${out}${err}`)
      assert.match(out, /No changes/)
    }
    assert.deepEqual(await versions(), before, 'nothing has changed in the API server')
  })

  it('lets nobody else read it, and says what is secret', () => {
    const out = join(shipped.folder, 'out')
    const paths = ['.', 'demo-vpc', 'demo-vpc/terraform.tfstate', 'extra/zz-capt-00.auto.tfvars']
    for (const path of paths) assert.equal(statSync(join(out, path)).mode & 0o077, 0, path)
    const page = readFileSync(join(out, 'demo-eks-controlplane-apply', 'README.md'), 'utf8')
    assert.match(page, /`terraform\.tfvars\.json`: workload_ca, workload_endpoint, workload_token/)
    assert.match(page, /outputs kubeconfig/)
  })

  it('uses the state where capt keeps it, with --backend kubernetes', async () => {
    await capt('eject', 'demo', '--to', 'shared', '--backend', 'kubernetes')
    assert.ok(!existsSync(join(shipped.folder, 'shared', 'demo-vpc', 'terraform.tfstate')))
    const { code, out, err } = await planIn('shared/demo-vpc', { KUBE_CONFIG_PATH: home.kubeconfig })
    assert.equal(code, 0, out + err)
  })

  it('writes nothing with --dry-run, and nothing over something else', async () => {
    assert.deepEqual((await capt('eject', 'demo', '--to', 'dry', '--dry-run')).trim().split('\n').sort(), FOLDERS)
    assert.ok(!existsSync(join(shipped.folder, 'dry')))
    mkdirSync(join(shipped.folder, 'mine'))
    writeFileSync(join(shipped.folder, 'mine', 'main.tf'), 'mine')
    const { code, err } = await shipped.capt(at('eject', 'demo', '--to', 'mine'))
    assert.equal(code, 1)
    assert.match(err, /CAPT_EJECT_REFUSED/)
    assert.deepEqual(readdirSync(join(shipped.folder, 'mine')), ['main.tf'])
  })

  it('is refused while a run is in progress', async () => {
    await objects.patch(WorkspaceTemplateApply, key('extra'), {
      type: 'merge',
      body: { spec: { variables: { seconds: '60' } } },
    })
    await waitUntil('the run to apply', async () => {
      const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key('extra'))
      return apply?.status?.run?.phase === 'Apply'
    })
    await refused('CAPT_EJECT_REFUSED', /extra has a run in progress/)
    await capt('cancel', 'extra')
    await waitUntil('every runner to end', () => shipped.runners().length === 0, TIMEOUT_MS)
  })

  it('is refused when a state is damaged', async () => {
    const name = stateName(suffixOf(key('demo-vpc')))
    const body = { data: { tfstate: Buffer.from('cut').toString('base64') } }
    await objects.patch(SecretKind, key(name), { type: 'merge', body })
    await refused('CAPT_STATE_UNREADABLE', /demo-vpc/)
  })
})

const key = (name: string) => ({ namespace: 'default', name })

/** A workspace of the cluster whose variables come from every source. */
function extra(): string {
  const module = `
variable "seconds" { default = "0" }
variable "from_file" { type = string }
variable "from_both" { type = string }
variable "from_env" { type = list(string) }
variable "secret" {
  type      = string
  sensitive = true
}
resource "terraform_data" "x" {
  input = [var.from_file, var.from_both, var.from_env, var.secret, "\${WORKSPACE_NAME}"]
}
resource "terraform_data" "slow" {
  triggers_replace = var.seconds
  provisioner "local-exec" { command = "sleep \${var.seconds}" }
}`
  const template = aTemplate(
    module,
    {
      varFiles: [{ source: 'ConfigMapKey', format: 'HCL', configMapKeyRef: { name: 'extra', key: 'vars' } }],
      vars: [{ key: 'from_both', value: 'vars' }],
      varmap: { secret: 'canary' },
      env: [{ name: 'TF_VAR_from_env', value: '["a"]' }],
    } as never,
    { name: 'extra' },
  )
  const config = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'extra' },
    data: { vars: 'from_file = "file"\nfrom_both = "file"\n' },
  }
  const labels = { [CLUSTER_NAME_LABEL]: 'demo' }
  const apply = anApply({ templateRef: { name: 'extra' }, variables: { seconds: '0' } }, { name: 'extra', labels })
  return [config, { ...template, apiVersion: WorkspaceTemplate.apiVersion, kind: WorkspaceTemplate.kind }, apply]
    .map((object) => stringify(object))
    .join('---\n')
}
