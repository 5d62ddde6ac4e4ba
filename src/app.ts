// Builds the real world and hands it to commands and controllers; the only place that wires.
import type { Connected } from './cli/command.ts'

export async function connectForPeople(
  _options: { readonly kubeconfig?: string; readonly context?: string; readonly namespace?: string },
  _env: Readonly<Record<string, string | undefined>>,
): Promise<Connected> {
  throw new Error('wired with the client')
}
