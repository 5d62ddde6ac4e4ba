// clusterctl as people run it, against a local repository that make build-installer wrote and a real control plane.
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AnyObject, DeploymentKind, keyOf, type UnknownObject } from '#api'
import { createClient, isKubeError, loadKubeconfig } from '#kube'
import { systemClock, toTimestamp } from '#lib'
import { type CapiVersion, capiBinary, capiFolder, coreManifests, freePort, type Kube } from '../lab.ts'

const root = join(import.meta.dirname, '../../../..')

export interface Said {
  readonly status: number | null
  readonly out: string
  readonly stderr: string
}

export interface Clusterctl {
  /** Where core's webhooks are expected to answer. */
  readonly webhookPort: number
  readonly repository: string
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Said>
}

const CERT_MANAGER = 'v1.0.0'

/** Writes a repository with these releases of ours and with core, and answers with a clusterctl that knows it. */
export async function prepareClusterctl(
  kube: Kube,
  version: CapiVersion,
  releases: readonly string[],
): Promise<Clusterctl> {
  const webhookPort = await freePort()
  for (const release of releases) buildInstaller(kube.folder, release)
  const repository = join(kube.folder, 'repository')
  const put = (path: string, text: string): string => {
    const file = join(repository, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }
  const core = coreManifests(kube, version, webhookPort)
  const newest = releases.at(-1)!
  const providers = [
    {
      name: 'cluster-api',
      type: 'CoreProvider',
      url: put(`cluster-api/${version}/core-components.yaml`, toText(core)),
    },
    {
      name: 'capt',
      type: 'InfrastructureProvider',
      url: join(repository, `infrastructure-capt/v${newest}/infrastructure-components.yaml`),
    },
    {
      name: 'capt',
      type: 'ControlPlaneProvider',
      url: join(repository, `control-plane-capt/v${newest}/control-plane-components.yaml`),
    },
  ]
  copyFileSync(join(capiFolder(version), 'metadata.yaml'), join(repository, `cluster-api/${version}/metadata.yaml`))
  const certManager = put(`cert-manager/${CERT_MANAGER}/cert-manager.yaml`, toText(certManagerKinds()))
  const config = put(
    'clusterctl.yaml',
    JSON.stringify({ providers, 'cert-manager': { url: certManager, version: CERT_MANAGER } }),
  )
  return {
    webhookPort,
    repository,
    run: (args, env = {}) =>
      new Promise((resolve, reject) => {
        const common = ['--config', config, '--kubeconfig', kube.kubeconfig]
        const child = spawn(capiBinary(version, 'clusterctl'), [...args, ...common], {
          stdio: ['ignore', 'pipe', 'pipe'],
          env: {
            PATH: process.env['PATH'],
            HOME: kube.folder,
            XDG_CONFIG_HOME: join(kube.folder, 'xdg'),
            CLUSTERCTL_DISABLE_VERSIONCHECK: 'true',
            ...env,
          },
        })
        let out = ''
        let stderr = ''
        child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
        child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
        child.once('error', reject)
        child.once('close', (status) => resolve({ status, out, stderr }))
      }),
  }
}

function buildInstaller(dist: string, version: string): void {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/installer.ts')], {
    encoding: 'utf8',
    env: { ...process.env, VERSION: version, DIST: dist, IMAGE: '' },
  })
  if (status !== 0) throw new Error(stderr)
}

const toText = (manifests: readonly object[]): string =>
  manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n')

/** clusterctl asks for cert-manager and tries its kinds. Nothing here needs a certificate from it, so the kinds are enough. */
function certManagerKinds(): object[] {
  const names = [
    ['Certificate', 'certificates', 'Namespaced'],
    ['Issuer', 'issuers', 'Namespaced'],
    ['ClusterIssuer', 'clusterissuers', 'Cluster'],
  ] as const
  return names.map(([kind, plural, scope]) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.cert-manager.io` },
    spec: {
      group: 'cert-manager.io',
      scope,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  }))
}

interface Deployment extends UnknownObject {
  readonly spec: { readonly replicas?: number }
  readonly status?: { readonly observedGeneration?: number; readonly replicas?: number }
}

/**
 * Plays the kubelet: no node runs here, so no pod ever starts, and clusterctl would wait for ever for Deployments to
 * become available. It proves that clusterctl finds and waits for ours, not that an image works.
 */
export async function playRollouts(kube: Kube): Promise<{ stop(): Promise<void> }> {
  const client = createClient(await loadKubeconfig({ path: kube.kubeconfig, clock: systemClock }), {
    clock: systemClock,
  })
  let isOn = true
  const play = async (): Promise<void> => {
    for await (const deployment of client.list<Deployment>(DeploymentKind)) {
      const { generation: observedGeneration } = deployment.metadata
      const replicas = deployment.spec.replicas ?? 1
      const { status } = deployment
      if (status?.observedGeneration === observedGeneration && (status?.replicas ?? 0) === replicas) continue
      const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas }
      const at = toTimestamp(Date.now())
      const available = { type: 'Available', status: 'True', reason: 'Played', message: 'No kubelet runs here' }
      const conditions = [{ ...available, lastTransitionTime: at, lastUpdateTime: at }]
      const body = { status: { observedGeneration, ...counts, conditions } }
      await client
        .patch<AnyObject>(DeploymentKind, keyOf(deployment), { type: 'merge', body }, { subresource: 'status' })
        .catch((error: unknown) => {
          if (!isKubeError(error, 'NotFound', 'Conflict')) throw error
        })
    }
  }
  const loop = (async () => {
    while (isOn) {
      await play()
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  })()
  return {
    async stop() {
      isOn = false
      await loop
      client.close()
    },
  }
}
