// What make build-installer writes: the names, numbers and ports people rely on, two providers that do not collide, one
// version everywhere, and the same objects that kubectl kustomize makes of config/.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { ALL_KINDS, crdName, providerOf } from '#api'
import { sha256 } from '#lib'
import { type Manifest, renderKustomization } from '../../../scripts/kustomize.ts'
import { checkVersion } from '../../../scripts/release/versions.ts'
import { releaseFiles } from '../../../scripts/release-files.ts'
import { forgottenKinds, grantsOf, PARTS } from '../../../scripts/roles.ts'
import { renderJob } from '../../../src/engine/job/render-job.ts'
import { managerFlags } from '../../support/manager-flags.ts'
import { findTool } from '../../support/tools.ts'

const root = join(import.meta.dirname, '../../..')
const VERSION = '9.9.9'
const files = releaseFiles({ version: VERSION })

interface Container {
  readonly name: string
  readonly image: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string }[]
  readonly ports: unknown
  readonly resources: { readonly limits: Readonly<Record<string, string>> }
  readonly livenessProbe: unknown
  readonly readinessProbe: unknown
  readonly securityContext: unknown
  readonly volumeMounts: readonly { readonly mountPath: string }[]
}
/** The fields of many kinds that are read here. */
interface Loose extends Manifest {
  readonly spec: {
    readonly ports: readonly { readonly port: number }[]
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string
        readonly terminationGracePeriodSeconds: number
        readonly securityContext: Readonly<Record<string, unknown>>
        readonly containers: readonly [Container]
      }
    }
  }
  readonly rules: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly verbs: readonly string[]
  }[]
  readonly roleRef: { readonly kind: string; readonly name: string }
  readonly subjects: readonly { readonly name: string }[]
}
const documents = (text: string): Loose[] => parseAllDocuments(text).map((document) => document.toJS() as Loose)
const asset = (name: string): Loose[] => documents(files.get(name) ?? assert.fail(`${name} is not written`))
/** As clusterctl reads it when nobody sets a variable. */
const component = (name: string): Loose[] =>
  documents(
    files
      .get(name)!
      .replace(/(?<!\$)\$\{[A-Z_]+:=([^}]*)\}/g, '$1')
      .replaceAll('$${', () => '${'),
  )
