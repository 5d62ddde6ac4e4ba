// Which program runs a workspace: the one that its template names, else the one that wrote its state, else the default.
// A version that the template excludes, and one older than the state, are refused before anything runs.

import type { Verb } from '../record/record.ts'
import type { Workspace } from '../workspace.ts'
import { isSatisfied } from './constraint.ts'
import type { Tool, ToolName, ToolRequest } from './find-terraform.ts'
import { compareVersions, isVersion } from './versions.ts'

interface ToolRefusal {
  readonly code: 'CAPT_TOOL_MISSING' | 'CAPT_TOOL_VERSION' | 'CAPT_TOOL_OLDER_THAN_STATE'
  readonly message: string
  readonly hint: string
}

export type ToolChoice =
  | { readonly ok: true; readonly tool: Tool }
  | { readonly ok: false; readonly refusal: ToolRefusal }

/** A destroy works from frozen inputs: what the template asks for by now does not matter to it. */
export function toolFor(
  installed: readonly Tool[],
  { verb, workspace }: { readonly verb: Verb; readonly workspace?: Pick<Workspace, 'tool'> | undefined },
  last: string | undefined,
): ToolChoice {
  const isFrozen = verb === 'destroy' && last !== undefined
  return chooseTool(installed, isFrozen ? undefined : workspace?.tool, last)
}

/** `installed`: the default first. `last`: what the last run used, as its record has it: `tofu 1.10.6`. */
export function chooseTool(
  installed: readonly Tool[],
  wanted: ToolRequest | undefined,
  last: string | undefined,
): ToolChoice {
  const before = nameOf(last)
  const name = wanted?.name ?? before
  const tool = name === undefined ? installed[0] : installed.find((one) => one.name === name)
  if (!tool) {
    const why = wanted?.name === undefined ? 'its state was last written by' : 'the template asks for'
    return refuse(
      'CAPT_TOOL_MISSING',
      `${why} ${name}, which is not installed beside ${installed.map(textOf).join(' and ')}`,
      {
        hint: `install ${name} where runs happen and restart capt, or set spec.template.spec.tool.name of the template`,
      },
    )
  }
  const refusal = refuseVersion(tool, wanted)
  return refusal ? { ok: false, refusal } : { ok: true, tool }
}

function refuseVersion(tool: Tool, wanted: ToolRequest | undefined): ToolRefusal | undefined {
  if (wanted?.version === undefined || isSatisfied(wanted.version, tool.version)) return undefined
  return {
    code: 'CAPT_TOOL_VERSION',
    message: `the template asks for ${wanted.name ?? tool.name} ${wanted.version}, installed is ${textOf(tool)}`,
    hint: `install a version that satisfies it, or change spec.template.spec.tool.version of the template`,
  }
}

/** A state that a newer version wrote may have what this one does not understand, and would drop. */
export function refuseState(
  tool: Tool,
  stateVersion: string | undefined,
  last: string | undefined,
): ToolRefusal | undefined {
  const before = nameOf(last)
  // The numbers of terraform and tofu cannot be compared; a change between them is a decision of the template.
  if (before !== undefined && before !== tool.name) return undefined
  if (stateVersion === undefined || !isVersion(stateVersion)) return undefined
  if (compareVersions(tool.version, stateVersion) >= 0) return undefined
  return {
    code: 'CAPT_TOOL_OLDER_THAN_STATE',
    message: `the state was written by ${tool.name} ${stateVersion}, which is newer than ${textOf(tool)}`,
    hint: `install ${tool.name} ${stateVersion} or newer where runs happen and restart capt; nothing was run`,
  }
}

const refuse = (code: ToolRefusal['code'], message: string, { hint }: { readonly hint: string }): ToolChoice => ({
  ok: false,
  refusal: { code, message, hint },
})

const textOf = ({ name, version }: Tool): string => `${name} ${version}`

function nameOf(last: string | undefined): ToolName | undefined {
  const name = last?.split(' ')[0]
  return name === 'terraform' || name === 'tofu' ? name : undefined
}
