// Which image the nodes boot: pinned once, at the installation, and changed by an upgrade alone. An alias with `latest` would
// replace every node whenever AWS publishes an image.
import type { Survey } from '../survey/survey.ts'
import type { Chosen, Options, Refuse } from './options.ts'

const PINNED = /^[a-z0-9]+@v[0-9][0-9.]*$/

export function chooseImage(
  { kubernetes, image, cluster }: Pick<Survey, 'kubernetes' | 'image' | 'cluster'>,
  options: Options,
  refuse: Refuse,
): Chosen<string> {
  const refused = (field: string, message: string, hint: string) => refuse('CAPT_KARPENTER_IMAGE', field, message, hint)
  const known = options.isUpgrade ? undefined : kubernetes.journal?.image
  if (options.image !== undefined) {
    if (!PINNED.test(options.image))
      refused('--ami', `"${options.image}" is not the alias of one image`, 'write it like al2023@v20261102')
    if (known !== undefined && known !== options.image)
      refused(
        '--ami',
        `${known} was pinned at the installation`,
        `capt karpenter upgrade ${cluster.name} --ami ${options.image}`,
      )
    return { value: options.image, reason: 'chosen by --ami' }
  }
  if (known !== undefined)
    return { value: known, reason: 'pinned at the installation; capt karpenter upgrade changes it' }
  if (image !== undefined)
    return { value: image, reason: `what EKS recommends for Kubernetes ${cluster.version} today, pinned` }
  refused(
    'cluster',
    `EKS names no Amazon Linux 2023 image for Kubernetes ${cluster.version}`,
    'check the region and the Kubernetes version of the cluster, or give the image with --ami',
  )
  return { value: '', reason: 'refused' }
}

/** What the pools of a file boot, where they name a family and no version. */
export function imageForPools({ kubernetes, image }: Survey, options: Pick<Options, 'image'>): string | undefined {
  return options.image ?? kubernetes.journal?.image ?? image
}
