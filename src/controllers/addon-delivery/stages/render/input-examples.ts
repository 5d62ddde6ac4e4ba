// Input for the table tests of rendering: a stage on a Cluster whose control plane is up. A test names what matters to it.
import type { AddonStage } from '#api'
import { shippedStage } from '../../observed-examples.ts'
import type { Part } from '../../resource-set/render-part.ts'
import { renderStage } from './render-stage.ts'
import type { StageInput } from './rendered.ts'

/** What the control plane hands out. */
export const VARIABLES = {
  CLUSTER_NAME: 'demo',
  KARPENTER_IAM_ROLE_ARN: 'arn:aws:iam::111122223333:role/KarpenterControllerRole-demo',
  INTERRUPTION_QUEUE_NAME: 'Karpenter-demo',
  NODE_ROLE_NAME: 'KarpenterNodeRole-demo',
  NODE_IMAGE: 'al2023@v20261102',
}

/** A stage that every Cluster has: its type, as `{ nodePool: { … } }`, and the fields that every stage has. */
export function stageWith(type: Partial<AddonStage>): AddonStage {
  const { flux: _flux, ...rest } = shippedStage('flux')
  return { ...rest, name: 'example', enabledBy: [], ...type }
}

export function aStageInput(over: Partial<StageInput> = {}): StageInput {
  return {
    stage: shippedStage('flux'),
    cluster: 'demo',
    variables: VARIABLES,
    secretVariables: new Set(),
    override: undefined,
    versions: { flux: '2.9.5', karpenter: '1.14.1' },
    definitions: [],
    isFluxAdopted: false,
    probe: undefined,
    installFile: undefined,
    sources: [],
    nodes: undefined,
    liveReplicas: undefined,
    ...over,
  }
}

/** Parts of a stage that has everything it needs. */
export function partsOf(over: Partial<StageInput>): readonly Part[] {
  const rendered = renderStage(aStageInput(over))
  if (rendered.is !== 'ready') throw new Error(JSON.stringify(rendered))
  return rendered.parts
}
