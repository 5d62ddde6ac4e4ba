// Manifests as the converter wants them: the kind, the name, and the place to speak of.
import { readManifests as readObjects } from '#api'
import { CaptError, isPlainObject } from '#lib'

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  /** File, document and line, for messages. */
  readonly at: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface Source {
  readonly name: string
  readonly text: string
}

/** Throws CAPT_MANIFEST_INVALID at the first document that is no manifest with a name. */
export function readManifests(source: Source): Manifest[] {
  return readObjects(source.text, source.name).map(({ object, file, document, line }) => {
    const at = `${file}, document ${document}, line ${line}`
    const body = object as unknown as Record<string, unknown>
    const name = isPlainObject(body['metadata']) ? body['metadata']['name'] : undefined
    if (typeof name === 'string' && name !== '')
      return { apiVersion: object.apiVersion, kind: object.kind, name, at, body }
    throw new CaptError('CAPT_MANIFEST_INVALID', `Document ${document} of ${file} has no metadata.name`, {
      at,
      hint: 'every document needs apiVersion, kind and metadata.name',
    })
  })
}
