// The stage type nodePool: one NodePool with its class, and a probe pod where verification is requested.
import type { JsonObject } from '#lib'
import { expand } from '../manifests/expand.ts'
import { renderPart } from '../resource-set/render-part.ts'
import { nodeSteps } from '../teardown/karpenter.ts'
import { nodePoolChecks, renderNodePool } from './node-pool/objects.ts'
import { type Rendered, ready, type StageInput, textOf, textsOf } from './render/rendered.ts'
import type { StageType } from './stage-type.ts'

export const nodePoolStage: StageType = {
  render,
  verification: ({ nodePool }) => nodePool?.verify && { pool: nodePool.name, ...nodePool.verify },
  removal: ({ nodePool }, { nodesTimeoutMs }) => nodeSteps(nodePool!.name, nodesTimeoutMs),
}

function render(input: StageInput): Rendered {
  const spec = input.stage.nodePool!
  const isAuto = input.isAutoMode === true
  const roleVariable = isAuto ? 'AUTO_MODE_NODE_ROLE_NAME' : 'NODE_ROLE_NAME'
  const role = textOf(input.variables, roleVariable)
  const free = expand(
    { nodePool: (spec.nodePool ?? {}) as JsonObject, nodeClass: (spec.nodeClass ?? {}) as JsonObject },
    input.variables,
  )
  const needsRole = spec.role === undefined && role === undefined && !('instanceProfile' in free.value.nodeClass)
  const image = spec.amiAlias ?? textOf(input.variables, 'NODE_IMAGE')
  const needsImage = !isAuto && image === undefined && !('amiSelectorTerms' in free.value.nodeClass)
  const missing = [...free.missing, ...(needsRole ? [roleVariable] : []), ...(needsImage ? ['NODE_IMAGE'] : [])].sort()
  if (missing.length > 0) return { is: 'missing', variables: missing, sources: [] }
  const manifests = renderNodePool({
    spec: { ...spec, ...free.value },
    clusterName: textOf(input.variables, 'CLUSTER_NAME')!,
    role,
    image,
    discoveryTag: textOf(input.variables, 'KARPENTER_DISCOVERY_TAG_KEY'),
    subnetIds: textsOf(input.variables[isAuto ? 'AUTO_MODE_SUBNET_IDS' : 'KARPENTER_SUBNET_IDS']),
    ...(isAuto
      ? { autoMode: { securityGroupIds: textsOf(input.variables['AUTO_MODE_SECURITY_GROUP_IDS']) ?? [] } }
      : {}),
  })
  return ready(undefined, [renderPart(input, '', manifests, [...nodePoolChecks(spec, isAuto), ...input.stage.checks])])
}
