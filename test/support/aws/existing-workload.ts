// What runs in an existing cluster before capt comes, as objects that the simulation brings to life.
import assert from 'node:assert/strict'
import { CustomResourceDefinitionKind, DeploymentKind, NamespaceKind, type UnknownObject } from '#api'
import { loadFluxDefinitions } from '#catalog'
import type { Objects } from '#kube'

export async function bringDeployment(objects: Objects, namespace: string, name: string, labels = {}): Promise<void> {
  await objects.create(DeploymentKind, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace, name, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'manager', image: name }] } },
    },
  } as never)
}

/** Its definitions and two Deployments, which the simulation brings to life. */
export async function bringFlux(objects: Objects): Promise<void> {
  const definitions = (await loadFluxDefinitions('2.9.5')) as unknown as readonly UnknownObject[]
  for (const definition of definitions) await objects.create(CustomResourceDefinitionKind, definition as never)
  await objects.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'flux-system' } })
  for (const name of ['source-controller', 'helm-controller'])
    await bringDeployment(objects, 'flux-system', name, { 'app.kubernetes.io/version': 'v2.9.5' })
  const deadline = Date.now() + 60_000
  for (const name of ['source-controller', 'helm-controller'])
    for (;;) {
      const one = await objects.get<UnknownObject>(DeploymentKind, { namespace: 'flux-system', name })
      if ((one as { status?: { availableReplicas?: number } }).status?.availableReplicas === 1) break
      assert.ok(Date.now() < deadline, `${name} does not run`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
}
