// Renders one stage for one Cluster by its type. Pure; everything it needs was read before.
import { isCaptError } from '#lib'
import { parsePath } from '../../health/path.ts'
import { typeOf } from '../registry.ts'
import type { Rendered, StageInput } from './rendered.ts'

export function renderStage(input: StageInput): Rendered {
  try {
    const { stage } = input
    for (const { path } of stage.checks) if (path !== undefined) parsePath(path)
    return typeOf(stage).render(input)
  } catch (error) {
    if (!isCaptError(error)) throw error
    return toRefused(error)
  }
}

export function toRefused(error: {
  readonly code: string
  readonly message: string
  readonly hint?: string
}): Rendered {
  const { code, message, hint = 'Correct the AddonPipeline' } = error
  return { is: 'refused', code, message, hint }
}
