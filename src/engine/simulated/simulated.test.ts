// The simulation is held to the real thing: both are given the same modules, and must come to the same.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { WorkspaceTemplateApply } from '#api'
import { type Json, silentLog, systemClock } from '#lib'
import { anApply, aTemplate, memoryCluster, shippedModule } from '#testing'
import { engineContract } from '../contract.ts'
import { renderWorkspace } from '../render/render.ts'
import { readState } from '../state/state-file.ts'
import { saveState } from '../state/state-store.ts'
import { findTerraform } from '../tool/find-terraform.ts'
import { evaluateModule } from './evaluate.ts'
import { createSimulatedEngine } from './simulated-engine.ts'

const LANGUAGE = `
variable "name" { type = string }
variable "count_of" {
  type    = number
  default = 2
}
variable "flag" {
  type    = bool
  default = true
}
variable "tags" {
  type    = map(string)
  default = { a = "1", "b.c/d" = "2" }
}
locals {
  zones = [for letter in ["a", "b"] : "eu-\${letter}"]
  short = substr(sha256("\${var.name}/x"), 0, 8)
  upper = { for k, v in var.tags : upper(k) => "\${v}!" if v != "3" }
  both  = merge({ x = 1 }, { y = [1, 2] },)
}
resource "terraform_data" "one" {
  input = { id = "one-\${local.short}", net = cidrsubnet("10.0.0.0/16", 4, 3) }
}
resource "terraform_data" "many" {
  count = var.flag ? var.count_of : 0
  input = { zone = local.zones[count.index], of = terraform_data.one.output.id }
}
resource "terraform_data" "each" {
  for_each = toset(["p", "q"])
  input    = each.key
}
resource "terraform_data" "map" {
  for_each = var.tags
  input    = "\${each.key}=\${each.value}"
}
output "ids" { value = terraform_data.many[*].output.zone }
output "one" { value = terraform_data.one.output }
output "each" { value = terraform_data.each["p"].output }
output "map" { value = { for k, r in terraform_data.map : k => r.output } }
output "upper" { value = local.upper }
output "text" {
  value     = jsonencode({ b = base64encode("hé"), a = [var.flag, null, 1 + 2 * 3], "n-m" = join("-", sort(keys(var.tags))) })
  sensitive = true
}
output "math" { value = [7 % 4, -3, !var.flag, 1 <= 2, "a" == "a" && var.count_of != 3, length(local.zones)] }
output "both" { value = local.both }
output "format" { value = format("%s-%03d", var.name, 7) }
`

const MODULES: readonly (readonly [string, string, Readonly<Record<string, Json>>])[] = [
  ['the language we know', LANGUAGE.replace('sort(keys(', '(keys('), { name: 'demo' }],
  [
    'the simulated VPC',
    shippedModule('simulation-vpc'),
    { cluster_name: 'demo', region: 'eu-west-1', vpc_name: 'demo-vpc', tags: { team: 'x' } },
  ],
  [
    'the simulated control plane',
    shippedModule('simulation-eks-controlplane'),
    {
      cluster_name: 'demo',
      kubernetes_version: '1.35',
      region: 'eu-west-1',
      vpc_id: 'vpc-1',
      private_subnets: ['subnet-a', 'subnet-b'],
      workload_endpoint: 'https://127.0.0.1:1',
      workload_ca: 'CA',
      workload_token: 't',
    },
  ],
  [
    'the simulated control plane in Auto Mode',
    shippedModule('simulation-eks-controlplane'),
    {
      cluster_name: 'demo',
      kubernetes_version: '1.35',
      region: 'eu-west-1',
      vpc_id: 'vpc-1',
      auto_mode: true,
      workload_endpoint: 'https://127.0.0.1:1',
      workload_ca: 'CA',
      workload_token: 't',
    },
  ],
  [
    'the simulated node group',
    shippedModule('simulation-node-group'),
    {
      cluster_name: 'demo',
      node_group_name: 'workers',
      region: 'eu-west-1',
      kubernetes_version: '1.35',
      vpc_id: 'vpc-1',
      subnets: ['subnet-a'],
      min_size: 1,
      max_size: 3,
      desired_size: 2,
    },
  ],
]

const MACHINE = { cluster_name: 'demo', region: 'eu-west-1', instance_type: 'm7i.large', user_data_secret: 's' }

const terraform = await findTerraform().then(
  ({ binary }) => binary,
  () => undefined,
)

