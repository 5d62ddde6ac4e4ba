// The kind that the contract suite works with, objects of it, and how cases wait and expect refusals.
import assert from 'node:assert/strict'
import { type AnyObject, type ConfigMap, CustomResourceDefinitionKind, type KindRef, kindRef } from '#api'
import { isKubeError, type KubeErrorReason, type Objects } from '../port.ts'

export const WidgetKind = kindRef('contract.example.com/v1', 'Widget')

/** A kind that no server under test may serve. */
export const NobodysKind: KindRef = { ...WidgetKind, group: 'nobody.example.com', kind: 'Nothing', plural: 'nothings' }

export interface Widget extends AnyObject {
  readonly spec?: { readonly size?: number; readonly colour?: string; readonly tags?: readonly string[] }
  readonly status?: { readonly phase?: string }
}

const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${WidgetKind.plural}.${WidgetKind.group}` },
  spec: {
    group: WidgetKind.group,
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
}

export const refusedBecause =
  (...reasons: readonly KubeErrorReason[]) =>
  (error: unknown) =>
    isKubeError(error, ...reasons)

export async function eventually(check: () => boolean, what: string): Promise<void> {
  for (const until = performance.now() + 10_000; performance.now() < until; ) {
    if (check()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  assert.fail(`did not happen: ${what}`)
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
export const aConfig = (namespace: string, over: Partial<AnyObject['metadata']> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace, name: 'settings', ...over },
  data: { a: '1' },
})

export const aWidget = (namespace: string, over: Partial<AnyObject['metadata']> = {}): Widget => ({
  apiVersion: 'contract.example.com/v1',
  kind: 'Widget',
  metadata: { namespace, name: 'one', ...over },
  spec: { size: 1, tags: ['x'] },
})

export const merge = (body: object) => ({ type: 'merge', body }) as const

export async function serveWidgets(objects: Objects): Promise<void> {
  const isServed = async () => {
    try {
      await objects.get(WidgetKind, { namespace: 'default', name: 'probe' })
      return true
    } catch (error) {
      if (isKubeError(error, 'KindNotServed')) return false
      throw error
    }
  }
  if (await isServed()) return
  await objects.apply(CustomResourceDefinitionKind, widgetDefinition)
  for (const until = performance.now() + 20_000; performance.now() < until; ) {
    if (await isServed()) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.fail('the server does not serve the definition it was given')
}
