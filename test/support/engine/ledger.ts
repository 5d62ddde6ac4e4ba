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
    on_failure = continue
    command = "i=\${count.index}; ${before} echo made $i \${self.id} >> \${self.input.file}"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo gone \${self.input.index} \${self.id} >> \${self.input.file}"
  }
}`
}

export function readLedger(file: string): { readonly made: readonly string[]; readonly gone: readonly string[] } {
  const indexes = (word: Entry['word']) => readEntries(file).flatMap((one) => (one.word === word ? one.index : []))
  return { made: indexes('made').sort(), gone: indexes('gone').sort() }
}

interface Entry {
  readonly word: 'made' | 'gone'
  readonly index: string
  /** Of this very instance: the same address may have been made twice. */
  readonly id: string
}

function readEntries(file: string): readonly Entry[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  return lines.map((line) => {
    const [word, index = '', id = ''] = line.split(' ')
    return { word: word as Entry['word'], index, id }
  })
}

/** Indexes of the instances that were made and not destroyed. */
export function readLiving(file: string, tainted: ReadonlySet<string>): readonly string[] {
  const entries = readEntries(file)
  const gone = new Set(entries.flatMap(({ word, id }) => (word === 'gone' ? id : [])))
  return entries.flatMap(({ word, index, id }) => (word === 'made' && !gone.has(id) && !tainted.has(id) ? index : []))
}

/**
 * Ids of the instances that this state knows and whose destruction is not written down: a Terraform that is asked to stop taints
 * what it works on, and destroys a tainted resource without its provisioners.
 */
export function taintedIn(state: string | undefined): readonly string[] {
  type Parsed = { resources: { instances: { status?: string; attributes: { id: string } }[] }[] }
  const { resources } = JSON.parse(state ?? '{"resources":[]}') as Parsed
  return resources.flatMap(({ instances }) =>
    instances.flatMap(({ status, attributes }) => (status === 'tainted' ? attributes.id : [])),
  )
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
