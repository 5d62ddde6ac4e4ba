// Manifests as data: text in, objects out, and back into text that core's parser reads the same way.
import { readDocuments, toYaml } from '#api'
import { CaptError, isPlainObject } from '#lib'

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** Every document of a text. `where` names the source in errors: `ConfigMap default/extra, key a.yaml`. */
export function parseManifests(text: string, where: string): readonly Manifest[] {
  return readDocuments(text).flatMap((document) => {
    const at = `${where}, document ${document.number}`
    if (document.error) throw invalid(`${at}: ${document.error.message.split('\n')[0]}`, 'Fix the YAML')
    const value = document.value()
    if (value === undefined) return []
    if (isPlainObject(value) && value['kind'] === 'List' && Array.isArray(value['items']))
      return value['items'].map((item) => toManifest(item, at))
    return [toManifest(value, at)]
  })
}

function toManifest(value: unknown, where: string): Manifest {
  const metadata = isPlainObject(value) ? value['metadata'] : undefined
  const named =
    isPlainObject(metadata) && (typeof metadata['name'] === 'string' || typeof metadata['generateName'] === 'string')
  if (!isPlainObject(value) || typeof value['apiVersion'] !== 'string' || typeof value['kind'] !== 'string' || !named)
    throw invalid(`${where} is not a Kubernetes object`, 'Every document needs apiVersion, kind and metadata.name')
  return value as unknown as Manifest
}

/** YAML documents, one per object, in the given order: what is written is what is read. */
export function formatManifests(manifests: readonly Manifest[]): string {
  return manifests.map((manifest) => `---\n${toYaml(manifest)}`).join('')
}

/** Texts of at most `limit` bytes each, documents kept whole and in order. */
export function splitManifests(manifests: readonly Manifest[], limit = PAYLOAD_LIMIT): readonly string[] {
  const texts: string[] = []
  let current = ''
  for (const manifest of manifests) {
    const text = formatManifests([manifest])
    const size = Buffer.byteLength(text)
    if (size > limit) {
      const name = `${manifest.kind}/${manifest.metadata.name}`
      throw new CaptError('CAPT_CARRIER_TOO_LARGE', `${name} alone has ${size} bytes; a payload holds ${limit}`, {
        hint: 'Make the object smaller, or deliver it another way',
      })
    }
    if (current !== '' && Buffer.byteLength(current) + size > limit) {
      texts.push(current)
      current = ''
    }
    current += text
  }
  return current === '' ? texts : [...texts, current]
}

/** The API server allows 1 MiB for the whole object; metadata and escaping need room. */
export const PAYLOAD_LIMIT = 900 * 1024

const invalid = (message: string, hint: string) => new CaptError('CAPT_MANIFEST_INVALID', message, { hint })
