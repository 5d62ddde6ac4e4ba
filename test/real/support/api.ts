// Reads and writes of the tests, in this process: a kubectl for each look would cost more than what is looked at.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  type ClusterApiVersion,
  ConfigMapKind,
  clusterKind,
  clusterResourceSetBindingKind,
  clusterResourceSetKind,
  type Key,
  type KindRef,
  LeaseKind,
  NamespaceKind,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { type Client, createClient, fixedCredentials, isKubeError, type ListOptions, type ServerAccess } from '#kube'
import type { Kube, LabUser } from './lab.ts'
import type { Loose } from './loose.ts'

export function kindsOf(version: ClusterApiVersion) {
  return {
    cluster: clusterKind(version),
    set: clusterResourceSetKind(version),
    binding: clusterResourceSetBindingKind(version),
    infra: CAPTCluster,
    plane: CAPTControlPlane,
    apply: WorkspaceTemplateApply,
    template: WorkspaceTemplate,
    delivery: AddonDelivery,
    pipeline: AddonPipeline,
    secret: SecretKind,
    config: ConfigMapKind,
    lease: LeaseKind,
    namespace: NamespaceKind,
  } as const satisfies Record<string, KindRef>
}

export interface Api {
  readonly client: Client
  /** Throws when it does not exist. */
  get(kind: KindRef, name: string, namespace?: string): Promise<Loose>
  find(kind: KindRef, name: string, namespace?: string): Promise<Loose | undefined>
  list(kind: KindRef, options?: ListOptions): Promise<Loose[]>
  create(kind: KindRef, object: Loose): Promise<Loose>
  /** A merge patch. */
  patch(kind: KindRef, name: string, body: object, namespace?: string): Promise<Loose>
  patchStatus(kind: KindRef, name: string, status: object, namespace?: string): Promise<Loose>
  remove(kind: KindRef, name: string, namespace?: string): Promise<void>
  close(): void
}

export function accessOf(kube: Kube, user: LabUser = 'admin'): ServerAccess {
  const credentials = fixedCredentials({ token: kube.tokenOf(user) })
  return { server: kube.url, ca: kube.caPem, namespace: 'default', credentials, origin: 'the lab' }
}

export function openApi(kube: Kube): Api {
  const client = createClient(accessOf(kube), { userAgent: 'test', fieldManager: 'test', pageSize: 500 })
  const keyOf = (kind: KindRef, name: string, namespace = 'default'): Key =>
    kind.namespaced ? { namespace, name } : { name }
  const find = async (kind: KindRef, name: string, namespace?: string): Promise<Loose | undefined> =>
    await client.get<AnyObject>(kind, keyOf(kind, name, namespace))
  return {
    client,
    find,
    async get(kind, name, namespace) {
      const found = await find(kind, name, namespace)
      if (!found) throw new Error(`there is no ${kind.kind} ${name}`)
      return found
    },
    async list(kind, options) {
      const found: Loose[] = []
      for await (const object of client.list<AnyObject>(kind, options)) found.push(object)
      return found
    },
    create: async (kind, object) => await client.create<AnyObject>(kind, object as unknown as AnyObject),
    patch: async (kind, name, body, namespace) =>
      await client.patch<AnyObject>(kind, keyOf(kind, name, namespace), { type: 'merge', body }),
    patchStatus: async (kind, name, status, namespace) =>
      await client.patch<AnyObject>(
        kind,
        keyOf(kind, name, namespace),
        { type: 'merge', body: { status } },
        { subresource: 'status' },
      ),
    async remove(kind, name, namespace) {
      try {
        await client.delete(kind, keyOf(kind, name, namespace))
      } catch (error) {
        if (!isKubeError(error, 'NotFound')) throw error
      }
    },
    close: () => client.close(),
  }
}

export function conditionOf(object: Loose | undefined, type: string): Loose | undefined {
  return object?.['status']?.conditions?.find((item: { type: string }) => item.type === type)
}

export function isTrue(object: Loose | undefined, type: string): boolean {
  return conditionOf(object, type)?.['status'] === 'True'
}
