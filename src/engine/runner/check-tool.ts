// The last check before Terraform starts: the program satisfies the template, and is not older than the state.
import { refuseState, refuseVersion } from '../tool/choose-tool.ts'
import type { RunContext } from './context.ts'
import { RunFailure } from './failure.ts'
import type { Resolved } from './values.ts'

export function checkTool({ request: { tool }, writer }: RunContext, resolved: Resolved): Resolved {
  const { inputs, state } = resolved
  const refusal =
    refuseVersion(tool, inputs.workspace.tool) ?? refuseState(tool, state.info?.toolVersion, writer.record.bundle?.tool)
  if (refusal) throw new RunFailure({ kind: 'user', ...refusal })
  return resolved
}