describe('the simulated engine', () => {
  it('refuses what it does not know, by name', () => {
    assert.throws(() => evaluateModule({ 'main.tf': 'resource "aws_vpc" "x" {}' }, {}), {
      code: 'CAPT_SIMULATED_UNSUPPORTED',
    })
    assert.throws(() => evaluateModule({ 'main.tf': 'output "x" { value = uuid() }' }, {}), /function uuid/)
  })

  it('gives every simulated machine an instance of its own', () => {
    const files = { 'main.tf': shippedModule('simulation-machine') }
    const outputsOf = (name: string) =>
      Object.fromEntries(
        Object.entries(evaluateModule(files, { ...MACHINE, machine_name: name }, `default/${name}`).outputs).map(
          ([output, { value }]) => [output, String(value)],
        ),
      )
    const [one, other] = [outputsOf('one'), outputsOf('other')]
    assert.match(one!['provider_id']!, /^aws:\/\/\/eu-west-1[abc]\/i-[0-9a-f]{17}$/)
    assert.match(one!['node_name']!, /^ip-10-\d+-\d+-\d+\.eu-west-1\.compute\.internal$/)
    assert.deepEqual(outputsOf('one'), one, 'the same in the next run')
    for (const output of ['instance_id', 'private_ip', 'node_name']) assert.notEqual(one![output], other![output])
  })

  for (const [name, text, values] of MODULES) {
    it(`works out ${name}`, () => {
      const { addresses, outputs } = evaluateModule({ 'main.tf': text }, values)
      assert.ok(addresses.length > 3)
      assert.ok(Object.keys(outputs).length > 2)
      if (terraform === undefined) return
      const folder = mkdtempSync(join(tmpdir(), 'capt-simulated-'))
      try {
        writeFileSync(join(folder, 'main.tf'), text)
        writeFileSync(join(folder, 'terraform.tfvars.json'), JSON.stringify(values))
        const env = { ...process.env, CHECKPOINT_DISABLE: '1' }
        for (const args of [
          ['init', '-input=false'],
          ['apply', '-auto-approve', '-input=false'],
        ]) {
          execFileSync(terraform, args, { cwd: folder, env, stdio: 'pipe' })
        }
        const real = readState(readFileSync(join(folder, 'terraform.tfstate'), 'utf8'))!
        assert.deepEqual([...addresses].sort(), real.addresses)
        assert.deepEqual(JSON.parse(JSON.stringify(outputs)), JSON.parse(JSON.stringify(real.outputs)))
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
})

engineContract('the simulated engine', async () => {
  const { objects, close } = memoryCluster()
  const engine = createSimulatedEngine({ objects, clock: systemClock, log: silentLog, resourceMs: 5 })
  const hold = setInterval(() => undefined, 1000)
  return {
    objects,
    engine,
    async close() {
      clearInterval(hold)
      await engine.stop()
      await close()
    },
  }
})

describe('the first run of an apply', () => {
  it('goes on with the state that an earlier apply of that name has left', async () => {
    const { objects, close } = memoryCluster()
    const hold = setInterval(() => undefined, 1000)
    const engine = createSimulatedEngine({ objects, clock: systemClock, log: silentLog, resourceMs: 1 })
    try {
      const apply = anApply({}, { name: 'again' })
      const { metadata, apiVersion, kind } = await objects.create(WorkspaceTemplateApply, apply)
      const owner = { namespace: 'default', name: 'again', uid: metadata.uid ?? '', apiVersion, kind }
      const resource = { mode: 'managed', type: 'terraform_data', name: 'x', instances: [{}] }
      const left = { version: 4, serial: 7, lineage: 'elder', outputs: {}, resources: [resource] }
      await saveState(objects, owner, JSON.stringify(left), 0)
      const rendering = renderWorkspace(aTemplate('resource "terraform_data" "x" {}'), apply)
      assert.ok(rendering.ok)
      const { workspace } = rendering
      const ended = new Promise<void>((resolve) => void engine.onChange(() => resolve()))
      const first = { basedOn: { runId: undefined } }
      await engine.start({ owner, verb: 'apply', hash: workspace.hash, workspace, timeoutSeconds: 60, ...first })
      await ended
      const { record } = await engine.observe(owner)
      assert.partialDeepStrictEqual(record, {
        run: { phase: 'Succeeded', plan: { add: 0, change: 0, destroy: 0 } },
        state: { serial: 8, lineage: 'elder' },
      })
    } finally {
      clearInterval(hold)
      await engine.stop()
      await close()
    }
  })
})
