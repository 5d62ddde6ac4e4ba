// The stand-in as AWS's own client reads it: each table is a sequence of calls by botocore, with the part of the answer
// that matters. Every field of every answer is one that AWS's model of the operation has.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Answer, type Botocore, startBotocore } from '../botocore.ts'
import { findMoto, type Moto, startMoto } from '../moto.ts'

const REGION = 'eu-west-1'
const ACCOUNT = '123456789012'
const role = (name: string) => `arn:aws:iam::${ACCOUNT}:role/${name}`
const policy = (name: string) => `arn:aws:eks::aws:cluster-access-policy/${name}`
const program = findMoto()
const skip = program ? false : 'not installed: moto'
const demo = { clusterName: 'demo' }
const notFound = { error: 'ResourceNotFoundException', status: 404 }
const inUse = { error: 'ResourceInUseException', status: 409 }
const invalid = { error: 'InvalidParameterException', status: 400 }
const refused = { error: 'InvalidRequestException', status: 400 }

type Row = readonly [operation: string, parameters: object, expected: object]

describe('the stand-in for what moto lacks', { skip }, () => {
  let moto: Moto
  let aws: Botocore
  before(async () => {
    moto = await startMoto(program!)
    aws = startBotocore(moto.python, moto.url, REGION)
  })
  after(async () => {
    await aws?.stop()
    await moto?.stop()
  })
  beforeEach(async () => {
    assert.equal((await fetch(`${moto.url}/moto-api/reset`, { method: 'POST' })).status, 200)
  })

  const makeCluster = (name = 'demo', more: object = {}) =>
    aws.call('eks', 'create_cluster', {
      name,
      version: '1.35',
      roleArn: role('eks'),
      resourcesVpcConfig: { subnetIds: [] },
      accessConfig: { authenticationMode: 'API_AND_CONFIG_MAP' },
      ...more,
    })

  async function follow(rows: readonly Row[]): Promise<readonly Answer[]> {
    const answers: Answer[] = []
    for (const [operation, parameters, expected] of rows) {
      const answer = await aws.call('eks', operation, parameters as Answer)
      assert.deepEqual(like(answer, expected), expected, `${operation} ${JSON.stringify(parameters)}`)
      answers.push(answer)
    }
    return answers
  }

  it('keeps access entries with what EKS sets for each type, and refuses what EKS refuses', async () => {
    await makeCluster()
    const dev = { ...demo, principalArn: role('team/dev') }
    const node = { ...demo, principalArn: role('node') }
    const user = { ...demo, principalArn: `arn:aws:iam::${ACCOUNT}:user/ann` }
    const session = `arn:aws:sts::${ACCOUNT}:assumed-role/dev/x`
    const [made] = await follow([
      [
        'create_access_entry',
        { ...dev, kubernetesGroups: ['readers'], tags: { team: 'shop' } },
        {
          accessEntry: {
            ...dev,
            type: 'STANDARD',
            kubernetesGroups: ['readers'],
            username: `arn:aws:sts::${ACCOUNT}:assumed-role/dev/{{SessionName}}`,
            tags: { team: 'shop' },
          },
        },
      ],
      ['create_access_entry', dev, inUse],
      ['create_access_entry', { ...demo, principalArn: session }, invalid],
      ['create_access_entry', { ...demo, principalArn: role('aws-service-role/x.amazonaws.com/X') }, invalid],
      ['create_access_entry', { ...user, kubernetesGroups: ['system:masters'] }, invalid],
      ['create_access_entry', { ...node, type: 'NODE' }, invalid],
      ['create_access_entry', { ...node, type: 'EC2_LINUX', username: 'x' }, invalid],
      ['create_access_entry', user, { accessEntry: { username: user.principalArn } }],
      [
        'create_access_entry',
        { ...node, type: 'EC2_LINUX' },
        { accessEntry: { kubernetesGroups: ['system:nodes'], username: 'system:node:{{EC2PrivateDNSName}}' } },
      ],
      ['update_access_entry', { ...node, kubernetesGroups: ['x'] }, invalid],
      ['update_access_entry', { ...dev, kubernetesGroups: [] }, { accessEntry: { kubernetesGroups: [] } }],
      ['describe_access_entry', dev, { accessEntry: { kubernetesGroups: [] } }],
      ['list_access_entries', demo, { accessEntries: [dev, node, user].map((one) => one.principalArn).sort() }],
      ['delete_access_entry', dev, {}],
      ['delete_access_entry', dev, notFound],
      ['describe_access_entry', dev, notFound],
      ['list_access_entries', { clusterName: 'other' }, notFound],
    ])
    const { accessEntryArn } = made!['accessEntry'] as { accessEntryArn: string }
    assert.match(accessEntryArn, new RegExp(`^arn:aws:eks:${REGION}:${ACCOUNT}:access-entry/demo/role/${ACCOUNT}/dev/`))
  })

  it('associates access policies with entries', async () => {
    await makeCluster()
    const dev = { ...demo, principalArn: role('dev') }
    const node = { ...demo, principalArn: role('node') }
    const edit = { policyArn: policy('AmazonEKSEditPolicy') }
    const admin = { policyArn: policy('AmazonEKSClusterAdminPolicy') }
    const everywhere = { accessScope: { type: 'cluster' } }
    const shop = { accessScope: { type: 'namespace', namespaces: ['shop'] } }
    await follow([
      ['associate_access_policy', { ...dev, ...edit, ...everywhere }, notFound],
      ['create_access_entry', dev, {}],
      ['create_access_entry', { ...node, type: 'EC2_LINUX' }, {}],
      ['associate_access_policy', { ...node, ...edit, ...everywhere }, invalid],
      ['associate_access_policy', { ...dev, policyArn: 'AmazonEKSEditPolicy', ...everywhere }, invalid],
      ['associate_access_policy', { ...dev, ...edit, accessScope: { type: 'namespace' } }, invalid],
      [
        'associate_access_policy',
        { ...dev, ...edit, ...shop },
        { ...dev, associatedAccessPolicy: { ...edit, ...shop } },
      ],
      ['associate_access_policy', { ...dev, ...admin, ...everywhere }, { associatedAccessPolicy: admin }],
      ['list_associated_access_policies', dev, { associatedAccessPolicies: [{ ...edit, ...shop }, admin] }],
      ['list_access_entries', { ...demo, associatedPolicyArn: edit.policyArn }, { accessEntries: [role('dev')] }],
      ['disassociate_access_policy', { ...dev, ...edit }, {}],
      ['disassociate_access_policy', { ...dev, ...edit }, notFound],
      ['list_associated_access_policies', dev, { associatedAccessPolicies: [admin] }],
    ])
  })

  it('refuses access entries where the cluster uses aws-auth alone, until its mode is changed', async () => {
    await makeCluster('demo', { accessConfig: { authenticationMode: 'CONFIG_MAP' } })
    const mode = (authenticationMode: string) => ({ name: 'demo', accessConfig: { authenticationMode } })
    await follow([
      ['list_access_entries', demo, refused],
      ['create_access_entry', { ...demo, principalArn: role('dev') }, refused],
      ['update_cluster_config', mode('API'), invalid],
      ['update_cluster_config', mode('API_AND_CONFIG_MAP'), { update: { type: 'AccessConfigUpdate' } }],
      ['list_access_entries', demo, { accessEntries: [] }],
      ['update_cluster_config', mode('CONFIG_MAP'), invalid],
    ])
  })

  it('keeps add-ons, their versions and the associations they own', async () => {
    await makeCluster()
    const cni = { ...demo, addonName: 'vpc-cni' }
    const identity = { serviceAccount: 'aws-node', roleArn: role('cni') }
    const [versions] = await follow([
      ['describe_addon_versions', { addonName: 'vpc-cni', kubernetesVersion: '1.35' }, {}],
      ['describe_addon_versions', { addonName: 'no-such-addon' }, invalid],
      ['describe_addon_versions', { addonName: 'vpc-cni', kubernetesVersion: '1.2' }, { addons: [] }],
    ])
    const [info] = versions!['addons'] as readonly AddonInfo[]
    const [newest, usual] = info!.addonVersions.map(({ addonVersion }) => addonVersion)
    assert.deepEqual(
      info!.addonVersions.map(({ compatibilities }) => compatibilities[0]!.defaultVersion),
      [false, true],
    )
    await follow([
      ['create_addon', { ...demo, addonName: 'no-such-addon' }, invalid],
      ['create_addon', { ...cni, addonVersion: 'v0.0.1-eksbuild.1' }, invalid],
      ['create_addon', { ...cni, configurationValues: '{' }, invalid],
      [
        'create_addon',
        { ...cni, podIdentityAssociations: [identity], tags: { a: 'b' } },
        { addon: { ...cni, status: 'CREATING', addonVersion: usual, tags: { a: 'b' } } },
      ],
      ['create_addon', cni, inUse],
      ['describe_addon', cni, { addon: { status: 'ACTIVE', health: { issues: [] } } }],
      ['list_pod_identity_associations', demo, { associations: [{ serviceAccount: 'aws-node' }] }],
      ['update_addon', { ...cni, addonVersion: 'v0.0.1-eksbuild.1' }, invalid],
      [
        'update_addon',
        { ...cni, addonVersion: newest, configurationValues: '{"env":{}}', resolveConflicts: 'OVERWRITE' },
        {
          update: {
            type: 'AddonUpdate',
            status: 'InProgress',
            params: [
              { type: 'AddonVersion', value: newest },
              { type: 'ResolveConflicts', value: 'OVERWRITE' },
              { type: 'ConfigurationValues', value: '{"env":{}}' },
            ],
          },
        },
      ],
      ['describe_addon', cni, { addon: { addonVersion: newest, configurationValues: '{"env":{}}', status: 'ACTIVE' } }],
      ['list_addons', demo, { addons: ['vpc-cni'] }],
      ['delete_addon', cni, { addon: { status: 'DELETING' } }],
      ['describe_addon', cni, notFound],
      ['delete_addon', cni, notFound],
      ['list_addons', demo, { addons: [] }],
      ['list_pod_identity_associations', demo, { associations: [] }],
    ])
    await follow([['create_addon', cni, {}]])
    await aws.wait('eks', 'addon_active', cni)
    await follow([['delete_addon', cni, {}]])
    await aws.wait('eks', 'addon_deleted', cni)
  })

  it('keeps one Pod Identity association for each service account', async () => {
    await makeCluster()
    const account = { namespace: 'kube-system', serviceAccount: 'karpenter' }
    const wanted = { ...demo, ...account, roleArn: role('karpenter') }
    const [made] = await follow([
      ['create_pod_identity_association', wanted, { association: { ...wanted, disableSessionTags: false } }],
      ['create_pod_identity_association', wanted, inUse],
      ['create_pod_identity_association', { ...wanted, serviceAccount: 'x', roleArn: 'karpenter' }, invalid],
      ['create_pod_identity_association', { ...wanted, namespace: 'other' }, {}],
      ['list_pod_identity_associations', { ...demo, namespace: 'other' }, { associations: [{ namespace: 'other' }] }],
      ['list_pod_identity_associations', { ...demo, serviceAccount: 'none' }, { associations: [] }],
      ['describe_pod_identity_association', { ...demo, associationId: 'a-none' }, notFound],
    ])
    const { associationId, associationArn } = made!['association'] as Record<'associationId' | 'associationArn', string>
    assert.match(associationId, /^a-[a-z0-9]{17}$/)
    assert.equal(associationArn, `arn:aws:eks:${REGION}:${ACCOUNT}:podidentityassociation/demo/${associationId}`)
    const at = { ...demo, associationId }
    await follow([
      ['update_pod_identity_association', { ...at, roleArn: role('new') }, { association: { roleArn: role('new') } }],
      [
        'update_pod_identity_association',
        { ...at, targetRoleArn: role('far') },
        { association: { targetRoleArn: role('far'), roleArn: role('new') } },
      ],
      ['describe_pod_identity_association', at, { association: { ...account, roleArn: role('new') } }],
      ['delete_pod_identity_association', at, { association: { associationId } }],
      ['delete_pod_identity_association', at, notFound],
    ])
  })

  it('answers lists in pages', async () => {
    await makeCluster()
    const names = Array.from({ length: 7 }, (_, i) => role(`r${i}`))
    for (const principalArn of names) await follow([['create_access_entry', { ...demo, principalArn }, {}]])
    const pages = await aws.pages('eks', 'list_access_entries', { ...demo, PaginationConfig: { PageSize: 3 } })
    assert.deepEqual(
      pages.map((page) => page['accessEntries']),
      [names.slice(0, 3), names.slice(3, 6), names.slice(6)],
    )
    const addons = await aws.pages('eks', 'describe_addon_versions', { PaginationConfig: { PageSize: 4 } })
    assert.deepEqual(
      addons.map((page) => (page['addons'] as unknown[]).length),
      [4, 2],
    )
    await follow([['list_access_entries', { ...demo, nextToken: 'bm9wZQ' }, invalid]])
  })

  it('tags what it keeps, and leaves the tags of clusters to moto', async () => {
    const { cluster } = (await makeCluster('demo', { tags: { of: 'cluster' } })) as { cluster: { arn: string } }
    const wanted = { ...demo, namespace: 'a', serviceAccount: 'b', roleArn: role('x'), tags: { one: '1' } }
    const [made] = await follow([['create_pod_identity_association', wanted, {}]])
    const { associationArn: resourceArn } = made!['association'] as { associationArn: string }
    const gone = { error: 'NotFoundException', status: 404 }
    await follow([
      ['tag_resource', { resourceArn, tags: { two: '2' } }, {}],
      ['untag_resource', { resourceArn, tagKeys: ['one'] }, {}],
      ['list_tags_for_resource', { resourceArn }, { tags: { two: '2' } }],
      ['list_tags_for_resource', { resourceArn: cluster.arn }, { tags: { of: 'cluster' } }],
      ['list_tags_for_resource', { resourceArn: `${resourceArn}x` }, gone],
    ])
  })

  it('lets everything go with the cluster, however the cluster went', async () => {
    const fill = () =>
      follow([
        ['create_access_entry', { ...demo, principalArn: role('dev') }, {}],
        ['create_addon', { ...demo, addonName: 'coredns' }, {}],
        ['create_pod_identity_association', { ...demo, namespace: 'a', serviceAccount: 'b', roleArn: role('x') }, {}],
      ])
    const empty: readonly Row[] = [
      ['list_access_entries', demo, { accessEntries: [] }],
      ['list_addons', demo, { addons: [] }],
      ['list_pod_identity_associations', demo, { associations: [] }],
    ]
    await makeCluster()
    await fill()
    await follow([
      ['delete_cluster', { name: 'demo' }, {}],
      ['list_addons', demo, notFound],
    ])
    await makeCluster()
    assert.deepEqual((await follow(empty)).map(Object.values).flat(2), [])
    await fill()
    // Behind the back of the stand-in.
    assert.equal((await fetch(`${moto.url}/moto-api/reset`, { method: 'POST' })).status, 200)
    await follow([['list_addons', demo, notFound]])
    await makeCluster()
    assert.deepEqual((await follow(empty)).map(Object.values).flat(2), [])
  })

  it('completes what moto says of clusters and node groups', async () => {
    const { Vpc } = (await aws.call('ec2', 'create_vpc', { CidrBlock: '10.0.0.0/16' })) as { Vpc: { VpcId: string } }
    const place = { VpcId: Vpc.VpcId, CidrBlock: '10.0.1.0/24' }
    const { Subnet } = (await aws.call('ec2', 'create_subnet', place)) as { Subnet: { SubnetId: string } }
    const groups = async () =>
      (
        (await aws.call('ec2', 'describe_security_groups', {
          Filters: [{ Name: 'vpc-id', Values: [Vpc.VpcId] }],
        })) as { SecurityGroups: readonly { GroupId: string }[] }
      ).SecurityGroups.map(({ GroupId }) => GroupId)
    const before = await groups()
    await makeCluster('demo', {
      resourcesVpcConfig: { subnetIds: [Subnet.SubnetId], endpointPrivateAccess: true },
      upgradePolicy: { supportType: 'STANDARD' },
      kubernetesNetworkConfig: { ipFamily: 'ipv4' },
    })
    const [clusterSecurityGroupId] = (await groups()).filter((id) => !before.includes(id))
    assert.ok(clusterSecurityGroupId)
    const group = { ...demo, nodegroupName: 'controllers' }
    const update = { name: 'demo', version: '1.36' }
    const [described, , made, , changed] = await follow([
      [
        'describe_cluster',
        { name: 'demo' },
        {
          cluster: {
            version: '1.35',
            accessConfig: { authenticationMode: 'API_AND_CONFIG_MAP' },
            upgradePolicy: { supportType: 'STANDARD' },
            kubernetesNetworkConfig: { ipFamily: 'ipv4', serviceIpv4Cidr: '172.20.0.0/16' },
            resourcesVpcConfig: { vpcId: Vpc.VpcId, clusterSecurityGroupId, endpointPrivateAccess: true },
          },
        },
      ],
      ['create_nodegroup', { ...group, subnets: [Subnet.SubnetId], nodeRole: role('node') }, { nodegroup: group }],
      ['describe_nodegroup', group, { nodegroup: { version: '1.35', updateConfig: { maxUnavailable: 1 } } }],
      ['update_cluster_version', { ...update, version: '1.34' }, invalid],
      ['update_cluster_version', update, { update: { type: 'VersionUpdate', status: 'InProgress' } }],
      ['describe_cluster', { name: 'demo' }, { cluster: { version: '1.36' } }],
      ['describe_nodegroup', group, { nodegroup: { version: '1.35' } }],
      ['update_nodegroup_version', { ...group, version: '1.36' }, { update: { type: 'VersionUpdate' } }],
      ['describe_nodegroup', group, { nodegroup: { version: '1.36' } }],
      [
        'update_cluster_config',
        { name: 'demo', resourcesVpcConfig: { publicAccessCidrs: ['203.0.113.0/24'] } },
        {
          update: {
            type: 'EndpointAccessUpdate',
            params: [{ type: 'PublicAccessCidrs', value: '["203.0.113.0/24"]' }],
          },
        },
      ],
      [
        'describe_cluster',
        { name: 'demo' },
        {
          cluster: {
            resourcesVpcConfig: { subnetIds: [Subnet.SubnetId], publicAccessCidrs: ['203.0.113.0/24'] },
          },
        },
      ],
    ])
    const { certificateAuthority } = described!['cluster'] as { certificateAuthority: { data: string } }
    assert.match(Buffer.from(certificateAuthority.data, 'base64').toString(), /^-----BEGIN CERTIFICATE-----\n/)
    assert.ok(!('remoteAccess' in (made!['nodegroup'] as object)), 'nobody asked for a key pair')
    const { id } = changed!['update'] as { id: string }
    await follow([
      ['describe_update', { name: 'demo', updateId: id }, { update: { id, status: 'Successful' } }],
      ['describe_update', { name: 'demo', updateId: 'none' }, notFound],
      ['delete_nodegroup', group, {}],
      ['delete_cluster', { name: 'demo' }, {}],
    ])
    assert.deepEqual(await groups(), before)
  })

  it('answers for the images that EKS recommends, beside the parameters that moto knows', async () => {
    const at = '/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/recommended'
    const value = async (Name: string) =>
      ((await aws.call('ssm', 'get_parameter', { Name })) as { Parameter: { Value: string } }).Parameter.Value
    const whole = JSON.parse(await value(at)) as Record<string, string>
    assert.match(whole['image_id']!, /^ami-0[0-9a-f]{16}$/)
    assert.equal(whole['image_id'], await value(`${at}/image_id`))
    assert.match(await value(`${at}/release_version`), /^1\.35\.\d+-\d{8}$/)
    const none = { error: 'ParameterNotFound', status: 400 }
    // There is no Amazon Linux 2 for 1.33 and later.
    const old = '/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id'
    assert.deepEqual(await aws.call('ssm', 'get_parameter', { Name: old }), none)
    const own = { Name: '/capt/own', Value: 'mine', Type: 'String' }
    await aws.call('ssm', 'put_parameter', own)
    const both = { Names: [`${at}/image_id`, own.Name, '/capt/none'] }
    const { Parameters, InvalidParameters } = (await aws.call('ssm', 'get_parameters', both)) as {
      Parameters: readonly { Value: string }[]
      InvalidParameters: readonly string[]
    }
    assert.deepEqual(
      Parameters.map(({ Value }) => Value),
      [whole['image_id'], 'mine'],
    )
    assert.deepEqual(InvalidParameters, ['/capt/none'])
    const pages = await aws.pages('ssm', 'get_parameters_by_path', { Path: at })
    assert.deepEqual(
      pages.flatMap(({ Parameters }) => (Parameters as readonly { Name: string }[]).map(({ Name }) => Name)),
      ['image_id', 'image_name', 'release_version'].map((field) => `${at}/${field}`),
    )
  })
})

/** The fields of an answer that are expected, at any depth; lists as they are, and an error always. */
function like(answer: unknown, expected: unknown): unknown {
  if (Array.isArray(answer)) return answer.map((one, i) => like(one, (expected as unknown[] | undefined)?.[i]))
  if (typeof answer !== 'object' || answer === null || typeof expected !== 'object' || expected === null) return answer
  const kept = Object.entries(answer).filter(([name]) => name in expected || name === 'error')
  return Object.fromEntries(
    kept.map(([name, value]) => [name, like(value, (expected as Record<string, unknown>)[name])]),
  )
}

interface AddonInfo {
  readonly addonVersions: readonly {
    readonly addonVersion: string
    readonly compatibilities: readonly { readonly defaultVersion: boolean }[]
  }[]
}
