// The way of a platform team, with each clusterctl that is supported: init from what make build-installer writes, upgrade,
// generate every flavour, look at a cluster, and take one provider away without touching the other.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { ALL_KINDS, crdName, providerOf } from '#api'
import type { JsonObject } from '#lib'
import { moduleText } from '../../../scripts/template-modules.ts'
import { type Clusterctl, playRollouts, prepareClusterctl, type Said } from '../support/clusterctl/clusterctl.ts'
import { type Capi, type Kube, startCapi, startKube, TIMEOUT_SECONDS, until, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

const OLD = '9.9.8'
const NEW = '9.9.9'
const FLAVOURS = ['', 'karpenter', 'existing-vpc', 'simulation', 'topology'] as const
const VALUES = { AWS_REGION: 'eu-west-1', EXISTING_VPC_ID: 'vpc-0123' }

interface Object_ {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> }
  readonly spec: JsonObject
}

for (const version of VERSIONS.capi) {
  describe(`clusterctl ${version}`, () => {
    let kube: Kube
    let capi: Capi
    let clusterctl: Clusterctl
    let rollouts: Awaited<ReturnType<typeof playRollouts>>

    before(async () => {
      kube = await startKube({ name: `clusterctl-${version}` })
      clusterctl = await prepareClusterctl(kube, version, [OLD, NEW])
      rollouts = await playRollouts(kube)
    })
    after(async () => {
      await rollouts?.stop()
      await capi?.stop()
      await kube?.stop()
    })

    const fine = async (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Said> => {
      const said = await clusterctl.run(args, env)
      assert.equal(said.status, 0, `clusterctl ${args.join(' ')}\n${said.out}${said.stderr}`)
      return said
    }
    const list = (...args: readonly string[]): Object_[] =>
      (JSON.parse(kube.kubectl(['get', ...args, '-o', 'json'])) as { items: Object_[] }).items
    const get = (...args: readonly string[]): Object_ =>
      JSON.parse(kube.kubectl(['get', ...args, '-o', 'json'])) as Object_
    const managers = () =>
      list('deploy', '-A').map(({ metadata, spec }) => {
        const { containers } = (spec['template'] as { spec: { containers: JsonObject[] } }).spec
        return { name: `${metadata.namespace}/${metadata.name}`, container: containers[0]! }
      })
    const runnerImage = ({ container }: { readonly container: JsonObject }) =>
      (container['env'] as { name: string; value?: string }[]).find(({ name }) => name === 'CAPT_RUNNER_IMAGE')?.value
    const generate = async (flavour: string, name: string): Promise<string> => {
      const choice = flavour === '' ? [] : ['--flavor', flavour]
      const fixed = ['--infrastructure', `capt:v${NEW}`, '--kubernetes-version', 'v1.35.0', '-n', 'default']
      return (await fine(['generate', 'cluster', name, ...fixed, ...choice], VALUES)).out
    }
    const apply = (text: string, ...more: readonly string[]) => {
      const args = [`--kubeconfig=${kube.kubeconfig}`, 'apply', '--server-side', ...more, '-f', '-']
      const { status, stdout, stderr } = spawnSync('kubectl', args, { input: text, encoding: 'utf8' })
      return { status, stdout, stderr }
    }

    it('init installs core and both providers, each in its namespace, and waits for them', async () => {
      const providers = ['--infrastructure', `capt:v${OLD}`, '--control-plane', `capt:v${OLD}`]
      const core = ['--core', `cluster-api:${version}`, '--bootstrap', '-']
      await fine(['init', ...core, ...providers, '--wait-providers', '--wait-provider-timeout', '600'])
      const inventory = list('providers.clusterctl.cluster.x-k8s.io', '-A')
      assert.deepEqual(inventory.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort(), [
        'capi-system/cluster-api',
        'capt-control-plane-system/control-plane-capt',
        'capt-system/infrastructure-capt',
      ])
      assert.deepEqual(
        managers().map(({ name, container }) => [name, container['image']]),
        [
          ['capt-control-plane-system/capt-controller-manager', `ghcr.io/appthrust/capt:v${OLD}`],
          ['capt-system/capt-controller-manager', `ghcr.io/appthrust/capt:v${OLD}`],
        ],
      )
      assert.deepEqual(managers().map(runnerImage), [undefined, `ghcr.io/appthrust/capt-runner:v${OLD}`])
      // clusterctl reads its variables in descriptions too; ours must come out as they were written.
      const crd = kube.kubectl(['get', 'crd', 'addonpipelines.infrastructure.cluster.x-k8s.io', '-o', 'yaml'])
      assert.ok(crd.includes('${NAME}') && !crd.includes('$${'))
      capi = await startCapi(kube, version, { install: false, port: clusterctl.webhookPort })
      prove('clusterctl', version, 'init from the local repository of make build-installer')
    })

    it('upgrade plan offers the newer release, upgrade apply installs it with the room that was asked for', async () => {
      const { out } = await fine(['upgrade', 'plan'])
      for (const provider of ['control-plane-capt', 'infrastructure-capt'])
        assert.match(out, new RegExp(`^${provider} .* v${OLD} +v${NEW}$`, 'm'))
      const providers = ['--infrastructure', `capt:v${NEW}`, '--control-plane', `capt:v${NEW}`]
      const env = { CAPT_MEMORY_LIMIT: '1Gi', CAPT_CPU_LIMIT: '2', CAPT_RUNNER_IMAGE: 'r.example/runner:v1' }
      await fine(['upgrade', 'apply', ...providers, '--wait-providers', '--wait-provider-timeout', '600'], env)
      for (const { name, container } of managers()) {
        assert.equal(container['image'], `ghcr.io/appthrust/capt:v${NEW}`, name)
        assert.deepEqual((container['resources'] as JsonObject)['limits'], { cpu: '2', memory: '1Gi' })
      }
      assert.deepEqual(managers().map(runnerImage), [undefined, 'r.example/runner:v1'])
      prove('clusterctl', version, `upgrade plan and apply, v${OLD} to v${NEW}`)
    })

    for (const flavour of FLAVOURS)
      it(`generate cluster, flavour ${flavour || 'default'}: core and our schema accept it`, async () => {
        const text = await generate(flavour, `demo-${flavour || 'default'}`)
        const { status, stdout, stderr } = apply(text, '--dry-run=server')
        assert.equal(status, 0, stderr)
        assert.match(stdout, /^cluster\.cluster\.x-k8s\.io\/demo-/m)
      })

    it('generate cluster leaves Terraform text as it was written', async () => {
      for (const [flavour, count] of [
        ['simulation', 2],
        ['topology', 3],
      ] as const) {
        const objects = parseAllDocuments(await generate(flavour, 'text')).map((one) => one.toJS() as Object_)
        const templates = objects.filter(({ kind }) => kind === 'WorkspaceTemplate')
        assert.equal(templates.length, count)
        for (const { metadata, spec } of templates) {
          const written = moduleText(metadata.name)
          const { module } = (spec['template'] as { spec: { forProvider: { module: string } } }).spec.forProvider
          assert.equal(module, written, metadata.name)
        }
      }
      prove('clusterctl', version, 'generate cluster, accepted by the real server', `${FLAVOURS.length} flavours`)
    })

    it('a Cluster of the class gets what its variables say', async () => {
      const { status, stderr } = apply(await generate('topology', 'classy'))
      assert.equal(status, 0, stderr)
      const label = ['-n', 'default', '-l', 'cluster.x-k8s.io/cluster-name=classy']
      await until(
        'core has made the parts',
        () => list('captcontrolplane', ...label).length === 1,
        TIMEOUT_SECONDS,
        capi.manager,
      )
      const [infrastructure] = list('captcluster', ...label)
      assert.deepEqual(infrastructure?.spec, {
        region: 'eu-west-1',
        vpcTemplateRef: { name: 'vpc' },
        vpcConfig: { cidr: '10.0.0.0/16', singleNatGateway: true },
        retainVpcOnDelete: false,
        additionalTags: { Environment: 'dev', ManagedBy: 'capt' },
      })
      const [controlPlane] = list('captcontrolplane', ...label)
      assert.deepEqual(controlPlane?.spec, {
        version: 'v1.35.0',
        workspaceTemplateRef: { name: 'eks-controlplane' },
        controlPlaneConfig: { endpointAccess: { public: true, private: true } },
        additionalTags: { Environment: 'dev', ManagedBy: 'capt' },
      })
    })

    it('every other variable of the class reaches its field', async () => {
      const variables = {
        region: 'us-gov-west-1',
        existingVpcId: 'vpc-0123',
        existingSubnets: { private: ['subnet-1', 'subnet-2'] },
        endpointAccess: { public: true, private: false, publicCIDRs: ['203.0.113.0/24'] },
        addons: [{ name: 'coredns', version: 'v1.11.4-eksbuild.2' }],
        roleArn: 'arn:aws-us-gov:iam::123456789012:role/capt',
        controlPlaneTemplate: 'ours',
      }
      assert.equal(apply(classCluster('choosy', variables)).status, 0)
      const label = ['-n', 'default', '-l', 'cluster.x-k8s.io/cluster-name=choosy']
      await until(
        'core has made the parts',
        () => list('captcontrolplane', ...label).length === 1,
        TIMEOUT_SECONDS,
        capi.manager,
      )
      assert.deepEqual(list('captcluster', ...label)[0]?.spec, {
        region: 'us-gov-west-1',
        existingVpcId: 'vpc-0123',
        existingSubnets: { private: ['subnet-1', 'subnet-2'] },
        identity: { roleArn: 'arn:aws-us-gov:iam::123456789012:role/capt' },
        additionalTags: {},
      })
      assert.partialDeepStrictEqual(list('captcontrolplane', ...label)[0]?.spec, {
        workspaceTemplateRef: { name: 'ours' },
        controlPlaneConfig: {
          endpointAccess: { public: true, private: false, publicCIDRs: ['203.0.113.0/24'] },
          addons: [{ name: 'coredns', version: 'v1.11.4-eksbuild.2' }],
        },
      })
      prove('core Cluster API', version, 'ClusterClass capt: every variable reaches its field')
    })

    it('a wrong variable is refused by core, by name', () => {
      for (const [variables, words] of [
        [{ region: 'mars' }, /region/],
        [{ region: 'eu-west-1', vpcCidr: '10.0.0.0/8' }, /vpcCidr/],
        [{ region: 'eu-west-1', existingVpcId: 'subnet-1' }, /existingVpcId/],
        [{}, /region/],
      ] as const) {
        const { status, stderr } = apply(classCluster('wrong', variables), '--dry-run=server')
        assert.equal(status, 1)
        assert.match(stderr, words)
      }
    })

    it('describe shows the parts of a cluster', async () => {
      const text = await generate('simulation', 'seen')
      assert.equal(apply(text).status, 0)
      const owner = () => get('captcontrolplane', 'seen', '-n', 'default').metadata as { ownerReferences?: unknown[] }
      await until(
        'core has taken the parts over',
        () => (owner().ownerReferences ?? []).length > 0,
        TIMEOUT_SECONDS,
        capi.manager,
      )
      const { out } = await fine(['describe', 'cluster', 'seen', '-n', 'default'])
      // 1.10 writes `ControlPlane - CAPTControlPlane/seen`, 1.14 `CAPTControlPlane default/seen, v1.35.0`.
      for (const kind of ['Cluster', 'CAPTCluster', 'CAPTControlPlane'])
        assert.match(out, new RegExp(`^(?:[│├└─ ]*|.* - )${kind}(?:/| default/)seen\\b`, 'm'))
      prove('clusterctl', version, 'describe cluster')
    })

    it('delete takes one provider away and leaves every object of the other in place', async () => {
      const kinds = 'deploy,sa,svc,netpol,role,rolebinding,clusterrole,clusterrolebinding,crd,ns'
      const ofProvider = (name: string) =>
        list(kinds, '-A', '-l', `cluster.x-k8s.io/provider=${name}`).map(
          ({ kind, metadata }) => `${kind} ${metadata.name}`,
        )
      const before = ofProvider('infrastructure-capt')
      assert.ok(before.length > 20)
      await fine(['delete', '--control-plane', 'capt', '--include-namespace'])
      await until('the namespace is gone', () =>
        ofProvider('control-plane-capt').every((one) => one.startsWith('Custom')),
      )
      assert.deepEqual(ofProvider('infrastructure-capt'), before)
      const crds = ALL_KINDS.filter((kind) => providerOf(kind) === 'control-plane-capt').map(crdName)
      assert.deepEqual(
        ofProvider('control-plane-capt').sort(),
        crds.map((name) => `CustomResourceDefinition ${name}`).sort(),
        'clusters outlive their provider until somebody says --include-crd',
      )
      prove('clusterctl', version, 'delete of one provider leaves the other whole', `${before.length} objects`)
    })
  })
}

function classCluster(name: string, variables: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({
    apiVersion: 'cluster.x-k8s.io/v1beta1',
    kind: 'Cluster',
    metadata: { name, namespace: 'default' },
    spec: {
      topology: {
        class: 'capt',
        version: 'v1.35.0',
        variables: Object.entries(variables).map(([variable, value]) => ({ name: variable, value })),
      },
    },
  })
}
