// Writes the manifests that an import makes: to standard output, or one file per object.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toYaml, type UnknownObject } from '#api'
import { type Assignment, annotated, type Mapped, paused } from '#import'
import { CaptError, messageOf } from '#lib'
import type { Io } from '../command.ts'

/** States are not in manifests: with them, everything is written paused, so that nothing is made a second time. */
export async function writeManifests(
  { objects, applies }: Mapped,
  assignments: readonly Assignment[],
  folder: string | undefined,
  io: Io,
): Promise<void> {
  const hasStates = assignments.some(({ state }) => state)
  const standing = applies.filter(({ owner }) => owner === undefined).map(({ object }) => object)
  const written = hasStates ? [...objects.map(paused), ...standing.map(annotated)] : [...objects, ...standing]
  const texts = written.map((object) => toYaml(inOrder(object)))
  if (folder === undefined) io.stdout.write(texts.join('---\n'))
  else {
    const paths = fileNames(written).map((name) => join(folder, name))
    writeNew(folder, paths, texts)
    io.stdout.write(`Wrote ${written.length} manifests to ${folder}\n`)
  }
  if (hasStates)
    io.stderr.write(
      'The state is not in them, so they are written paused; the same command with --apply brings the state and resumes\n',
    )
}

/** As people write a manifest: what it is, then its name, then the rest. */
function inOrder({ apiVersion, kind, metadata, ...rest }: UnknownObject): UnknownObject {
  return { apiVersion, kind, metadata, ...rest }
}

/** `captcluster-demo.yaml`; the namespace is added where two would have the same name. */
function fileNames(objects: readonly UnknownObject[]): readonly string[] {
  const nameOf = ({ kind, metadata }: UnknownObject, more = ''): string =>
    `${`${kind}-${metadata.name}${more}`.toLowerCase().replace(/[^a-z0-9.-]+/g, '-')}.yaml`
  const plain = objects.map((object) => nameOf(object))
  return objects.map((object, i) => {
    const isShared = plain.indexOf(plain[i]!) !== plain.lastIndexOf(plain[i]!)
    return isShared ? nameOf(object, `.${object.metadata.namespace ?? ''}.${i}`) : plain[i]!
  })
}

/** Overwrites nothing. Secrets may be among the manifests, so only their owner reads them. */
function writeNew(folder: string, paths: readonly string[], texts: readonly string[]): void {
  const taken = paths.find((path) => existsSync(path))
  if (taken !== undefined)
    throw new CaptError('CAPT_USAGE', `${taken} exists`, { hint: 'give a new folder; nothing was written' })
  try {
    mkdirSync(folder, { recursive: true })
    for (const [i, path] of paths.entries()) writeFileSync(path, texts[i]!, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new CaptError('CAPT_FILE_UNREADABLE', `${folder} cannot be written: ${messageOf(error)}`, {
      hint: 'give a folder that can be written to',
      cause: error,
    })
  }
}
