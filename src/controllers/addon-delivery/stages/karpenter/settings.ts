// Where Karpenter runs and as whom, as its control plane says: the role trusts one namespace and one kind of identity, so
// the release of every stage follows. Pure.
import type { AddonStage, CAPTControlPlane } from '#api'

export function withSettings<S extends Pick<AddonStage, 'karpenter'>>(
  stages: readonly S[],
  controlPlane: Pick<CAPTControlPlane, 'spec'> | undefined,
): readonly S[] {
  const { namespace, identity } = controlPlane?.spec.controlPlaneConfig?.karpenter ?? {}
  if (namespace === undefined && identity === undefined) return stages
  return stages.map((stage) =>
    stage.karpenter
      ? {
          ...stage,
          karpenter: {
            ...stage.karpenter,
            ...(namespace === undefined ? {} : { namespace }),
            ...(identity === undefined ? {} : { identity }),
          },
        }
      : stage,
  )
}
