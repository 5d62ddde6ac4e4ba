// Resources that write down when they are made and destroyed: a witness that survives every record of ours.
import { existsSync, readFileSync } from 'node:fs'
import { type AnyObject, type KindRef, type Lease, LeaseKind, type Secret, SecretKind } from '#api'
import { leaseName, recordName, stateName, suffixOf } from '#engine'
import type { Objects } from '#kube'

/** `count` resources; `before` runs before each says that it was made, with its number in `$i`. */
export function ledgerModule(file: string, count: number, before = ''): string {
  return `
resource "terraform_data" "x" {
  count = ${count}
  input = { file = ${JSON.stringify(file)}, index = count.index }
  provisioner "local-exec" {
    command = "i=\${count.index}; ${before} echo made $i >> \${self.input.file}"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo gone \${self.input.index} >> \${self.input.file}"
  }
}`
}

export function readLedger(file: string): { readonly made: readonly string[]; readonly gone: readonly string[] } {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  const of = (word: string) => lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(5))
  return { made: of('made').sort(), gone: of('gone').sort() }
}

/** What is kept for an apply, by name. */
export async function keptFor(objects: Objects, name: string): Promise<readonly string[]> {
  const suffix = suffixOf({ namespace: 'default', name })
  const found: string[] = []
  for await (const { metadata } of objects.list<Secret>(SecretKind, { namespace: 'default' }))
    if (metadata.name.includes(suffix)) found.push(metadata.name)
  for await (const { metadata } of objects.list<Lease>(LeaseKind, { namespace: 'default' }))
    if (metadata.name.includes(suffix)) found.push(metadata.name)
  return found.sort()
}

/** Takes an object away with force, as a person does who strips its finalizers. */
export async function strip(objects: Objects, kind: KindRef, name: string): Promise<AnyObject | undefined> {
  const key = { namespace: 'default', name }
  const found = await objects.get<AnyObject>(kind, key)
  if (!found) return undefined
  if (found.metadata.finalizers?.length)
    await objects.patch(kind, key, { type: 'merge', body: { metadata: { finalizers: null } } })
  await objects.delete(kind, key)
  return found
}

export const namesOf = (name: string) => {
  const suffix = suffixOf({ namespace: 'default', name })
  return { record: recordName(suffix), state: stateName(suffix), lock: leaseName(suffix), suffix }
}
