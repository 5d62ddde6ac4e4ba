// Opens an existing EKS cluster for the commands of Karpenter: AWS with the credentials of the person, the Kubernetes API
// with a token signed by them or with a kubeconfig, and helm where there is one.
import { connectAws, connectRequests, type EksCluster } from '#aws'
import { fluxManifests } from '#controllers'
import { findCluster, readAccountSide, readKubernetesSide, type Site, type Survey } from '#karpenter'
import { connect, loadKubeconfig, type ServerAccess } from '#kube'
import { CaptError, type Clock, toKubeconfig } from '#lib'
import { findHelm, helmAt } from './helm.ts'

interface SiteOptions {
  readonly cluster: string
  readonly region: string | undefined
  /** Instead of a token for the endpoint that EKS names. */
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly waitMs: number
  report(text: string): void
}

export interface OpenSite extends Site {
  /** Reads everything again. */
  survey(): Promise<Survey>
  close(): Promise<void>
}

export async function openSite(options: SiteOptions): Promise<OpenSite> {
  const { env, clock, signal, waitMs, report } = options
  const region = options.region ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION']
  if (!region)
    throw new CaptError('CAPT_USAGE', 'the region of the cluster is not known', {
      hint: 'give --region, or set AWS_REGION',
    })
  const aws = connectRequests({ clock, env, region, signal })
  const cluster = await findCluster(aws, options.cluster)
  const tokens = connectAws({ clock, env })
  const sign = async () => (await tokens.eksToken({}, { name: cluster.name, region })).token
  const isFromFile = Boolean(options.kubeconfig || options.context)
  const access = isFromFile ? await fromFile(options) : fromCluster(cluster, sign)
  const connection = connect(access, { fieldManager: 'capt-cli', clock })
  const helmPath = findHelm(env)
  const helm =
    helmPath === undefined
      ? undefined
      : helmAt({ path: helmPath, env, timeoutMs: waitMs, signal, kubeconfig: async () => await toFile(access) })
  return {
    aws,
    objects: connection.objects,
    cluster,
    helm,
    fluxManifests,
    clock,
    signal,
    waitMs,
    report,
    survey: async () => ({
      ...(await readAccountSide(aws, await findCluster(aws, cluster.name))),
      kubernetes: await readKubernetesSide(connection.objects),
      helm: helmPath,
      hasEmbeddedToken: isFromFile && (await isEmbedded(access)),
    }),
    close: () => connection.close(),
  }
}

async function fromFile({ kubeconfig, context, env, clock }: SiteOptions): Promise<ServerAccess> {
  return await loadKubeconfig({
    ...(kubeconfig ? { path: kubeconfig } : {}),
    ...(context ? { context } : {}),
    env,
    clock,
  })
}

/** A token lives 15 minutes; each request signs a new one, without a call to AWS. */
function fromCluster({ name, endpoint, caData }: EksCluster, sign: () => Promise<string>): ServerAccess {
  return {
    server: endpoint,
    ca: Buffer.from(caData, 'base64').toString('utf8'),
    namespace: 'default',
    origin: `EKS cluster ${name}`,
    credentials: { current: async () => ({ token: await sign() }), renew: async () => false },
  }
}

/** A token of EKS that the kubeconfig holds itself; a program that signs would give another one. */
export async function isEmbedded({ credentials }: ServerAccess): Promise<boolean> {
  const identity = await credentials.current()
  return identity.token?.startsWith('k8s-aws-v1.') === true && !(await credentials.renew(identity))
}

async function toFile({ server, ca, credentials }: ServerAccess): Promise<object> {
  const { token, certificate, key } = await credentials.current()
  const encode = (text: string) => Buffer.from(text).toString('base64')
  return toKubeconfig({
    name: 'capt',
    server,
    caData: ca === undefined ? undefined : encode(ca),
    user: {
      ...(token ? { token } : {}),
      ...(certificate && key ? { 'client-certificate-data': encode(certificate), 'client-key-data': encode(key) } : {}),
    },
  })
}
