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
    const { code, message, hint } = error
    return toRefused({ code, message: maskSecrets(message, input), ...(hint === undefined ? {} : { hint }) })
  }
}

/** A refusal quotes the manifest, and that may hold values out of Secrets. */
function maskSecrets(text: string, { variables, secretVariables }: StageInput): string {
  const values = [...secretVariables]
    .map((name) => variables[name])
    .filter((value): value is string => typeof value === 'string' && value !== '')
  // The longest first: one may be a part of another.
  return values
    .sort((a, b) => b.length - a.length)
    .reduce((masked, value) => masked.replaceAll(value, '…redacted…'), text)
}

export function toRefused(error: {
  readonly code: string
  readonly message: string
  readonly hint?: string
}): Rendered {
  const { code, message, hint = 'Correct the AddonPipeline' } = error
  return { is: 'refused', code, message, hint }
}
