// The command line as it ships: exit codes, signals, refusals by the server, and what --wait waits for.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { CAPTControlPlane } from '#api'
import { connect, loadKubeconfig } from '#kube'
import { OLDER_CONTROL_PLANE_TEMPLATE, OLDER_WORKSPACE_TEMPLATE } from '#testing'
import { findTool } from '../support/tools.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from './support.ts'

const SIMULATION = readFileSync(join(import.meta.dirname, '..', '..', 'examples', 'simulation.yaml'), 'utf8')
const CLOCK = join(import.meta.dirname, '..', 'support', 'shifted-clock.mjs')
const MANIFEST = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n'

/** One line of every command that speaks to an API server. */
const CONNECTING = [
  'apply -f one.yaml',
  'get clusters',
  'get captclusters',
  'describe cluster demo',
  'describe wtapply demo-vpc',
  'delete cluster demo --yes',
  'doctor --skip-aws',
  'doctor demo --skip-aws',
  'logs demo-vpc',
  'retry demo-vpc',
  'cancel demo-vpc',
  'state list demo-vpc',
  'kubeconfig demo',
]

let shipped: Shipped
before(() => {
  shipped = shippedProgram()
  writeFileSync(join(shipped.folder, 'one.yaml'), MANIFEST)
})
after(() => shipped.end())

const kubeconfigFor = (server: string) => `apiVersion: v1
kind: Config
current-context: it
clusters: [{name: it, cluster: {server: "${server}"}}]
contexts: [{name: it, context: {cluster: it, user: it}}]
users: [{name: it, user: {token: some-token}}]
`

/** A server that answers every request in the same way, and the kubeconfig that points at it. */
async function serve(name: string, answer: (response: ServerResponse) => void) {
  const requests: string[] = []
  const server: Server = createServer((request, response) => {
    requests.push(request.url ?? '')
    answer(response)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const kubeconfig = join(shipped.folder, name)
  writeFileSync(kubeconfig, kubeconfigFor(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { requests, kubeconfig, close }
}

describe('a server that refuses the credentials', () => {
  for (const [status, reason, code] of [
    [401, 'Unauthorized', 'CAPT_KUBE_UNAUTHORIZED'],
    [403, 'Forbidden', 'CAPT_KUBE_FORBIDDEN'],
  ] as const)
    it(`with ${status} is reported as ${reason} by every command`, async () => {
      const { kubeconfig, close } = await serve(reason, (response) => {
        const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: reason, reason, code: status }
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      })
      try {
        const refuse = async (line: string) => {
          const args = [...line.split(' '), '--kubeconfig', kubeconfig]
          const { code: exit, out, err } = await shipped.capt(args, { timeoutMs: 120_000 })
          assert.equal(exit, 1, line)
          assert.equal(out, '', line)
          assert.match(err, new RegExp(`^error: .* ${code}$`, 'm'), line)
          assert.doesNotMatch(err, /does not serve|serves no version|install the/, line)
        }
        await Promise.all(CONNECTING.map(refuse))
      } finally {
        await close()
      }
    })
})

describe('Ctrl-C', () => {
  it('ends every command that waits for an answer with 130 and one plain line', async () => {
    const interrupt = async (line: string, i: number) => {
      const { requests, kubeconfig, close } = await serve(`silent-${i}`, () => undefined)
      try {
        const running = shipped.start([...line.split(' '), '--kubeconfig', kubeconfig])
        await waitUntil(`a request of capt ${line}`, () => requests.length > 0, 120_000, running.err)
        assert.equal(await running.stop('SIGINT'), 130, line)
        assert.deepEqual([running.out(), running.err()], ['', 'Interrupted\n'], line)
      } finally {
        await close()
      }
    }
    await Promise.all(CONNECTING.map(interrupt))
  })

  it('lets a move end what it began, and ends it at once when it is pressed again', async () => {
    const { requests, kubeconfig, close } = await serve('silent-move', () => undefined)
    try {
      const running = shipped.start(['move', '--yes', '--kubeconfig', kubeconfig, '--to-kubeconfig', kubeconfig])
      await waitUntil('a request of capt move', () => requests.length > 0, 60_000, running.err)
      running.child.kill('SIGINT')
      await running.untilSaid('Interrupted: it ends what it began; Ctrl-C again stops it at once\n')
      assert.equal(await running.stop('SIGINT'), 130)
    } finally {
      await close()
    }
  })

  it('ends a command that reads standard input', async () => {
    for (const args of [
      ['apply', '-f', '-'],
      ['karpenter', 'convert'],
    ]) {
      const child = spawn(shipped.bin, args, { cwd: shipped.folder, env: shipped.env })
      let err = ''
      child.stderr.on('data', (data: Buffer) => {
        err += data.toString()
      })
      const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)))
      // More than a pipe holds: when it is gone, the command is reading.
      await new Promise((resolve) => child.stdin.write('# a comment\n'.repeat(100_000), resolve))
      child.kill('SIGINT')
      const giveUp = setTimeout(() => child.kill('SIGKILL'), 60_000)
      assert.equal(await ended, 130, `${args.join(' ')}: ${err}`)
      clearTimeout(giveUp)
      assert.equal(err, 'Interrupted\n')
    }
  })

  it('ends capt up with 130 after it has closed', async () => {
    const home = await shipped.up('interrupted', ['--engine', 'simulated', '--log-level', 'error'])
    assert.equal(await home.stop('SIGINT'), 130)
    assert.equal(home.err(), 'Interrupted\n')
  })
})

