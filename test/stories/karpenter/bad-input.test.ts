// What goes wrong before, during and after an installation of Karpenter on an existing EKS cluster, through the shipped
// program. The name of the cluster is as long as EKS allows, so every name that is made of it is cut.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type AnyObject, ConfigMapKind, NodeKind } from '#api'
import { karpenterNames } from '#catalog'
import { type Running, type Shipped, shippedProgram } from '../../shipped/support.ts'
import { type ExistingCluster, REGION, startExistingCluster } from '../../support/aws/existing-cluster.ts'
import { findMoto } from '../../support/aws/moto.ts'
import type { Ran } from '../../support/tools.ts'

const program = findMoto()
const CLUSTER = `c${'-long'.repeat(19)}-end`
const JOURNAL = { namespace: 'kube-system', name: 'capt-karpenter' }
const NAMES = karpenterNames(CLUSTER)

interface Account {
  readonly roles: readonly string[]
  readonly profiles: readonly string[]
  readonly rules: readonly { readonly Name: string }[]
  readonly queues: readonly string[]
}

describe('Karpenter on a cluster with the longest name that EKS allows', {
  skip: program === undefined && 'not installed: moto',
  timeout: 600_000,
}, () => {
  let shipped: Shipped
  let site: ExistingCluster
  let untouched: Readonly<Record<string, unknown>>

  before(async () => {
    shipped = shippedProgram()
    site = await startExistingCluster(program!, shipped.folder, { name: CLUSTER, hasAutoscaler: false })
    untouched = await site.account()
  })
  after(async () => {
    await site?.close()
    await shipped?.end()
  })

  const karpenter = (verb: string, ...more: readonly string[]): Promise<Ran> =>
    shipped.capt(['karpenter', verb, CLUSTER, ...more], { env: { ...shipped.env, ...site.env } })
  const ok = async (verb: string, ...more: readonly string[]): Promise<Ran> => {
    const ran = await karpenter(verb, ...more)
    assert.equal(ran.code, 0, ran.out + ran.err)
    return ran
  }
  /** Runs it with this answer to every write from the given one on. */
  const refusedFrom = async (write: number, code: string, ...args: Parameters<typeof karpenter>): Promise<Ran> => {
    let writes = 0
    site.moto.standIn.before = ({ isWrite }) => (isWrite && ++writes >= write ? { code, status: 403 } : undefined)
    const ran = await karpenter(...args)
    site.moto.standIn.before = undefined
    assert.equal(ran.code, 1, ran.out + ran.err)
    return ran
  }
  const hasJournal = async () => (await site.objects.get(ConfigMapKind, JOURNAL)) !== undefined

  it('is refused where there is neither a node group nor another node', async () => {
    const group = `/clusters/${CLUSTER}/node-groups`
    const { nodegroup } = (await (await site.moto.rest('eks', REGION, 'GET', `${group}/simulated`)).json()) as {
      nodegroup: Record<string, unknown>
    }
    await site.moto.rest('eks', REGION, 'DELETE', `${group}/simulated`)
    const { out } = await ok('plan')
    assert.match(out, /node groups +any: /, 'nodes that belong to no group are a place too')
    const nodes: AnyObject[] = []
    for await (const node of site.objects.list<AnyObject>(NodeKind)) nodes.push(node)
    for (const { metadata } of nodes) await site.objects.delete(NodeKind, { name: metadata.name })
    const { code, err } = await karpenter('install', '--yes')
    assert.equal(code, 1, err)
    assert.match(err, /CAPT_KARPENTER_NO_NODES\n +hint +[^\n]*aws eks create-nodegroup[\s\S]*nothing was changed/)
    assert.equal(await hasJournal(), false)
    const { nodegroupName, nodeRole, subnets, scalingConfig } = nodegroup
    const body = JSON.stringify({ nodegroupName, nodeRole, subnets, scalingConfig })
    await site.moto.rest('eks', REGION, 'POST', group, body)
    for (const { apiVersion, kind, metadata, ...rest } of nodes)
      await site.objects.create(NodeKind, {
        apiVersion,
        kind,
        metadata: { name: metadata.name, labels: metadata.labels },
        ...rest,
      } as never)
    assert.deepEqual(await site.account(), untouched)
  })

  it('names the action that is denied in the middle, to whom, and how to continue', async () => {
    const { err } = await refusedFrom(3, 'AccessDenied', 'install', '--yes')
    assert.match(err, /error: create [^\n]*: iam:\w+ was refused: AccessDenied[\s\S]*CAPT_AWS_ACCESS_DENIED/)
    const action = /: (iam:\w+) was refused/.exec(err)![1]
    const hint = err.slice(err.indexOf('hint')).replace(/\s+/g, ' ')
    assert.ok(
      hint.includes(`allow ${action} to the identity that aws sts get-caller-identity names; then run the`),
      err,
    )
    assert.equal(await hasJournal(), true)
  })

  it('says that Ctrl-C left something to continue', async () => {
    const running: Running = shipped.start(['karpenter', 'install', CLUSTER, '--yes'], { env: site.env })
    // Throttled for ever: it waits when it is interrupted.
    let isSent = false
    site.moto.standIn.before = ({ isWrite }) => {
      if (!isWrite) return undefined
      if (!isSent) isSent = running.child.kill('SIGINT')
      return { code: 'RequestLimitExceeded', status: 503 }
    }
    const ended = await running.ended
    site.moto.standIn.before = undefined
    assert.equal(ended, 130, running.err())
    assert.match(running.err(), /\nInterrupted: run the same command again to continue\n$/)
  })

  it('is installed under throttling of every write, with names that are cut to the limits of AWS', async () => {
    const seen = new Set<string>()
    site.moto.standIn.before = ({ isWrite, action, subject }) => {
      if (!isWrite || seen.size === seen.add(`${action} ${subject}`).size) return undefined
      return { code: action.startsWith('ec2:') ? 'RequestLimitExceeded' : 'ThrottlingException', status: 400 }
    }
    await ok('install', '--yes', '--wait', '2m')
    site.moto.standIn.before = undefined
    assert.ok(seen.size > 15, `${seen.size} writes`)
    const { roles, profiles, rules, queues } = (await site.account()) as unknown as Account
    for (const name of [NAMES.nodeRole, NAMES.controllerRole]) {
      assert.ok(name.length <= 64, name)
      assert.ok(roles.includes(name), name)
    }
    assert.deepEqual(profiles, [NAMES.instanceProfile])
    assert.equal(rules.length, 5)
    for (const { Name } of rules) assert.ok(Name.length <= 64, Name)
    assert.equal(queues.length, 1)
    assert.ok(queues[0]!.split('/').at(-1)!.length <= 80)
    await ok('verify')
    assert.match((await ok('install', '--yes')).out, /^Nothing to do/)
  })

  it('is uninstalled although credentials expire in the middle, which it says with the next step', async () => {
    for (const [write, code] of [
      [4, 'ExpiredToken'],
      [8, 'RequestExpired'],
    ] as const) {
      const { err } = await refusedFrom(write, code, 'uninstall', '--yes', '--wait', '2m')
      assert.match(err, new RegExp(`error: remove [^\\n]*${code}[\\s\\S]*CAPT_AWS_NO_CREDENTIALS`))
      const hint = err.slice(err.indexOf('hint')).replace(/\s+/g, ' ')
      assert.match(hint, /^hint renew your credentials; then run the same command again to continue ?$/)
    }
    await ok('uninstall', '--yes', '--wait', '2m')
    assert.equal(await hasJournal(), false)
    assert.deepEqual(await site.account(), untouched)
  })
})
