// Clusters that real Terraform makes in moto, deleted by the shipped program: with and without add-ons, with the API of the
// cluster alive and dead. The account then holds what was reported and nothing else of them: no machine, disk, balancer,
// target group, interface, security group, role, policy, instance profile, queue or rule.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  AddonDelivery,
  type AnyObject,
  CAPTControlPlane,
  clusterKind,
  clusterResourceSetKind,
  EventKind,
  SecretKind,
} from '#api'
import { type EksEndpoint, startEksEndpoint } from '../../support/aws/eks-endpoint.ts'
import { type AwsHome, clusterInMoto, openAwsHome, REGION, warmUp } from '../../support/aws/home.ts'
import { readAccount } from '../../support/aws/ledger.ts'
import { makersOf } from '../../support/aws/makers.ts'
import { findMoto, type Moto, startMoto } from '../../support/aws/moto.ts'
import { eksTemplate } from '../../support/aws/moto-templates.ts'
import { planted } from '../../support/secrets/planted.ts'
import { assertEveryKind, assertLedger } from '../../support/teardown/ledger.ts'
import { findTool } from '../../support/tools.ts'
import { type Shipped, shippedProgram, waitUntil } from '../support.ts'

const ClusterKind = clusterKind('v1beta2')
const ResourceSetKind = clusterResourceSetKind('v1beta2')
const PIPELINE = 'capt.appthrust.com/addon-pipeline'
const program = findMoto()
const missing = [program ? [] : ['moto'], findTool('terraform') ? [] : ['terraform']].flat()

/** The first has the longest name that EKS takes. The pipeline of the add-ons allows to terminate machines. */
const CASES = [
  { name: 'plain', inAws: `plain-${'x'.repeat(94)}`, addons: false, isAlive: true },
  { name: 'plain-dead', inAws: 'plain-dead', addons: false, isAlive: false },
  { name: 'addons', inAws: 'addons', addons: true, isAlive: true },
  { name: 'addons-dead', inAws: 'addons-dead', addons: true, isAlive: false },
] as const
/** Kind, first part of the name, and the length that its service takes; a longer name ends with a hash. */
const BY_TERRAFORM = [
  ['role', 'KarpenterNodeRole-', 64],
  ['role', 'KarpenterControllerRole-', 64],
  ['policy', 'KarpenterControllerPolicy-', 128],
  ['instance profile', 'KarpenterNodeInstanceProfile-', 128],
  ['queue', 'Karpenter-', 80],
  ['rule', 'Karpenter-spot-', 64],
] as const
type Case = (typeof CASES)[number]