const of = (manifests: readonly Loose[], kind: string): Loose[] => manifests.filter((one) => one.kind === kind)
const idOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`
const PROVIDER_FILES = ['infrastructure-components.yaml', 'control-plane-components.yaml'] as const

describe('install.yaml', () => {
  const install = asset('install.yaml')
  const deployment = of(install, 'Deployment')[0]!
  const pod = deployment.spec.template.spec
  const manager = pod.containers[0]

  it('has the names of the release document', () => {
    const names = install.map(idOf)
    for (const wanted of [
      'Namespace /capt-system',
      'ServiceAccount capt-system/capt-controller-manager',
      'Deployment capt-system/capt-controller-manager',
      'ClusterRole /capt-manager-role',
      'ClusterRoleBinding /capt-manager-rolebinding',
      'ClusterRole /capt-metrics-auth-role',
      'ClusterRoleBinding /capt-metrics-auth-rolebinding',
      'Role capt-system/leader-election-role',
      'RoleBinding capt-system/leader-election-rolebinding',
      'ServiceAccount capt-system/capt-run',
      'Role capt-system/run-role',
      'RoleBinding capt-system/run-rolebinding',
      'ClusterRole /capt-run-identity-role',
      'ClusterRoleBinding /capt-run-identity-rolebinding',
    ])
      assert.ok(names.includes(wanted), `${wanted} is missing`)
    assert.equal(pod.serviceAccountName, 'capt-controller-manager')
  })

  it('has the ports of the release document', () => {
    const probe = (path: string, initialDelaySeconds: number, periodSeconds: number) => ({
      httpGet: { path, port: 'health' },
      initialDelaySeconds,
      periodSeconds,
    })
    assert.deepEqual(manager.livenessProbe, probe('/healthz', 15, 20))
    assert.deepEqual(manager.readinessProbe, probe('/readyz', 5, 10))
    assert.deepEqual(manager.ports, [
      { name: 'health', containerPort: 8081 },
      { name: 'metrics', containerPort: 8443 },
    ])
    assert.ok(manager.args.includes('--metrics-bind-address=[::]:8443'))
    assert.ok(manager.args.includes('--health-probe-bind-address=[::]:8081'))
    assert.ok(manager.args.includes('--leader-elect'))
    assert.equal(of(install, 'Service')[0]?.spec.ports[0]?.port, 8443)
  })

  it('asks for no privilege and fits the restricted profile of its namespace', () => {
    assert.deepEqual(manager.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    assert.equal(pod.securityContext.runAsNonRoot, true)
    assert.equal(pod.securityContext.runAsUser, 65532)
    assert.deepEqual(pod.securityContext.seccompProfile, { type: 'RuntimeDefault' })
    assert.equal(of(install, 'Namespace')[0]?.metadata.labels?.['pod-security.kubernetes.io/enforce'], 'restricted')
    const mounted = new Set(manager.volumeMounts.map(({ mountPath }) => mountPath))
    const workDir = manager.args.find((arg) => arg.startsWith('--work-dir='))!.split('=')[1]!
    assert.ok(mounted.has(workDir) && mounted.has('/tmp'), 'the root is read-only: what is written needs a volume')
    assert.equal(of(install, 'NetworkPolicy').length, 1)
  })

  it('brings every kind, and roles for the people who use it', () => {
    const crds = of(install, 'CustomResourceDefinition').map(({ metadata }) => metadata.name)
    assert.deepEqual(crds.sort(), ALL_KINDS.map(crdName).sort())
    for (const kind of ALL_KINDS) {
      for (const [word, to] of [
        ['viewer', 'view'],
        ['editor', 'edit'],
        ['editor', 'admin'],
      ] as const) {
        const role = of(install, 'ClusterRole').find(
          ({ metadata }) => metadata.name === `capt-${kind.singular}-${word}-role`,
        )
        const isBoundByHand = word === 'editor' && kind.kind === 'WorkspaceTemplate'
        assert.equal(
          role?.metadata.labels?.[`rbac.authorization.k8s.io/aggregate-to-${to}`],
          isBoundByHand ? undefined : 'true',
          kind.kind,
        )
        assert.deepEqual(role?.rules[0]?.resources, [kind.plural])
      }
    }
  })

  it('gives the right to write templates, which is the right to run code, with no role of a namespace', () => {
    const writers = of(install, 'ClusterRole').filter(({ rules }) =>
      rules.some(
        ({ resources = [], verbs }) =>
          resources.includes('workspacetemplates') && verbs.some((verb) => verb === 'create'),
      ),
    )
    assert.deepEqual(
      writers.map(({ metadata }) => metadata.name),
      ['capt-workspacetemplate-editor-role'],
    )
    const labels = Object.keys(writers[0]?.metadata.labels ?? {})
    assert.deepEqual(
      labels.filter((label) => label.includes('aggregate')),
      [],
    )
  })

  it('grants no wildcard, no list of Secrets, and nothing but what the table explains', () => {
    assert.deepEqual(forgottenKinds(), [], 'a kind with a status needs a line in scripts/roles.ts')
    const role = of(install, 'ClusterRole').find(({ metadata }) => metadata.name === 'capt-manager-role')
    const granted = role!.rules.flatMap(({ apiGroups, resources, verbs }) =>
      verbs.map((verb) => `${verb} ${resources}.${apiGroups}`),
    )
    const explained = grantsOf(PARTS).flatMap(({ apiGroup, resource, verbs }) =>
      verbs.map((verb) => `${verb} ${resource}.${apiGroup}`),
    )
    assert.deepEqual(granted, explained)
    assert.ok(!granted.some((grant) => grant.includes('*')))
    for (const verb of ['list', 'watch']) assert.ok(!granted.includes(`${verb} secrets.`), `${verb} Secrets`)
  })
})

describe('names of what belongs to the whole cluster', () => {
  const PREFIXES = {
    'install.yaml': 'capt-',
    'infrastructure-components.yaml': 'capt-system-',
    'control-plane-components.yaml': 'capt-control-plane-system-',
  }
  const clusterWide = (name: string): string[] =>
    component(name)
      .filter(({ kind, metadata }) => !metadata.namespace && kind.startsWith('ClusterRole'))
      .map(({ metadata }) => metadata.name)

  for (const [name, prefix] of Object.entries(PREFIXES))
    it(`${name}: carry the prefix ${prefix} and end with the name of the release document`, () => {
      const names = clusterWide(name)
      for (const one of names) assert.ok(one.startsWith(prefix), one)
      for (const seed of ['manager-role', 'manager-rolebinding', 'metrics-auth-role', 'metrics-reader'])
        assert.ok(names.includes(prefix + seed), prefix + seed)
    })

  it('are different in every installation', () => {
    const names = Object.keys(PREFIXES).flatMap(clusterWide)
    assert.deepEqual(names.length, new Set(names).size)
  })
})

describe('the two clusterctl providers', () => {
  const [infrastructure, controlPlane] = PROVIDER_FILES.map(component) as [Loose[], Loose[]]

  it('share no object', () => {
    const names = new Set(infrastructure.map(idOf))
    assert.deepEqual(
      controlPlane.map(idOf).filter((id) => names.has(id)),
      [],
    )
  })

  it('bring every kind between them, each with its own group', () => {
    for (const [components, provider] of [
      [infrastructure, 'infrastructure-capt'],
      [controlPlane, 'control-plane-capt'],
    ] as const) {
      const kinds = ALL_KINDS.filter((kind) => providerOf(kind) === provider)
      const crds = of(components, 'CustomResourceDefinition')
      assert.deepEqual(crds.map(({ metadata }) => metadata.name).sort(), kinds.map(crdName).sort())
      for (const crd of crds) {
        assert.equal(crd.metadata.labels?.['cluster.x-k8s.io/v1beta1'], 'v1beta1')
        assert.equal(crd.metadata.labels?.['cluster.x-k8s.io/v1beta2'], 'v1beta1')
      }
      for (const one of components)
        assert.equal(one.metadata.labels?.['cluster.x-k8s.io/provider'], provider, idOf(one))
    }
  })

  for (const [name, groups] of [
    ['infrastructure', ['infrastructure', 'addons']],
    ['control-plane', ['control-plane']],
  ] as const) {
    it(`${name}: one Namespace that holds everything, one container named manager that runs only its controllers`, () => {
      const components = component(`${name}-components.yaml`)
      const namespaces = of(components, 'Namespace')
      assert.equal(namespaces.length, 1)
      for (const one of components)
        assert.ok(!one.metadata.namespace || one.metadata.namespace === namespaces[0]!.metadata.name, idOf(one))
      const deployments = of(components, 'Deployment')
      assert.equal(deployments.length, 1)
      const [container] = deployments[0]!.spec.template.spec.containers
      assert.equal(container.name, 'manager')
      const enabled = container.args.filter((arg) => arg.startsWith('--enable-controller='))
      assert.deepEqual(
        enabled,
        groups.map((group) => `--enable-controller=${group}`),
      )
    })

    it(`${name}: what belongs to the whole cluster is named so that clusterctl delete finds it`, () => {
      const components = component(`${name}-components.yaml`)
      const namespace = of(components, 'Namespace')[0]!.metadata.name
      for (const kind of ['ClusterRole', 'ClusterRoleBinding'])
        for (const { metadata } of of(components, kind))
          assert.ok(metadata.name.startsWith(`${namespace}-`), metadata.name)
    })

    it(`${name}: bindings name roles and accounts that are there`, () => {
      const components = component(`${name}-components.yaml`)
      const has = (kind: string, wanted: string) =>
        of(components, kind).some(({ metadata }) => metadata.name === wanted)
      for (const binding of [...of(components, 'RoleBinding'), ...of(components, 'ClusterRoleBinding')]) {
        assert.ok(has(binding.roleRef.kind, binding.roleRef.name), idOf(binding))
        for (const subject of binding.subjects) assert.ok(has('ServiceAccount', subject.name), idOf(binding))
      }
      assert.ok(has('ServiceAccount', of(components, 'Deployment')[0]!.spec.template.spec.serviceAccountName))
    })
  }

  it('leave to clusterctl only the variables that are documented', () => {
    const page = readFileSync(join(root, 'docs/install.md'), 'utf8')
    for (const name of PROVIDER_FILES) {
      const variables = [...files.get(name)!.matchAll(/(?<!\$)\$\{([A-Z_]+)/g)].map((match) => match[1]!)
      const ofRuns = name === 'infrastructure-components.yaml' ? ['CAPT_RUNNER_IMAGE'] : []
      const documented = ['CAPT_CPU_LIMIT', 'CAPT_IMAGE', 'CAPT_MEMORY_LIMIT', ...ofRuns]
      assert.deepEqual([...new Set(variables)].sort(), documented)
      for (const variable of variables) assert.ok(page.includes(variable), `${variable} is not explained`)
    }
  })
})

describe('the namespaced overlay', () => {
  const install = asset('install-namespaced.yaml')

  it('has nothing that belongs to the whole cluster', () => {
    assert.deepEqual(install.filter(({ metadata }) => metadata.namespace !== 'capt-system').map(idOf), [])
  })

  it('watches its own namespace and serves no metrics, which would need rights on the cluster', () => {
    const [container] = of(install, 'Deployment')[0]!.spec.template.spec.containers
    assert.ok(container.args.includes('--namespace=$(POD_NAMESPACE)'))
    assert.ok(container.env.some(({ name }) => name === 'POD_NAMESPACE'))
    assert.ok(!container.args.some((arg) => arg.startsWith('--metrics')))
  })
})

describe('a manager in a pod', () => {
  const WITH_TERRAFORM = {
    image: `ghcr.io/appthrust/capt-runner:v${VERSION}`,
    resources: { limits: { cpu: '4', memory: '4Gi' }, requests: { cpu: '250m', memory: '1Gi' } },
    graceSeconds: 300,
  }
  const WITHOUT = {
    image: `ghcr.io/appthrust/capt:v${VERSION}`,
    resources: { limits: { cpu: '500m', memory: '128Mi' }, requests: { cpu: '10m', memory: '64Mi' } },
    graceSeconds: 30,
  }
  const managers = [...files.keys()]
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => of(component(name), 'Deployment').map((deployment) => [name, deployment] as const))

  it('is in five of the assets', () => assert.equal(managers.length, 5))

  for (const [name, { spec }] of managers) {
    const { terminationGracePeriodSeconds: graceSeconds, containers } = spec.template.spec
    const [{ image, resources, args }] = containers
    const groups = args.filter((arg) => arg.startsWith('--enable-controller='))
    const applies = groups.length === 0 || groups.includes('--enable-controller=infrastructure')
    const isLocal = name === 'install-local-engine.yaml'
    const engine = !applies ? undefined : isLocal ? '--engine=local' : '--engine=job'

    it(`${name}: ${isLocal ? 'has Terraform, and memory and time for its runs' : 'runs no Terraform and is small'}`, () => {
      assert.deepEqual({ image, resources, graceSeconds }, isLocal ? WITH_TERRAFORM : WITHOUT)
      assert.equal(args.includes('--leader-elect'), true)
    })

    it(`${name}: ${engine ?? 'needs no engine, and has none'}`, () => {
      assert.deepEqual(
        args.filter((arg) => arg.startsWith('--engine=')),
        engine ? [engine] : [],
      )
    })

    it(`${name}: ${engine === '--engine=job' ? 'has what its runs need' : 'has no runs in Jobs'}`, () => {
      const { env } = containers[0]
      const runner = env.find((one) => one.name === 'CAPT_RUNNER_IMAGE') as { value?: string } | undefined
      const manifests = component(name)
      const named = (kind: string, wanted: RegExp) =>
        of(manifests, kind).filter(({ metadata }) => wanted.test(metadata.name)).length
      const found = {
        image: runner?.value,
        accounts: named('ServiceAccount', /^capt-run$/),
        roles: named('Role', /^run-role$/) + named('RoleBinding', /^run-rolebinding$/),
        identities: ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']
          .map((kind) => named(kind, /run-identity-role(binding)?$/))
          .reduce((sum, count) => sum + count),
      }
      const none = { image: undefined, accounts: 0, roles: 0, identities: 0 }
      const needed = { image: WITH_TERRAFORM.image, accounts: 1, roles: 2, identities: 2 }
      assert.deepEqual(found, engine === '--engine=job' ? needed : none)
      const account = args.find((arg) => arg.startsWith('--run-service-account='))
      assert.equal(account, engine === '--engine=job' ? '--run-service-account=capt-run' : undefined)
    })
  }

  it('takes the place of the other one: both engines have the same names', () => {
    const ids = new Set(asset('install.yaml').map(idOf))
    assert.deepEqual(
      asset('install-local-engine.yaml')
        .map(idOf)
        .filter((id) => !ids.has(id)),
      [],
    )
  })
})

describe('who starts runs', () => {
  it('gives roles in the namespaces of applies, and starts Jobs in its own namespace alone', () => {
    for (const name of ['install.yaml', 'infrastructure-components.yaml', 'install-namespaced.yaml']) {
      const manifests = component(name)
      const wide = of(manifests, 'ClusterRole').flatMap(({ rules }) => rules.flatMap(({ resources = [] }) => resources))
      for (const resource of ['jobs', 'pods', 'serviceaccounts', 'serviceaccounts/token'])
        assert.ok(!wide.includes(resource), `${name}: ${resource} in every namespace`)
      const [role] = of(manifests, 'Role').filter(({ metadata }) => metadata.name === 'run-role')
      assert.equal(role!.metadata.namespace, 'capt-system')
    }
  })

  it('cannot give away more than it has: no escalate, no bind', () => {
    const verbs = component('install.yaml').flatMap(({ rules = [] }) => rules.flatMap((rule) => rule.verbs))
    assert.ok(!verbs.includes('escalate') && !verbs.includes('bind'))
  })
})

describe('the version', () => {
  it('is the same in the package, the manifests and the release metadata', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    const manager = parse(readFileSync(join(root, 'config/manager/kustomization.yaml'), 'utf8'))
    assert.deepEqual(manager.images, [{ name: 'ghcr.io/appthrust/capt', newTag: `v${version}` }])
    const [major, minor] = version.split('.').map(Number)
    const metadata = parse(readFileSync(join(root, 'config/metadata.yaml'), 'utf8'))
    assert.deepEqual(metadata.releaseSeries.at(-1), { major, minor, contract: 'v1beta1' })
  })

  it('is the same in every asset', () => {
    const tags = [...files].flatMap(([name, text]) =>
      [...text.matchAll(/ghcr\.io\/appthrust\/capt[a-z-]*:([^\s"'}]+)/g)].map((match) => `${name} ${match[1]}`),
    )
    assert.ok(tags.length >= 5)
    assert.deepEqual(
      tags.filter((tag) => !tag.endsWith(` v${VERSION}`)),
      [],
    )
    const series = parse(files.get('metadata.yaml')!).releaseSeries
    assert.deepEqual(series.at(-1), { major: 9, minor: 9, contract: 'v1beta1' })
  })

  it('must be a plain version', () => {
    for (const text of ['', 'v1.2.3', '1.2', 'latest', '1.2.3\n', undefined])
      assert.throws(() => checkVersion(text), /VERSION must be a version such as 1\.2\.3/)
    assert.equal(checkVersion('1.2.3-rc.1'), '1.2.3-rc.1')
  })

  it('may come with an image from elsewhere', () => {
    const elsewhere = releaseFiles({ version: VERSION, image: 'registry.example/team/capt' })
    assert.ok(elsewhere.get('install.yaml')!.includes(`image: registry.example/team/capt:v${VERSION}`))
    assert.ok(elsewhere.get('install.yaml')!.includes(`value: registry.example/team/capt-runner:v${VERSION}`))
    const controlPlane = elsewhere.get('control-plane-components.yaml')!
    assert.ok(controlPlane.includes(`image: "\${CAPT_IMAGE:=registry.example/team/capt:v${VERSION}}"`))
  })
})

describe('images by digest', () => {
  it('are named by tag and digest where the digest is known', () => {
    const [manager, runner] = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`)
    const pinned = releaseFiles({ version: VERSION, digests: { manager, runner } })
    assert.ok(pinned.get('install.yaml')!.includes(`capt-runner:v${VERSION}@${runner}`))
    assert.ok(pinned.get('control-plane-components.yaml')!.includes(`capt:v${VERSION}@${manager}`))
  })

  it('must have a digest that is one', () => {
    assert.throws(() => releaseFiles({ version: VERSION, digests: { manager: 'sha256:1' } }), /digest/)
  })
})

