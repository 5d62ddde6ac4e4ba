// The templates that capt ships, in a home from its start: the first manifest of the docs works as it is pasted. One that
// is there already is never changed.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { readManifests, WorkspaceTemplate } from '#api'
import type { Objects } from '#kube'

const NAMES = ['vpc', 'eks-controlplane']

/** Beside the built program, or in the folder of a checkout. */
function pathOf(name: string): string {
  const [beside, inCheckout] = [`./templates/${name}.yaml`, `../../../templates/${name}.yaml`].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  ) as [string, string]
  return existsSync(beside) ? beside : inCheckout
}

export async function createShippedTemplates(objects: Objects, namespace: string): Promise<void> {
  for (const name of NAMES) {
    if (await objects.get(WorkspaceTemplate, { namespace, name })) continue
    const [manifest] = readManifests(await readFile(pathOf(name), 'utf8'), `${name}.yaml`)
    const template = manifest!.object as unknown as WorkspaceTemplate
    const metadata = { ...template.metadata, namespace }
    // By the manager of `capt apply`: applying the same file then changes nothing.
    const options = { fieldManager: 'capt-apply' }
    await objects.apply<WorkspaceTemplate>(WorkspaceTemplate, { ...template, metadata }, options)
  }
}