describe('capt up with a manifest', () => {
  it('that is not there fails before anything starts', async () => {
    const { code, out, err } = await shipped.capt(['up', '--data', 'none', '-f', 'nofile.yaml'])
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /^error: nofile\.yaml cannot be read: .* {2}CAPT_FILE_UNREADABLE\n {2}hint .*\n$/)
    assert.equal(existsSync(join(shipped.folder, 'none')), false)
  })

  it('that is wrong fails before anything starts', async () => {
    const wrong =
      'apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: CAPTCluster\nmetadata: {name: a}\nspec: {}\n'
    writeFileSync(join(shipped.folder, 'wrong.yaml'), wrong)
    const { code, err } = await shipped.capt(['up', '--data', 'none', '-f', 'wrong.yaml'])
    assert.equal(code, 1)
    assert.match(err, /at {3}wrong\.yaml, document 1/)
    assert.equal(existsSync(join(shipped.folder, 'none')), false)
  })
})

describe('capt up --detach', () => {
  const API = 'apiVersion: infrastructure.cluster.x-k8s.io/v1beta1'
  const TEMPLATE = `${API}\nkind: WorkspaceTemplate\nmetadata: {name: one}\nspec: {template: {spec: {forProvider: {source: Inline, module: '# none'}}}}\n`
  const applyOf = (name: string) =>
    `${API}\nkind: WorkspaceTemplateApply\nmetadata: {name: ${name}}\nspec: {templateRef: {name: ${name}}}\n`
  const untilEnded = () => waitUntil('the end of the home', () => shipped.processes().length === 0)
  const up = ['up', '--data', 'detached', '--detach', '--engine', 'simulated', '--log-format', 'text']

  it('goes on in the background, returns when its manifests are ready, and logs a line per event', async () => {
    writeFileSync(join(shipped.folder, 'detached.yaml'), `${TEMPLATE}---\n${applyOf('one')}`)
    const out = await shipped.captOk([...up, '-f', 'detached.yaml', '--wait-ready', '2m'], { timeoutMs: 150_000 })
    assert.match(out, /^capt is ready at https:/)
    const [, pid = '', log = ''] = /^Process (\d+) goes on in the background; its log is (\S+); kill \1 ends it$/m.exec(
      out,
    )!
    const kubeconfig = join(shipped.folder, 'detached', 'kubeconfig')
    assert.match(await shipped.captOk(['get', 'wtapply', '--kubeconfig', kubeconfig]), /^one .* True +Applied/m)
    assert.equal(statSync(log).mode & 0o777, 0o600)
    assert.match(readFileSync(log, 'utf8'), /^\d\d:\d\d:\d\d {2}WorkspaceTemplateApply\/one +RunStarted +Starting /m)
    const again = await shipped.capt(up)
    assert.deepEqual([again.code, again.out], [1, ''])
    assert.match(again.err, /the home ended with 1 before it was ready +CAPT_HOME_ENDED/)
    process.kill(Number(pid), 'SIGTERM')
    await untilEnded()
  })

  it('ends with 3 when they are not ready in time, and the home goes on', async () => {
    writeFileSync(join(shipped.folder, 'never.yaml'), applyOf('ghost'))
    const late = await shipped.capt([...up, '-f', 'never.yaml', '--wait-ready', '1s'], { timeoutMs: 150_000 })
    assert.equal(late.code, 3, late.out + late.err)
    process.kill(Number(/^Process (\d+)/m.exec(late.out)![1]), 'SIGTERM')
    await untilEnded()
  })
})