describe('the optional egress policy', () => {
  const [policy] = renderKustomization(join(root, 'config/network-policy/egress')) as unknown as {
    readonly spec: {
      readonly podSelector: object
      readonly policyTypes: readonly string[]
      readonly egress: readonly {
        readonly to?: readonly { readonly ipBlock: { readonly cidr: string; readonly except?: readonly string[] } }[]
        readonly ports: readonly { readonly port: number }[]
      }[]
    }
  }[]

  it('selects the manager and the pods of its runs, and opens names, TLS and Pod Identity alone', () => {
    const [deployment] = of(asset('install.yaml'), 'Deployment')
    const { labels } = (deployment!.spec.template as unknown as Manifest).metadata
    const owner = { namespace: 'a', name: 'b', uid: '', apiVersion: '', kind: '' }
    const job = { namespace: 'capt-system', name: 'j' }
    const rendered = renderJob({
      owner,
      job,
      run: { id: 'r', resumed: 0 },
      image: 'i',
      serviceAccount: 's',
      settings: 's',
      graceSeconds: 1,
    }) as unknown as { spec: { template: Manifest } }
    const key = 'app.kubernetes.io/name'
    const values = [labels?.[key], rendered.spec.template.metadata.labels?.[key]]
    assert.deepEqual(policy!.spec.podSelector, { matchExpressions: [{ key, operator: 'In', values }] })
    assert.deepEqual(policy!.spec.policyTypes, ['Egress'])
    const ports = policy!.spec.egress.flatMap((rule) => rule.ports.map(({ port }) => port))
    assert.deepEqual([...new Set(ports)].sort(), [443, 53, 6443, 80])
    const open = policy!.spec.egress.flatMap(({ to = [] }) => to.map(({ ipBlock }) => ipBlock))
    assert.deepEqual(open.find(({ cidr }) => cidr === '0.0.0.0/0')?.except, ['169.254.0.0/16'])
  })
})

