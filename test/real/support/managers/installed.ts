// A management cluster as `kubectl apply -f install.yaml` leaves it: core Cluster API, the rendered manifests as they are, the
// built manager under the rights of its account and with the arguments of its Deployment, and a kubelet for its runs.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { toKubeconfig } from '#lib'
import { releaseFiles } from '../../../../scripts/release-files.ts'
import type { ClusterActor } from '../../../support/engine/cluster-actor.ts'
import { type Api, openApi } from '../api.ts'
import { startKubelet } from '../kubelet.ts'
import { freePort, type Kube, type KubeOptions, startCapi, startKube } from '../lab.ts'
import { HOME_NAMESPACE, type ManagerProcess, startManagerProcess, writeTemp } from '../world.ts'

const FILES = releaseFiles({ version: '9.9.9' })
export const releaseFile = (name: string): string => FILES.get(name)!

export interface Installed {
  readonly kube: Kube
  readonly api: Api
  readonly kubelet: ClusterActor
  readonly manager: ManagerProcess
  apply(manifest: string): void
  /** Kills the manager at once; the next one finds what it left. */
  replaceManager(): Promise<void>
  stop(): Promise<void>
}

interface InstalledOptions extends KubeOptions {
  /** Files of the release that are applied beside install.yaml. */
  readonly beside?: readonly string[]
  /** Folders of programs that the image of the runs has beside Terraform. */
  readonly programs?: readonly string[]
}

export async function startInstalled({ beside = [], programs, ...options }: InstalledOptions): Promise<Installed> {
  const undo: (() => Promise<unknown> | unknown)[] = []
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const folder = mkdtempSync(join(tmpdir(), 'capt-real-installed-'))
    undo.push(() => rmSync(folder, { recursive: true, force: true }))
    const kube = await startKube(options)
    undo.push(() => kube.stop())
    const api = openApi(kube)
    undo.push(() => api.close())
    const capi = await startCapi(kube, 'v1.14.2')
    undo.push(() => capi.stop())
    const apply = (manifest: string) => void kube.kubectl(['apply', '--server-side', '-f', '-'], manifest)
    for (const name of ['install.yaml', ...beside]) apply(releaseFile(name))
    const kubelet = await startKubelet(kube, HOME_NAMESPACE, folder, programs)
    undo.push(() => kubelet.stop())
    let manager = await startManager(kube, folder)
    undo.push(() => manager.stop())
    return {
      kube,
      api,
      kubelet,
      get manager() {
        return manager
      },
      apply,
      async replaceManager() {
        process.kill(manager.pid, 'SIGKILL')
        await manager.stop()
        manager = await startManager(kube, folder)
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Deployment {
  readonly kind: string
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly { args: string[]; env: { name: string; value?: string }[] }[] }
    }
  }
}

/** As the Deployment starts it, but for what only a pod has. */
async function startManager(kube: Kube, folder: string): Promise<ManagerProcess> {
  const deployment = parseAllDocuments(releaseFile('install.yaml'))
    .map((one) => one.toJS() as Deployment)
    .find(({ kind }) => kind === 'Deployment')
  const [container] = deployment!.spec.template.spec.containers
  const args = container!.args.filter((arg) => !/^(manager$|--work-dir|--health|--metrics)/.test(arg))
  const image = container!.env.find(({ name }) => name === 'CAPT_RUNNER_IMAGE')?.value ?? ''
  const token = kube.kubectl(['create', 'token', 'capt-controller-manager', '-n', HOME_NAMESPACE, '--duration=4h'])
  const caData = Buffer.from(kube.caPem).toString('base64')
  const kubeconfig = toKubeconfig({ name: 'capt', server: kube.url, caData, user: { token: token.trim() } })
  const path = writeTemp(folder, `manager-${await freePort()}`, JSON.stringify(kubeconfig))
  return startManagerProcess(path, folder, args, {
    POD_NAMESPACE: HOME_NAMESPACE,
    CAPT_RUNNER_IMAGE: image,
    PATH: dirname(process.execPath),
  })
}
