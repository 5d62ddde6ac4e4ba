// Karpenter on an EKS cluster that already exists, through the shipped program: installed, verified, upgraded, uninstalled,
// and the account as it was. AWS is moto with the stand-in; the workload behind the Kubernetes API is simulated.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type ConfigMap, ConfigMapKind, DeploymentKind, type KindRef, NodeKind, type UnknownObject } from '#api'
import { type Shipped, shippedProgram, waitUntil } from '../../shipped/support.ts'
import { CLUSTER, type ExistingCluster, REGION, startExistingCluster } from '../../support/aws/existing-cluster.ts'
import { findMoto } from '../../support/aws/moto.ts'
import { readModule } from '../../support/karpenter-module.ts'
import type { Ran } from '../../support/tools.ts'

const program = findMoto()
const skip = program === undefined && 'not installed: moto'
const NodePoolKind: KindRef = {
  group: 'karpenter.sh',
  version: 'v1',
  kind: 'NodePool',
  plural: 'nodepools',
  namespaced: false,
}
const NodeClaimKind: KindRef = { ...NodePoolKind, kind: 'NodeClaim', plural: 'nodeclaims' }
const EC2NodeClassKind: KindRef = {
  group: 'karpenter.k8s.aws',
  version: 'v1',
  kind: 'EC2NodeClass',
  plural: 'ec2nodeclasses',
  namespaced: false,
}
const JOURNAL = { namespace: 'kube-system', name: 'capt-karpenter' }