describe('with an embedded home', () => {
  let home: UpHome
  const capt = (line: string, timeoutMs = 240_000) =>
    shipped.capt([...line.split(' '), '--kubeconfig', home.kubeconfig], { timeoutMs })
  const read = async (line: string) => JSON.parse((await capt(`${line} -o json`)).out) as Json
  const write = (name: string, text: string) => writeFileSync(join(shipped.folder, name), text)
  before(async () => {
    home = await shipped.up('cli', ['--engine', 'simulated', '--log-level', 'error'])
  })
  after(() => home.stop())

  it('capt delete takes a list of names and deletes all of them, or none when one is wrong', async () => {
    const cluster = (name: string) =>
      `apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: ${name}}\nspec: {}\n`
    write('three.yaml', ['one', 'two', 'three'].map(cluster).join('---\n'))
    assert.equal((await capt('apply -f three.yaml')).code, 0)
    const wrong = await capt('delete cluster two ghost --yes')
    assert.equal(wrong.code, 1)
    assert.match(wrong.err, /There is no Cluster "ghost"[\s\S]*nothing was deleted/)
    const { code, out } = await capt('delete cluster two three --yes')
    assert.equal(code, 0)
    const gone = out
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/ \(.*\)$/, ''))
    assert.deepEqual(gone.sort(), ['Cluster/three is gone', 'Cluster/two is gone'])
    const left = await read('get clusters')
    assert.deepEqual(
      left.items?.map(({ metadata }) => metadata.name),
      ['one'],
    )
  })

  it('capt manager is refused beside a home, which runs the controllers itself', async () => {
    const { code, err } = await shipped.capt(['manager', '--engine', 'simulated'], {
      env: { ...shipped.env, KUBECONFIG: home.kubeconfig },
      timeoutMs: 60_000,
    })
    assert.equal(code, 1)
    const holder = `process ${home.pid} on`
    assert.ok(err.includes(`error: ${home.url} is the embedded home of capt up (${holder} `), err)
    assert.match(err, /CAPT_HOME_RUNS_CONTROLLERS\n {2}hint name another management cluster/)
  })

  it('capt apply writes nothing when one of the kinds is not served', async () => {
    mkdirSync(join(shipped.folder, 'mixed'))
    write('mixed/a.yaml', MANIFEST.replace('one', 'first'))
    write('mixed/b.yaml', 'apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: eks}\nspec: {}\n')
    write('mixed/c.yaml', 'apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\n')
    const { code, out, err } = await capt('apply -f mixed')
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /does not serve ClusterClass in cluster\.x-k8s\.io\/v1beta2, Thing in example\.com\/v1 /)
    assert.match(err, /nothing was applied/)
    write('first.yaml', MANIFEST.replace('one', 'first'))
    assert.match((await capt('apply -f first.yaml')).out, /ConfigMap\/first created/)
  })

  it('capt apply takes a CAPTControlPlaneTemplate of the older project with its metadata', async () => {
    write('older.yaml', OLDER_CONTROL_PLANE_TEMPLATE)
    const { code, err } = await capt('apply -f older.yaml')
    assert.equal(code, 0, err)
    const { out } = await capt('get captcontrolplanetemplate older -o yaml')
    assert.match(out, /^ {4}metadata:\n {6}labels:\n {8}team: platform\n {6}annotations:\n {8}note: kept\n {4}spec:/m)
  })

  it('capt apply answers a field of the older project with what replaces it', async () => {
    const refuse = async ([file, text, answer]: readonly [string, string, RegExp]) => {
      write(file, text)
      const gone = await capt(`apply -f ${file}`)
      assert.equal(gone.code, 1, text)
      assert.match(gone.err, answer)
    }
    const refusals = [
      ['version.yaml', `${OLDER_CONTROL_PLANE_TEMPLATE}      version: "1.31"\n`, /set spec\.topology\.version there/],
      ['deletion.yaml', `${OLDER_WORKSPACE_TEMPLATE}      deletionPolicy: Orphan\n`, /retainWorkspaceOnDelete: true/],
      ['policies.yaml', `${OLDER_WORKSPACE_TEMPLATE}      managementPolicies: ["*"]\n`, /spec\.suspend: true/],
      [
        'publish.yaml',
        `${OLDER_WORKSPACE_TEMPLATE}      publishConnectionDetailsTo: {name: x}\n`,
        /writeConnectionSecretToRef/,
      ],
    ] as const
    await Promise.all(refusals.map(refuse))
  })

  it('capt apply --wait exits 3 when something it applied is not ready in time', async () => {
    const lost = SIMULATION.slice(SIMULATION.indexOf('apiVersion: cluster.x-k8s.io')).replaceAll(
      'name: demo',
      'name: lost',
    )
    write('lost.yaml', lost.replace('name: simulation-vpc', 'name: nowhere'))
    const { code, err } = await capt('apply -f lost.yaml --wait 3s')
    assert.equal(code, 3, err)
    assert.match(err, /^Not ready: .*Cluster\/lost/m)
  })

  it('capt describe shows a missing template whole, with what happened, why and what to do', async () => {
    const { code, out } = await capt('describe cluster lost')
    assert.equal(code, 0)
    assert.match(out, /^What happened +There is no WorkspaceTemplate nowhere$/m)
    assert.match(out, /^Why +a run needs its template; it starts by itself once the template is there$/m)
    assert.match(out, /^What to do +apply the manifest of the template, .*$/m)
    assert.doesNotMatch(out, /…/)
  })

  it('capt doctor reports a template that is missing for more than a minute', async () => {
    write('days', `${2 / (24 * 60)}`)
    const later = { NODE_OPTIONS: `--import=${CLOCK}`, SHIFTED_DAYS: join(shipped.folder, 'days') }
    const { code, out } = await shipped.capt(['doctor', 'lost', '--skip-aws', '--kubeconfig', home.kubeconfig], {
      env: { ...shipped.env, ...later },
    })
    assert.match(out, /There is no WorkspaceTemplate nowhere/)
    assert.equal(code, 1)
  })

  it('capt apply --wait returns when the whole cluster is ready, add-ons included', async () => {
    write('demo.yaml', SIMULATION)
    const { code, err } = await capt('apply -f demo.yaml --wait 4m')
    assert.equal(code, 0, err)
    for (const kind of ['captclusters', 'captcontrolplanes', 'wtapply', 'adeliv'])
      for (const object of (await read(`get ${kind}`)).items ?? []) {
        if (!object.metadata.name.startsWith('demo')) continue
        const ready = object.status?.conditions?.find(({ type }) => type === 'Ready')
        assert.equal(ready?.status, 'True', `${kind} ${object.metadata.name}`)
        assert.equal(ready?.observedGeneration, object.metadata.generation, `${kind} ${object.metadata.name}`)
      }
    const [delivery] = ((await read('get adeliv')).items ?? []).filter(({ metadata }) => metadata.name === 'demo')
    assert.ok(delivery?.status?.stages?.some(({ name, state }) => name === 'karpenter' && state === 'Healthy'))
  })

  it('capt apply --wait does not return from an upgrade while Terraform runs', async () => {
    const at = SIMULATION.lastIndexOf('kind: CAPTControlPlane')
    const minor = /version: v1\.(\d+)/.exec(SIMULATION.slice(at))![1]
    const next = `1.${Number(minor) + 1}`
    write(
      'demo.yaml',
      SIMULATION.slice(0, at) + SIMULATION.slice(at).replace(/version: v?1\.\d+[.\d]*/, `version: v${next}.0`),
    )
    // Asked over a connection that is open: a command would ask half a second later.
    const connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    const key = { namespace: 'default', name: 'demo' }
    assert.ok(await connection.objects.get(CAPTControlPlane, key))
    const { code, err } = await capt('apply -f demo.yaml --wait 4m')
    const plane = await connection.objects.get<CAPTControlPlane>(CAPTControlPlane, key)
    await connection.close()
    assert.equal(code, 0, err)
    assert.match(plane?.status?.version ?? '', new RegExp(`^v?${next.replace('.', '\\.')}`))
    for (const apply of (await read('get wtapply')).items ?? [])
      if (apply.metadata.name.startsWith('demo')) assert.equal(apply.status?.phase, 'Applied', apply.metadata.name)
  })

  it('capt describe and capt doctor explain a downgrade that is refused', async () => {
    write('demo.yaml', SIMULATION)
    const applied = await capt('apply -f demo.yaml --wait 3s')
    assert.equal(applied.code, 3, applied.err)
    const { out } = await capt('describe cluster demo')
    assert.match(out, /^What happened +\S.*1\.\d+/m)
    assert.match(out, /^Why +it is stalled and needs a person \(\w+\)$/m)
    assert.match(out, /^What to do +\S/m)
    const runs = (await read('get captcontrolplane demo')).status?.version ?? ''
    const { out: table } = await capt('get captcontrolplanes')
    assert.match(
      table,
      new RegExp(`^demo +False +\\w+ +${runs.replaceAll('.', '\\.')} .*1\\.\\d+`, 'm'),
      'what runs, not what was asked for',
    )
    const doctor = await capt('doctor demo --skip-aws')
    assert.equal(doctor.code, 1)
    assert.match(doctor.out, /^CAPTControlPlane\/demo\n {2}stalled/m)
  })

  it('capt doctor reports Flux whose pods crash', { skip: !kubectlPath && 'kubectl is not installed' }, async () => {
    write('workload.kubeconfig', (await capt('kubeconfig demo')).out)
    const create = [
      'create',
      'configmap',
      'capt-simulation',
      '-n',
      'kube-system',
      '--from-literal=source-controller=crash',
    ]
    const broken = await shipped.kubectl('workload.kubeconfig', create)
    assert.equal(broken.code, 0, broken.err)
    let report = { code: 0, out: '' }
    let looks = 0
    const isReported = async () => {
      // A change of the delivery has its add-ons looked at now, not at the next interval.
      await shipped.kubectl(home.kubeconfig, ['annotate', 'adeliv', 'demo', '--overwrite', `look=${looks++}`])
      report = await capt('doctor demo --skip-aws')
      return /source-controller/.test(report.out)
    }
    await waitUntil('the report of Flux', isReported, 60_000, () => report.out)
    assert.match(report.out, /Pod flux-system\/source-controller-\S+ container \S+: CrashLoopBackOff/)
    assert.equal(report.code, 1)
  })
})

