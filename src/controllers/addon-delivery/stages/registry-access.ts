// How Flux reaches the registry of a chart: the Secrets that a stage or a delivery names, copied into the workload cluster
// as a part of their own. Only the fields that Flux reads are copied, and only with the consent of the Secret.
import {
  type AddonDelivery,
  ALLOW_NAMESPACES_ANNOTATION,
  allowsNamespace,
  type Key,
  type Secret,
  SecretKind,
} from '#api'
import type { Objects } from '#kube'
import { CaptError } from '#lib'
import type { Manifest } from '../manifests/manifests.ts'
import { MANAGED_LABEL } from '../names.ts'
import { type Part, renderPart } from '../resource-set/render-part.ts'

type Override = AddonDelivery['spec']['overrides'][number]

/** What a stage with a chart, of any type, says about its registry. */
export interface ChartStage {
  readonly source?: Override['source']
}

export interface ChartSource {
  readonly spec: ChartStage['source']
  /** Whose namespace its Secrets are in. */
  readonly owner: 'pipeline' | 'delivery'
}

export interface RegistryAccess {
  readonly insecure: boolean
  /** Content of the copies, in base64. */
  readonly login: Readonly<Record<string, string>> | undefined
  readonly certificates: Readonly<Record<string, string>> | undefined
  /** Secrets that do not exist. */
  readonly missing: readonly string[]
}

/** A delivery that names another chart or source says how to reach it: the login of the pipeline is not sent elsewhere. */
export function chartSourceOf(spec: ChartStage, override: Override | undefined): ChartSource {
  const isOwn = override?.chart !== undefined || override?.source !== undefined
  return isOwn ? { spec: override.source, owner: 'delivery' } : { spec: spec.source, owner: 'pipeline' }
}

interface SecretSources {
  readonly management: Objects
  /** Of the pipeline. */
  readonly namespace: string
  readonly clusterNamespace: string
}

export async function readAccess(source: ChartSource, from: SecretSources): Promise<RegistryAccess | undefined> {
  const { spec, owner } = source
  if (!spec) return undefined
  const namespace = owner === 'pipeline' ? from.namespace : from.clusterNamespace
  const missing: string[] = []
  const read = async (name: string | undefined, choose: (secret: Secret, text: string) => Data) => {
    if (name === undefined) return undefined
    const secret = await from.management.get<Secret>(SecretKind, { namespace, name })
    const text = `Secret ${namespace}/${name}`
    if (!secret) missing.push(text)
    else if (!allowsNamespace(secret, from.clusterNamespace))
      throw refuse(`${text} does not allow clusters of namespace ${from.clusterNamespace}`, {
        hint: `Add the annotation ${ALLOW_NAMESPACES_ANNOTATION}: ${from.clusterNamespace} to it, or name a Secret of that namespace in the overrides of the AddonDelivery`,
      })
    return secret && choose(secret, text)
  }
  const login = await read(spec.secretRef?.name, chooseLogin)
  const certificates = await read(spec.certSecretRef?.name, chooseCertificates)
  return { insecure: spec.insecure, login, certificates, missing }
}

type Data = Readonly<Record<string, string>>

const LOGIN_TYPE = 'kubernetes.io/dockerconfigjson'
const LOGIN_KEY = '.dockerconfigjson'

function chooseLogin({ type, data }: Secret, text: string): Data {
  const value = data?.[LOGIN_KEY]
  if (type === LOGIN_TYPE && value) return { [LOGIN_KEY]: value }
  throw refuse(`${text} is not of type ${LOGIN_TYPE} with a value ${LOGIN_KEY}`, {
    hint: 'Make it with kubectl create secret docker-registry NAME --docker-server=REGISTRY --docker-username=USER --docker-password=PASSWORD',
  })
}

function chooseCertificates({ data = {} }: Secret, text: string): Data {
  const chosen = Object.fromEntries(
    ['ca.crt', 'tls.crt', 'tls.key'].flatMap((key) => (data[key] ? [[key, data[key]]] : [])),
  )
  const isPair = (chosen['tls.crt'] === undefined) === (chosen['tls.key'] === undefined)
  if (isPair && Object.keys(chosen).length > 0) return chosen
  throw refuse(`${text} has neither ca.crt nor both of tls.crt and tls.key`, {
    hint: 'Put the certificate of the authority into ca.crt, or a client certificate and its key into tls.crt and tls.key',
  })
}

const refuse = (message: string, { hint }: { readonly hint: string }) =>
  new CaptError('CAPT_REGISTRY_SECRET', message, { hint })

const loginName = (chart: string) => `${chart}-registry`
const certificatesName = (chart: string) => `${chart}-registry-certificates`

/** Names of the copies in the workload cluster. */
export const accessSecretNames = (chart: string): readonly string[] => [loginName(chart), certificatesName(chart)]

/** Fields of an OCIRepository or HelmRepository. */
export function accessFields(access: RegistryAccess | undefined, chart: string): Readonly<Record<string, unknown>> {
  return {
    ...(access?.login ? { secretRef: { name: loginName(chart) } } : {}),
    ...(access?.certificates ? { certSecretRef: { name: certificatesName(chart) } } : {}),
    ...(access?.insecure ? { insecure: true } : {}),
  }
}

/** A part with a set of its own: it is retired, and the copies with it, when the source no longer names a Secret. */
export function renderAccess(
  input: Parameters<typeof renderPart>[0],
  access: RegistryAccess | undefined,
  at: Key,
): readonly Part[] {
  const secret = (name: string, type: string, data: Data | undefined): readonly Manifest[] => {
    if (!data) return []
    const metadata = { name, namespace: at.namespace!, labels: { [MANAGED_LABEL]: 'true' } }
    return [{ apiVersion: 'v1', kind: 'Secret', metadata, type, data }]
  }
  const secrets = [
    ...secret(loginName(at.name), LOGIN_TYPE, access?.login),
    ...secret(certificatesName(at.name), 'Opaque', access?.certificates),
  ]
  if (secrets.length === 0) return []
  return [renderPart(input, 'registry', [...namespaceFor(at.namespace!), ...secrets], [], { secret: true })]
}

/** The namespace of a release, unless every cluster has it. */
export function namespaceFor(name: string): readonly Manifest[] {
  if (name === 'kube-system' || name === 'flux-system') return []
  return [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { [MANAGED_LABEL]: 'true' } } }]
}