describe('a cluster in AWS that is deleted', {
  skip: missing.length > 0 && `not installed: ${missing.join(', ')}`,
}, () => {
  let shipped: Shipped
  let moto: Moto
  let home: AwsHome
  let mortal: EksEndpoint
  let immortal: EksEndpoint
  /** Held before the clusters and after them: of a cluster that lives, of a node group. */
  let others: readonly string[] = []
  let made: ReadonlyMap<string, Awaited<ReturnType<ReturnType<typeof makersOf>['furnish']>>>

  before(async () => {
    shipped = shippedProgram()
    moto = await startMoto(program!)
    const warm = warmUp(moto)
    const { kubeconfig } = await shipped.up('workload')
    ;[mortal, immortal] = [await startEksEndpoint(kubeconfig), await startEksEndpoint(kubeconfig)]
    const keys = { AWS_ACCESS_KEY_ID: 'ambient-key', AWS_SECRET_ACCESS_KEY: planted('teardown/secret+key') }
    home = await openAwsHome(shipped, moto, 'ambient', keys)
    await warm
    const { makeVpc, furnish, runInstance } = makersOf(moto, REGION)
    const place = await makeVpc('10.9')
    await furnish('living', place)
    // Of the cluster, but not of Karpenter: a machine of a node group goes with that group.
    await runInstance(place.subnet, { 'kubernetes.io/cluster/addons-dead': 'owned' })
    others = await readAccount(moto, REGION)
    await home.apply([
      eksTemplate(moto, mortal, 'moto-mortal'),
      eksTemplate(moto, immortal, 'moto-immortal'),
      ...pipeline(),
      ...CASES.flatMap(({ name, inAws, addons, isAlive }) =>
        clusterInMoto(name, {
          labels: { [PIPELINE]: addons ? 'stages' : 'none' },
          infra: { existingVpcId: place.vpc, clusterName: inAws },
          plane: { workspaceTemplateRef: { name: isAlive ? 'moto-immortal' : 'moto-mortal' } },
        }),
      ),
    ])
    for (const { name } of CASES) await home.untilCondition(CAPTControlPlane, name, 'Ready')
    for (const { name } of CASES.filter(({ addons }) => addons)) await untilDelivered(name)
    const furnished = new Map<string, Awaited<ReturnType<typeof furnish>>>()
    for (const { name, inAws } of CASES) furnished.set(name, await furnish(inAws, place, name))
    made = furnished
  })
  after(async () => {
    await home?.connection.close()
    for (const endpoint of [mortal, immortal]) await endpoint?.close()
    await shipped?.end()
    await moto?.stop()
  })

  const untilDelivered = (name: string) =>
    waitUntil(`the delivery of a stage to ${name}`, async () => {
      for await (const set of home.connection.objects.list<AnyObject>(ResourceSetKind))
        if (set.metadata.name.endsWith(`-${name}`)) return true
      return false
    })

  /** What is left of a cluster: a pipeline allowed to terminate its machines, and nobody deletes disks and profiles. */
  const leftOf = ({ name, addons }: Case): readonly string[] => {
    const { instance, volume, profiles } = made.get(name)!
    return [...(addons ? [] : [instance]), volume, ...profiles]
  }

  /** In the Events of the Cluster. */
  async function reportedOf(name: string): Promise<readonly string[]> {
    const reports: string[] = []
    for await (const event of home.connection.objects.list<Report>(EventKind))
      if (event.reason === 'LeftBehind' && event.regarding.kind === 'Cluster' && event.regarding.name === name)
        reports.push(event.note)
    return [...new Set(reports.flatMap((note) => (/Left behind: (.*?)(?:\. |$)/.exec(note)?.[1] ?? note).split(', ')))]
  }

  it('has an object of every kind in its account until then, and names within the limits of each service', async () => {
    const account = await readAccount(moto, REGION)
    assertEveryKind(account.filter((one) => !others.includes(one)))
    const madeFor = (inAws: string) =>
      BY_TERRAFORM.filter(([kind, prefix, limit]) => {
        const whole = `${kind} ${prefix}${inAws}`
        return account.some((one) => one === whole || one.startsWith(whole.slice(0, kind.length + 1 + limit - 9)))
      })
    for (const { inAws } of CASES) assert.deepEqual(madeFor(inAws), BY_TERRAFORM, inAws)
    const [{ inAws }] = CASES
    assert.equal(inAws.length, 100)
    const url = Buffer.from((await home.tokenOf('plain')).slice('k8s-aws-v1.'.length), 'base64url').toString()
    assert.match(url, /X-Amz-SignedHeaders=host%3Bx-k8s-aws-id/)
    assert.ok(immortal.tokens.includes(await home.tokenOf('plain')), 'a token for the longest name is accepted')
  })

  it('leaves what was reported and nothing else', async () => {
    await mortal.close()
    await Promise.all(CASES.map(({ name }) => home.remove(ClusterKind, name)))
    // Without its kubeconfig the API of a cluster counts as gone: nobody has to wait until it stays silent long enough.
    for (const { name, addons } of CASES.filter(({ isAlive }) => !isAlive)) {
      if (addons) await waitUntil('the deletion to begin', async () => hasBegun(await home.get(AddonDelivery, name)))
      await home.remove(SecretKind, `${name}-kubeconfig`)
    }
    for (const { name } of CASES) await home.untilGone(ClusterKind, name)
    const answer = await moto.rest('eks', REGION, 'GET', '/clusters')
    assert.deepEqual(await answer.json(), { clusters: [] })
    const held = async () => (await readAccount(moto, REGION)).filter((one) => !isRoot(one))
    const reported = async () => (await Promise.all(CASES.map(({ name }) => reportedOf(name)))).flat()
    await assertLedger({ held, reported }, CASES.flatMap(leftOf), { others: others.filter((one) => !isRoot(one)) })
  })

  for (const one of CASES)
    it(`reports what it leaves, ${one.addons ? 'with' : 'without'} add-ons and its API ${one.isAlive ? 'alive' : 'dead'}`, async () =>
      assert.deepEqual((await reportedOf(one.name)).toSorted(), leftOf(one).toSorted()))

  /** The disk of a machine goes with it in AWS; moto keeps it. */
  const isRoot = (text: string): boolean =>
    text.startsWith('volume ') && ![...made.values()].some(({ volume }) => volume === text)
})

interface Report extends AnyObject {
  readonly reason: string
  readonly note: string
  readonly regarding: { readonly kind: string; readonly name: string }
}

const hasBegun = (delivery: AddonDelivery | undefined): boolean =>
  delivery?.metadata.deletionTimestamp !== undefined || delivery?.status?.teardown?.startedAt !== undefined || !delivery

/** One stage of plain manifests, and leave to terminate. */
const pipeline = (): readonly object[] => [
  {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'AddonPipeline',
    metadata: { name: 'stages', namespace: 'default' },
    spec: {
      clusterSelector: { matchLabels: { [PIPELINE]: 'stages' } },
      stages: [{ name: 'defaults', resources: [{ kind: 'ConfigMap', name: 'stage-defaults' }] }],
      teardown: { terminateInstances: true },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'stage-defaults', namespace: 'default' },
    data: { 'about.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: about\n  namespace: default\n' },
  },
]
