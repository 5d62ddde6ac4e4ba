// The last check before Terraform starts: the program satisfies the template, wrote the state, and is not older than it.
import { chooseTool, refuseState } from '../tool/choose-tool.ts'
import type { RunContext } from './context.ts'
import { RunFailure } from './failure.ts'
import type { Resolved } from './values.ts'

export function checkTool({ request, writer }: RunContext, resolved: Resolved): Resolved {
  const { tool, lastTool: last = writer.record.bundle?.tool } = request
  const { inputs, state } = resolved
  const choice = chooseTool([tool], inputs.workspace.tool, last)
  const refusal = choice.ok ? refuseState(tool, state.info?.toolVersion, last) : choice.refusal
  if (refusal) throw new RunFailure({ kind: 'user', ...refusal })
  return resolved
}
