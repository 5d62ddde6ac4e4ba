// Where the images of a release are: REGISTRY/OWNER/capt and the same with -runner, tagged vX.Y.Z.
export const REGISTRY = 'ghcr.io'
export const OWNER = 'appthrust'
/** The name that the manifests in config/ carry. */
export const DEFAULT_IMAGE = `${REGISTRY}/${OWNER}/capt`

/** An empty variable is one that was not set. */
export const imageName = (env: Readonly<Record<string, string | undefined>>): string =>
  env['IMAGE'] || `${env['REGISTRY'] || REGISTRY}/${env['OWNER'] || OWNER}/capt`