describe('make build-installer', () => {
  let dist: string
  const run = (version: string) =>
    spawnSync(process.execPath, [join(root, 'scripts/installer.ts')], {
      encoding: 'utf8',
      env: { ...process.env, VERSION: version, DIST: dist, IMAGE: '' },
    })
  before(() => {
    dist = mkdtempSync(join(tmpdir(), 'capt-installer-'))
    for (const version of ['9.9.8', VERSION]) assert.equal(run(version).status, 0)
  })
  after(() => rmSync(dist, { recursive: true, force: true }))

  it('writes what a release holds, with checksums that match', () => {
    const written = readdirSync(join(dist, 'installer')).sort()
    assert.deepEqual(written, [...files.keys()].sort())
    const sums = readFileSync(join(dist, 'installer/SHA256SUMS'), 'utf8').trim().split('\n')
    assert.equal(sums.length, written.length - 1)
    for (const line of sums) {
      const [sum, name] = line.split('  ') as [string, string]
      assert.equal(sha256(readFileSync(join(dist, 'installer', name), 'utf8')), sum, name)
    }
  })

  it('has the templates that the first manifest of the docs names, for any namespace', () => {
    const templates = asset('templates.yaml')
    const names = templates.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`)
    assert.deepEqual(
      names,
      ['vpc', 'eks-controlplane', 'node-group', 'machine'].map((name) => `WorkspaceTemplate /${name}`),
    )
    const page = readFileSync(join(root, 'docs/clusters.md'), 'utf8')
    const [first = ''] = /```yaml\n[\s\S]*?```/.exec(page) ?? []
    const named = [...first.matchAll(/TemplateRef:\n +name: (\S+)/g)].map(([, name]) => name!)
    assert.deepEqual(named, ['vpc', 'eks-controlplane'])
  })

  it('writes a repository for clusterctl and keeps the versions that are there', () => {
    const list = (folder: string) => readdirSync(join(dist, 'repository', folder)).sort()
    for (const provider of ['infrastructure-capt', 'control-plane-capt'])
      assert.deepEqual(list(provider), ['v9.9.8', 'v9.9.9'])
    assert.deepEqual(list('control-plane-capt/v9.9.9'), ['control-plane-components.yaml', 'metadata.yaml'])
    const infrastructure = list('infrastructure-capt/v9.9.9')
    for (const name of ['infrastructure-components.yaml', 'metadata.yaml', 'clusterclass-capt.yaml'])
      assert.ok(infrastructure.includes(name))
    const flavours = ['', '-simulation', '-existing-vpc', '-karpenter', '-topology']
    for (const flavour of flavours) assert.ok(infrastructure.includes(`cluster-template${flavour}.yaml`))
  })

  it('refuses a version that is none', () => {
    const { status, stderr } = run('latest')
    assert.equal(status, 2)
    assert.match(
      stderr,
      /error: VERSION must be a version such as 1\.2\.3, not "latest"\n {2}hint make build-installer/,
    )
  })
})

describe('the images', () => {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')

  it('run as the user of the manifests, who is not root', () => {
    const users = [...dockerfile.matchAll(/^USER (.*)$/gm)].map((match) => match[1])
    assert.deepEqual(users, ['65532:65532', 'root', '65532:65532'], 'root only while packages are added')
    const { securityContext } = of(asset('install.yaml'), 'Deployment')[0]!.spec.template.spec
    assert.deepEqual([securityContext['runAsUser'], securityContext['runAsGroup']], [65532, 65532])
  })

  it('start the program as bin/capt starts a manager', () => {
    const entry = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(dockerfile)![1]!) as string[]
    assert.deepEqual(entry, ['node', ...managerFlags(), '/app/dist/program/capt.mjs'])
    assert.match(dockerfile, /^ENV .*\bMALLOC_ARENA_MAX=1\b/m)
  })

  it('have a Node that the package asks for, by its official name', () => {
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } }
    const major = /^ARG NODE_IMAGE=node:(\d+)-/m.exec(dockerfile)![1]!
    assert.equal(engines.node, `>=${major}`)
  })

  it('can be built from what .dockerignore lets in', () => {
    const folder = mkdtempSync(join(tmpdir(), 'capt-context-'))
    try {
      const patterns = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n')
      const wanted = patterns.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
      const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap((match) => match[1]!.split(' '))
      assert.deepEqual(copied.toSorted(), wanted.toSorted())
      for (const name of wanted)
        cpSync(join(root, name), join(folder, name), {
          recursive: true,
          filter: (path) => !/\.test\.ts$|\/testdata$/.test(path),
        })
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
      const build = spawnSync(process.execPath, [join(folder, 'scripts/build.ts')], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, VERSION },
      })
      assert.equal(build.status, 0, build.stderr)
      const program = join(folder, 'dist/program/capt.mjs')
      assert.equal(execFileSync(process.execPath, [program, 'version'], { encoding: 'utf8' }), `capt ${VERSION}\n`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe('config/', () => {
  const folders = [
    'crd',
    'default',
    'infrastructure',
    'control-plane',
    'overlays/namespaced',
    'overlays/local-engine',
    'network-policy/egress',
  ]
  const hasKubectl = findTool('kubectl') !== undefined

  for (const folder of folders) {
    it(`${folder} is the same to kubectl kustomize and to make build-installer`, (t: TestContext) => {
      const ours = renderKustomization(join(root, 'config', folder))
      assert.ok(ours.length > 0)
      if (!hasKubectl) return t.skip('rendered, but not compared: kubectl is not installed')
      const text = execFileSync('kubectl', ['kustomize', join(root, 'config', folder)], {
        encoding: 'utf8',
        maxBuffer: 16 << 20,
      })
      const theirs = documents(text)
      assert.deepEqual(ours.map(idOf), theirs.map(idOf))
      for (const [i, manifest] of ours.entries()) assert.deepEqual(manifest, theirs[i], idOf(manifest))
    })
  }

  it('renders nothing that it does not understand', () => {
    const folder = mkdtempSync(join(tmpdir(), 'capt-kustomize-'))
    try {
      execFileSync('cp', ['-r', join(root, 'config/network-policy'), join(folder, 'base')])
      execFileSync('sh', ['-c', `echo 'replicas: []' >> ${JSON.stringify(join(folder, 'base/kustomization.yaml'))}`])
      assert.throws(() => renderKustomization(join(folder, 'base')), /replicas is not rendered here/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
