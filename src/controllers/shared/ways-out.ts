// Hints of a WorkspaceTemplateApply: of a failed run, and of a deletion that stopped, on the apply itself and on its owner.
import type { WorkspaceTemplateApply } from '#api'

/** A command about a run that is not followed by the name of its apply. */
const NAMELESS = /\bcapt (?:retry|logs|state list)(?=$|[;,.]| (?:shows|starts|what)\b)/g

/** The hint with the name of the apply in every command: a fault is recognized without knowing whose it is. */
export const nameCommands = (hint: string, name: string): string =>
  hint.replace(NAMELESS, (command) => `${command} ${name}`)

/** Lists everything that ends a stopped deletion; `cause` says how to remove what stopped it. */
export function waysOut({ metadata }: WorkspaceTemplateApply, cause: string): string {
  const { name, namespace = 'default' } = metadata
  const removal = cause.replace(/[,;] then:? capt retry \S+$/, '')
  return [
    `Ways out: remove the cause (${removal}), then capt retry ${name} -n ${namespace}`,
    'raise spec.retry.limit or spec.deletionTimeout for more attempts',
    `leave the infrastructure in place and keep its state: kubectl patch wtapply ${name} -n ${namespace} --type merge -p '{"spec":{"retainWorkspaceOnDelete":true}}'`,
    `let go of the resources and of their state: capt forget ${name} -n ${namespace} --orphan-resources`,
  ].join('; or ')
}
