// Writes the release assets of one version: dist/installer holds them as a release does, dist/repository as a local
// repository of clusterctl (other versions in it stay). Needs Node alone.
//   VERSION=1.2.3 [REGISTRY=ghcr.io] [OWNER=appthrust] [IMAGE=registry/owner/capt] [IMAGE_DIGEST=sha256:…] [RUNNER_DIGEST=sha256:…]
//   [DIST=folder] node scripts/installer.ts [--dry-run]      (or DRY_RUN=1: writes nothing)
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { imageName } from './release/image-names.ts'
import { checkVersion } from './release/versions.ts'
import { PROVIDERS, releaseFiles } from './release-files.ts'

const { VERSION, IMAGE_DIGEST, RUNNER_DIGEST, DIST, DRY_RUN } = process.env
const isDry = process.argv.includes('--dry-run') || Boolean(DRY_RUN)
const dist = DIST ? resolve(DIST) : join(import.meta.dirname, '..', 'dist')

try {
  const version = checkVersion(VERSION)
  const digests = { manager: IMAGE_DIGEST || undefined, runner: RUNNER_DIGEST || undefined }
  const files = releaseFiles({ version, digests, image: imageName(process.env) })
  write(join(dist, 'installer'), files)
  for (const [provider, isOurs] of Object.entries(PROVIDERS))
    write(join(dist, 'repository', provider, `v${version}`), new Map([...files].filter(([name]) => isOurs(name))))
  const where = relative(process.cwd(), dist) || '.'
  console.log(
    `${isDry ? 'would write' : 'Wrote'} ${files.size} files of v${version} to ${where}/installer and ${where}/repository`,
  )
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`)
  console.error('  hint make build-installer VERSION=1.2.3')
  process.exitCode = 2
}

function write(folder: string, files: ReadonlyMap<string, string>): void {
  if (isDry) return
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of files) writeFileSync(join(folder, name), text)
}