describe('Karpenter on an existing EKS cluster', { skip, timeout: 600_000 }, () => {
  let shipped: Shipped
  let site: ExistingCluster
  let untouched: Readonly<Record<string, unknown>>

  before(async () => {
    shipped = shippedProgram()
    site = await startExistingCluster(program!, shipped.folder)
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
  /** Runs the command again and again, each time killed at a write to AWS, until it ends by itself. Removals are repeated. */
  const killedAgainAndAgain = async (
    verb: string,
    killAt: (kills: number) => number,
    ...more: readonly string[]
  ): Promise<number> => {
    for (let kills = 0; ; kills++) {
      assert.ok(kills < 60, 'it never ends')
      let writes = 0
      const running = shipped.start(['karpenter', verb, CLUSTER, ...more], { env: site.env })
      const kill = ({ isWrite }: { isWrite: boolean }): undefined => {
        if (isWrite && ++writes === killAt(kills)) running.child.kill('SIGKILL')
      }
      // In turn before AWS has done it and after, before the answer is read.
      site.moto.standIn[kills % 2 === 0 ? 'after' : 'before'] = kill
      const ended = await running.ended
      site.moto.standIn.before = site.moto.standIn.after = undefined
      if (ended === 'SIGKILL') continue
      assert.equal(ended, 0, running.out() + running.err())
      return kills
    }
  }

  it('plans without changing anything, as a tree, as data and as files', async () => {
    const { out } = await ok('plan')
    for (const name of [
      'KarpenterNodeRole-demo',
      'KarpenterNodeInstanceProfile-demo',
      'KarpenterControllerRole-demo',
      'KarpenterControllerPolicy-demo',
    ])
      assert.match(out, new RegExp(`${name} .*create`))
    assert.match(out, /security group +sg-\S+ +the security group of the cluster/)
    const plan = JSON.parse((await ok('plan', '-o', 'json')).out) as { choices: { image: { value: string } } }
    assert.equal(plan.choices.image.value, 'al2023@v20261102')
    await ok('plan', '--output', 'files', '--folder', 'guide')
    const trust = JSON.parse(readFileSync(join(shipped.folder, 'guide/controller-trust-policy.json'), 'utf8'))
    assert.match(JSON.stringify(trust), /system:serviceaccount:kube-system:karpenter/)
    assert.match(readFileSync(join(shipped.folder, 'guide/karpenter.yaml'), 'utf8'), /kind: NodePool/)
    assert.deepEqual(readdirSync(join(shipped.folder, 'guide')).sort(), [
      'controller-policy.json',
      'controller-trust-policy.json',
      'karpenter.yaml',
      'node-trust-policy.json',
    ])
    await ok('plan', '--output', 'terraform', '--folder', 'guide')
    const tfvars = JSON.parse(readFileSync(join(shipped.folder, 'guide/karpenter.auto.tfvars.json'), 'utf8'))
    assert.deepEqual(tfvars.subnet_ids, [...site.subnets].sort())
    assert.equal(tfvars.default_node_pool, false, 'Flux brings the chart, and with it what serves pools')
    assert.deepEqual(await site.account(), untouched)
  })

  it('plans the pools of an older Karpenter instead of the default one', async () => {
    const file = join(import.meta.dirname, '../../../src/karpenter/convert/testdata/ops-provisioner.yaml')
    const { out, err } = await ok('plan', '--provisioner', file)
    assert.match(err, /changed {2}Provisioner\/ops-provisioner spec\.provider\.amiFamily: .*al2023@v20261102/)
    assert.match(out, /EC2NodeClass ops-provisioner +create +image al2023@v20261102/)
    assert.match(out, /NodePool ops-provisioner +create +t\/m\/r, spot\/on-demand, .*, at most 100 CPU/)
    assert.match(out, /AWSServiceRoleForEC2Spot +create/)
    assert.doesNotMatch(out, /NodePool default/)
    assert.deepEqual(await site.account(), untouched)
  })

  it('names the missing permission and the missing cluster', async () => {
    site.moto.standIn.before = ({ action }) =>
      action === 'iam:GetRole' ? { code: 'AccessDenied', status: 403 } : undefined
    const denied = await karpenter('plan')
    site.moto.standIn.before = undefined
    assert.equal(denied.code, 1)
    assert.match(denied.err, /CAPT_AWS_ACCESS_DENIED[\s\S]*iam:GetRole/)
    const missing = await shipped.capt(['karpenter', 'plan', 'nope'], { env: { ...shipped.env, ...site.env } })
    assert.equal(missing.code, 1)
    assert.match(missing.err, /no EKS cluster "nope" in eu-west-1: it has demo/)
    assert.deepEqual(await site.account(), untouched)
  })

  it('refuses two security groups and subnets of another cluster, and leaves a closed zone out, all at once', async () => {
    const [first, second] = await groupsOfVpc()
    const tag = (ids: readonly string[], value: string) => ({
      ...Object.fromEntries(ids.map((id, i) => [`ResourceId.${i + 1}`, id])),
      'Tag.1.Key': 'karpenter.sh/discovery',
      'Tag.1.Value': value,
    })
    const tags = [tag([first!, second!], CLUSTER), tag([site.subnets[0]!], 'another')]
    for (const one of tags) await site.ec2('CreateTags', one)
    site.moto.standIn.closedZones = [`${REGION}b`]
    const refused = await karpenter('install', '--yes')
    site.moto.standIn.closedZones = []
    for (const one of tags) await site.ec2('DeleteTags', one)
    assert.equal(refused.code, 1)
    assert.match(refused.err, /CAPT_KARPENTER_SECURITY_GROUP[\s\S]*nothing was changed/)
    assert.match(refused.err, new RegExp(`--subnet: .*${site.subnets[0]}.*CAPT_KARPENTER_SUBNETS\\n.*--discovery-tag`))
    assert.doesNotMatch(refused.err, new RegExp(site.subnets[1]!))
    assert.deepEqual(await site.account(), untouched)
  })

  it('shows what somebody made by hand as found', async () => {
    const trust = { Effect: 'Allow', Principal: { Service: 'ec2.amazonaws.com' }, Action: 'sts:AssumeRole' }
    const document = JSON.stringify({ Version: '2012-10-17', Statement: [trust] })
    await site.iam('CreateRole', { RoleName: 'KarpenterNodeRole-demo', AssumeRolePolicyDocument: document })
    const { out } = await ok('plan')
    await site.iam('DeleteRole', { RoleName: 'KarpenterNodeRole-demo' })
    assert.match(out, /IAM role KarpenterNodeRole-demo +keep +.*found, and stays when capt uninstalls/)
    assert.match(out, /IAM role KarpenterControllerRole-demo +create/)
  })

  it('finds the role that modules/karpenter writes, and follows its trust', async () => {
    const issuer = /issuer":"https:\/\/([^"]+)/.exec(JSON.stringify((await site.account())['cluster']))![1]!
    const account = '123456789012'
    const filled = (name: string) => {
      const values: Readonly<Record<string, string>> = {
        partition: 'aws',
        region: REGION,
        account_id: account,
        cluster_name: CLUSTER,
        node_role_arn: `arn:aws:iam::${account}:role/KarpenterNodeRole-demo`,
        queue_arn: `arn:aws:sqs:${REGION}:${account}:Karpenter-demo`,
        oidc_provider_arn: `arn:aws:iam::${account}:oidc-provider/${issuer}`,
        issuer,
        namespace: 'platform',
        service_account: 'karpenter',
      }
      const text = readModule(`policies/${name}.json.tftpl`)
      return text.replace(/\$\{(\w+)\}/g, (_all, key: string) => values[key] ?? assert.fail(key))
    }
    const role = { RoleName: 'KarpenterControllerRole-demo' }
    const policy = { ...role, PolicyName: 'KarpenterControllerPolicy-demo' }
    await site.iam('CreateRole', { ...role, AssumeRolePolicyDocument: filled('controller-trust-irsa') })
    await site.iam('PutRolePolicy', { ...policy, PolicyDocument: filled('controller-1.12') })
    const { out } = await ok('plan')
    await site.iam('DeleteRolePolicy', policy)
    await site.iam('DeleteRole', role)
    assert.match(out, /namespace +platform: the role of the controller is there and trusts it/)
    assert.match(out, /IAM policy KarpenterControllerPolicy-demo +keep +.*found, and stays when capt uninstalls/)
    assert.deepEqual(await site.account(), untouched)
  })

  async function groupsOfVpc(): Promise<readonly string[]> {
    const xml = await site.ec2('DescribeSecurityGroups', { 'Filter.1.Name': 'vpc-id', 'Filter.1.Value.1': site.vpc })
    return [...new Set([...xml.matchAll(/<groupId>(sg-[^<]+)</g)].map(([, id]) => id!))]
  }

  it('is undone by --rollback after an installation that was killed', async () => {
    let writes = 0
    const running = shipped.start(['karpenter', 'install', CLUSTER, '--yes'], { env: site.env })
    site.moto.standIn.after = ({ isWrite }) => {
      if (isWrite && ++writes === 12) running.child.kill('SIGKILL')
    }
    assert.equal(await running.ended, 'SIGKILL')
    site.moto.standIn.after = undefined
    assert.notDeepEqual(await site.account(), untouched)
    await ok('install', '--rollback', '--yes')
    assert.deepEqual(await site.account(), untouched)
    assert.equal(await site.objects.get(ConfigMapKind, JOURNAL), undefined)
  })

  it('says that credentials expired in the middle, and that the same command continues', async () => {
    let writes = 0
    site.moto.standIn.before = ({ isWrite }) =>
      isWrite && ++writes > 8 ? { code: 'ExpiredToken', status: 403 } : undefined
    const expired = await karpenter('install', '--yes', '--version', '1.11.0')
    site.moto.standIn.before = undefined
    assert.equal(expired.code, 1)
    assert.match(expired.err, /create \S+ [^\n]*:/)
    assert.match(expired.err, /renew your credentials; then run the same command again to continue/)
    assert.notDeepEqual(await site.account(), untouched)
  })

  it('is installed by a command that is throttled and killed again and again, without duplicates', async () => {
    let throttled = 0
    site.moto.standIn.before = () => (throttled++ < 2 ? { code: 'ThrottlingException', status: 429 } : undefined)
    await ok('plan')
    site.moto.standIn.before = undefined
    assert.ok(throttled > 2)
    const kills = await killedAgainAndAgain('install', () => 5, '--yes', '--wait', '1m', '--version', '1.11.0')
    assert.ok(kills >= 2, `${kills} kills`)
    const account = (await site.account()) as {
      roles: string[]
      profiles: string[]
      queues: string[]
      rules: unknown[]
      entries: string[]
    }
    assert.deepEqual(
      account.roles.filter((name) => name.startsWith('Karpenter')),
      ['KarpenterControllerRole-demo', 'KarpenterNodeRole-demo'],
    )
    assert.deepEqual(account.profiles, ['KarpenterNodeInstanceProfile-demo'])
    assert.deepEqual(
      [account.queues.length, account.rules.length, account.entries.filter((arn) => arn.includes('Karpenter')).length],
      [1, 5, 1],
    )
    const pool = JSON.stringify(await site.objects.get<UnknownObject>(NodePoolKind, { name: 'default' }))
    for (const text of [
      '"c","t","m"',
      '"Gt","values":["2"]',
      '"on-demand"',
      'eu-west-1a',
      '"cpu":"1000"',
      'WhenEmptyOrUnderutilized',
    ])
      assert.ok(pool.includes(text), text)
  })

  it('verifies, with a pod that gets a node, and has nothing to do a second time', async () => {
    const { out } = await ok('verify', '--probe')
    assert.match(out, /probe pod +fine +ran on \S+, a node of NodePool default/)
    const before = await site.account()
    assert.match((await ok('install', '--yes')).out, /^Nothing to do/)
    assert.deepEqual(await site.account(), before)
    assert.match((await karpenter('doctor')).out, /cluster-autoscaler/)
  })

  it('is left to whatever installed it where no journal says that capt did, and none is written', async () => {
    const { data } = (await site.objects.get<ConfigMap>(ConfigMapKind, JOURNAL))!
    await site.objects.delete(ConfigMapKind, JOURNAL)
    const { out, err } = await ok('install', '--yes')
    assert.match(out, /^Nothing to do/)
    assert.match(err, /note: Karpenter 1\.11\.0 was installed by modules\/karpenter or in the same form/)
    assert.equal(await site.objects.get(ConfigMapKind, JOURNAL), undefined)
    await site.objects.create<ConfigMap>(ConfigMapKind, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: JOURNAL,
      data: data!,
    })
  })

  it('has in IAM what the files of the guide say', async () => {
    await ok('plan', '--output', 'files', '--folder', 'installed')
    const policy = { RoleName: 'KarpenterControllerRole-demo', PolicyName: 'KarpenterControllerPolicy-demo' }
    for (const [file, xml, element] of [
      [
        'node-trust-policy',
        await site.iam('GetRole', { RoleName: 'KarpenterNodeRole-demo' }),
        'AssumeRolePolicyDocument',
      ],
      ['controller-trust-policy', await site.iam('GetRole', policy), 'AssumeRolePolicyDocument'],
      ['controller-policy', await site.iam('GetRolePolicy', policy), 'PolicyDocument'],
    ] as const) {
      const made = new RegExp(`<${element}>([^<]*)<`).exec(xml)![1]!
      const written = readFileSync(join(shipped.folder, 'installed', `${file}.json`), 'utf8')
      assert.deepEqual(JSON.parse(decodeURIComponent(made)), JSON.parse(written), file)
    }
  })

  it('reads every list to its end: pages of one make the same plan', async () => {
    const whole = await ok('plan', '-o', 'json')
    const asked = new Map<string, number>()
    site.moto.standIn.after = ({ action }) => void asked.set(action, (asked.get(action) ?? 0) + 1)
    site.moto.standIn.pageSize = 1
    const paged = await ok('plan', '-o', 'json')
    site.moto.standIn.after = undefined
    assert.deepEqual(JSON.parse(paged.out), JSON.parse(whole.out))
    for (const [action, pages] of [
      ['ec2:DescribeSubnets', 2],
      ['ec2:DescribeSecurityGroups', 2],
      ['iam:ListAttachedRolePolicies', 4],
      ['eks:GET addons', 2],
    ] as const)
      assert.ok((asked.get(action) ?? 0) >= pages, `${action}: ${asked.get(action)}`)
  })

  it('takes the place of the Cluster Autoscaler on request, and has nothing to do a second time', async () => {
    const replace = ['--replace-cluster-autoscaler', '--yes']
    const { err } = await ok('install', ...replace)
    assert.match(err, /once it works[\s\S]*Cluster Autoscaler kube-system\/cluster-autoscaler +change +1 → 0 replicas/)
    assert.equal(await replicasOf('cluster-autoscaler'), 0)
    assert.deepEqual((await site.account())['nodeGroup'], { minSize: 2, maxSize: 6, desiredSize: 2 })
    assert.match((await ok('install', ...replace)).out, /^Nothing to do/)
    assert.equal((await karpenter('doctor')).code, 0, (await karpenter('doctor')).out)
  })

  const replicasOf = async (name: string) =>
    (await site.objects.get<UnknownObject & { spec: { replicas: number } }>(DeploymentKind, {
      namespace: 'kube-system',
      name,
    }))!.spec.replicas

  it('is upgraded in lockstep: permissions before the chart', async () => {
    const { err } = await ok('upgrade', '--yes')
    assert.match(err, /change IAM policy KarpenterControllerPolicy-demo[\s\S]*change release karpenter/)
    const deployment = await site.objects.get<UnknownObject>(DeploymentKind, {
      namespace: 'kube-system',
      name: 'karpenter',
    })
    assert.equal(deployment?.metadata.labels?.['app.kubernetes.io/version'], '1.14.1')
    const journal = await site.objects.get<ConfigMap>(ConfigMapKind, JOURNAL)
    assert.match(journal!.data!['journal']!, /"version":"1.14.1"/)
  })

  it('is not uninstalled while its controller is dead and a machine is left, which --force names first', async () => {
    const key = { namespace: 'kube-system', name: 'karpenter' }
    const scaled = async (replicas: number) => {
      await site.objects.patch(DeploymentKind, key, { type: 'merge', body: { spec: { replicas } } })
      await waitUntil(`${replicas} replicas`, async () => {
        const one = await site.objects.get<UnknownObject & { status?: { availableReplicas?: number } }>(
          DeploymentKind,
          key,
        )
        return (one?.status?.availableReplicas ?? 0) === replicas
      })
    }
    await scaled(0)
    const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }
    await site.objects.create(NodeClaimKind, {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: 'left' },
      spec: { nodeClassRef, requirements: [] },
    } as never)
    const { err } = await ok('uninstall', '--force', '--dry-run')
    assert.match(err, /remove {2}NodeClaim left and its machine\n[\s\S]*orphan {2}NodeClaim left: nobody ends it\n/)
    const refused = await karpenter('uninstall', '--yes')
    assert.equal(refused.code, 1)
    assert.match(refused.err, /nobody would end .*NodeClaim left {2}CAPT_KARPENTER_NOT_DRAINED\n.*--force/)
    await site.objects.delete(NodeClaimKind, { name: 'left' })
    await scaled(2)
  })

  it('is uninstalled by a command that is killed again and again, and the account is as it was', async () => {
    assert.equal(site.moto.standIn.pageSize, 1, 'its lists come in pages too')
    const kills = await killedAgainAndAgain('uninstall', (kills) => 4 * (kills + 1), '--yes', '--wait', '1m')
    assert.ok(kills >= 3, `${kills} kills`)
    site.moto.standIn.pageSize = undefined
    assert.deepEqual(await site.account(), untouched)
    assert.equal(await site.objects.get(ConfigMapKind, JOURNAL), undefined)
    assert.equal(await site.objects.get(DeploymentKind, { namespace: 'kube-system', name: 'karpenter' }), undefined)
    assert.equal(await replicasOf('cluster-autoscaler'), 1, 'the autoscaler scales again')
    for (const kind of [NodePoolKind, EC2NodeClassKind])
      await assert.rejects(async () => await site.objects.get(kind, { name: 'default' }), { reason: 'KindNotServed' })
    for await (const node of site.objects.list(NodeKind))
      assert.equal(node.metadata.labels?.['karpenter.sh/nodepool'], undefined)
    const again = await karpenter('uninstall', '--yes')
    assert.equal(again.code, 1)
    assert.match(again.err, /CAPT_KARPENTER_JOURNAL/)
  })
})