/** One fails when it is applied, the other when it is destroyed. */
const FAILING = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplate
metadata: {name: failing}
spec:
  template:
    spec:
      forProvider:
        source: Inline
        module: |
          resource "terraform_data" "broken" {
            provisioner "local-exec" {
              command = "echo 'connection reset by peer' >&2; exit 1"
            }
          }
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplate
metadata: {name: sticky}
spec:
  template:
    spec:
      forProvider:
        source: Inline
        module: |
          resource "terraform_data" "kept" {
            provisioner "local-exec" {
              when    = destroy
              command = "echo 'DependencyViolation: it has a dependent object' >&2; exit 1"
            }
          }
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplateApply
metadata: {name: failing}
spec: {templateRef: {name: failing}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplateApply
metadata: {name: sticky}
spec: {templateRef: {name: sticky}}
`

describe('with Terraform runs', { skip: findTool('terraform') ? false : 'needs terraform' }, () => {
  let home: UpHome
  const capt = (line: string) =>
    shipped.capt([...line.split(' '), '--kubeconfig', home.kubeconfig], { timeoutMs: 120_000 })
  const status = async (name: string) => (JSON.parse((await capt(`get wtapply ${name} -o json`)).out) as Json).status
  before(async () => {
    home = await shipped.up('runs', ['--log-level', 'error'])
    writeFileSync(join(shipped.folder, 'failing.yaml'), FAILING)
    assert.equal((await capt('apply -f failing.yaml')).code, 0)
    await waitUntil('the apply of sticky', async () => (await status('sticky'))?.phase === 'Applied')
    assert.equal((await capt('delete wtapply sticky --yes --wait=false')).code, 0)
  })
  after(() => home.stop())

  const untilFailed = () =>
    waitUntil('a failed attempt of both', async () => {
      const both = await Promise.all(['failing', 'sticky'].map(status))
      return both.every((one) => one?.lastError !== undefined)
    })

  it('capt describe explains the apply and the destroy that failed while they are tried again', async () => {
    await untilFailed()
    const failing = (await capt('describe wtapply failing')).out
    assert.match(failing, /^What happened +terraform_data\.broken: .*connection reset by peer/m)
    assert.match(failing, /^Why +attempt \d+ /m)
    assert.match(failing, /^What to do +.*\(capt explain CAPT_TF_\w+\); capt retry failing starts/m)
    const sticky = (await capt('describe wtapply sticky')).out
    assert.match(sticky, /^What happened +terraform_data\.kept: .*DependencyViolation/m)
    assert.match(sticky, /^What to do +.*retainWorkspaceOnDelete/m)
    assert.match(sticky, /^Nothing is lost +1 resource in state/m)
  })

  it('capt doctor reports the apply and the destroy that failed while they are tried again', async () => {
    await untilFailed()
    const { code, out } = await capt('doctor --skip-aws')
    assert.match(out, /^ {2}failing +attempt \d+ of terraform apply failed: .*connection reset by peer/m)
    assert.match(out, /^ {2}failing +attempt \d+ of terraform destroy failed: .*DependencyViolation/m)
    assert.equal(code, 1)
  })
})

interface Json {
  readonly metadata: { readonly name: string; readonly generation?: number }
  readonly items?: readonly Json[]
  readonly status?: {
    readonly phase?: string
    readonly lastError?: object
    readonly version?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly observedGeneration?: number
    }[]
    readonly stages?: readonly { readonly name: string; readonly state: string }[]
  }
}
