// Fetches the install file of flux.manifest and verifies its checksum. A file is fetched once per checksum.
import { CaptError, sha256 } from '#lib'
import type { DeliveryPorts } from '../../ports.ts'

const files = new Map<string, string>()

export async function readInstallFile(
  ports: Pick<DeliveryPorts, 'fetchText'>,
  manifest: { readonly url: string; readonly sha256: string },
): Promise<string> {
  const known = files.get(manifest.sha256)
  if (known !== undefined) return known
  if (!ports.fetchText)
    throw new CaptError('CAPT_FLUX_MANIFEST', 'This capt cannot fetch install files', {
      hint: 'Leave flux.manifest out',
    })
  const text = await ports.fetchText(manifest.url)
  const actual = sha256(text)
  if (actual !== manifest.sha256)
    throw new CaptError('CAPT_FLUX_MANIFEST', `${manifest.url} has checksum ${actual}, not the one that is pinned`, {
      hint: 'Check the file, then pin its checksum in flux.manifest.sha256',
    })
  files.set(manifest.sha256, text)
  return text
}
