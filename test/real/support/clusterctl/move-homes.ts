// Two management clusters as clusterctl makes them, and templates whose provisioners write down what Terraform makes and
// destroys. The managers run as processes, because no kubelet runs Pods here.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { LeaseKind } from '#api'
import { type Api, kindsOf, openApi } from '../api.ts'
import { type Capi, type CapiVersion, type Kube, startCapi, startKube } from '../lab.ts'
import type { Loose } from '../loose.ts'
import { templates } from '../manifests.ts'
import { contractOf, type ManagerProcess, startManagerProcess } from '../world.ts'
import { type Clusterctl, playRollouts, prepareClusterctl, type Said } from './clusterctl.ts'

const RELEASE = '9.9.9'

export interface MoveHome {
  readonly kube: Kube
  readonly api: Api
  readonly clusterctl: Clusterctl
  readonly capi: Capi
  readonly manager: ManagerProcess
  readonly kinds: ReturnType<typeof kindsOf>
  /** `Kind name` of everything in the namespace that belongs to clusters, sorted; what every namespace has is left out. */
  belongings(): Promise<readonly string[]>
  stop(): Promise<void>
}

export async function startMoveHome(name: string, version: CapiVersion, path: string): Promise<MoveHome> {
  const undo: (() => Promise<unknown> | unknown)[] = []
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const kube = await startKube({ name, audit: true })
    undo.push(() => kube.stop())
    const clusterctl = await prepareClusterctl(kube, version, [RELEASE])
    await install(kube, clusterctl, version)
    const capi = await startCapi(kube, version, { install: false, port: clusterctl.webhookPort })
    undo.push(() => capi.stop())
    const manager = await startManagerProcess(kube.kubeconfigOf('capt'), kube.folder, [], { PATH: path })
    undo.push(() => manager.stop())
    const api = openApi(kube)
    undo.push(() => api.close())
    const kinds = kindsOf(contractOf(version))
    return { kube, api, clusterctl, capi, manager, kinds, belongings: () => belongingsOf(api, kinds), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function install(kube: Kube, clusterctl: Clusterctl, version: CapiVersion): Promise<void> {
  const rollouts = await playRollouts(kube)
  try {
    const providers = ['--infrastructure', `capt:v${RELEASE}`, '--control-plane', `capt:v${RELEASE}`]
    const said = await clusterctl.run([
      ...['init', '--core', `cluster-api:${version}`, '--bootstrap', '-'],
      ...[...providers, '--wait-providers', '--wait-provider-timeout', '300'],
    ])
    if (said.status !== 0) throw new Error(`clusterctl init\n${said.out}${said.stderr}`)
  } finally {
    await rollouts.stop()
  }
}

async function belongingsOf(api: Api, kinds: ReturnType<typeof kindsOf>): Promise<readonly string[]> {
  const found: string[] = []
  const { namespace: _, ...ours } = kinds
  for (const kind of Object.values(ours))
    for (const { metadata } of await api.list(kind, { namespace: 'default' }))
      if (metadata.name !== 'kube-root-ca.crt') found.push(`${kind.kind} ${metadata.name}`)
  return found.sort()
}

/** Leases are locks of the home they are in; everything else goes with the cluster. */
export const isMovable = (belonging: string): boolean => !belonging.startsWith(`${LeaseKind.kind} `)

export function moveAll(from: MoveHome, to: MoveHome): Promise<Said> {
  return from.clusterctl.run(['move', '--to-kubeconfig', to.kube.kubeconfig, '-n', 'default', '-v', '2'])
}

export interface Watched {
  readonly templates: readonly Loose[]
  /** A PATH on which Terraform waits where the test asks it to. */
  readonly path: string
  ledger(): readonly string[]
  /** Terraform waits before this step, in either home, until it is let go. */
  hold(step: 'plan' | 'apply'): void
  letGo(step: 'plan' | 'apply'): void
  remove(): void
}

/** The simulation templates, each with a resource that keeps the ledger, and a Terraform that can be held. */
export function watchTerraform(): Watched {
  const folder = mkdtempSync(join(tmpdir(), 'capt-real-move-'))
  const ledger = join(folder, 'ledger')
  const holding = (step: string) => join(folder, `hold-${step}`)
  const terraform = execFileSync('sh', ['-c', 'command -v terraform || command -v tofu'], { encoding: 'utf8' }).trim()
  const waits = `case $arg in plan|apply) while [ -e ${holding('$arg')} ]; do sleep 0.1; done ;; esac`
  writeFileSync(ledger, '')
  writeFileSync(join(folder, 'terraform'), `#!/bin/sh\nfor arg; do ${waits}; done\nexec ${terraform} "$@"\n`, {
    mode: 0o755,
  })
  const provisioner = (more: string, command: string) =>
    `  provisioner "local-exec" {\n${more}    command = "${command}"\n  }\n`
  const resource = (what: string) =>
    [
      `\nresource "terraform_data" "ledger" {\n  input = "${what}"\n`,
      provisioner('', `echo made ${what} >> ${ledger}`),
      provisioner('    when = destroy\n', `echo destroyed ${what} >> ${ledger}`),
      '}\n',
    ].join('')
  return {
    templates: templates().map((template) => {
      const isVpc = template['metadata'].name.endsWith('-vpc')
      template['spec'].template.spec.forProvider.module += resource(isVpc ? 'network' : 'control plane')
      return template
    }),
    path: `${folder}${delimiter}${process.env['PATH']}`,
    ledger: () => readFileSync(ledger, 'utf8').trim().split('\n'),
    hold: (step) => writeFileSync(holding(step), ''),
    letGo: (step) => rmSync(holding(step), { force: true }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
