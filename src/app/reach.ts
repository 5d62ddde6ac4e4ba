// What the manager asks of servers that are not its own: whether a workload API answers, and the text behind an address.
import { createClient, readKubeconfigText } from '#kube'
import { CaptError, type Clock, messageOf } from '#lib'

/** Undefined when the API server behind a kubeconfig answers, else why not. */
export async function reach(kubeconfig: string, clock: Clock): Promise<string | undefined> {
  const client = createClient(
    await readKubeconfigText(kubeconfig, { origin: 'the kubeconfig of the cluster', clock }),
    { clock },
  )
  try {
    const { status } = await client.raw('/readyz', { timeoutMs: 10_000 })
    return status === 200 ? undefined : `${client.access.server} answered ${status} to /readyz`
  } catch (error) {
    return messageOf(error)
  } finally {
    client.close()
  }
}

const MAX_INSTALL_BYTES = 4 << 20

/** An install file that a pipeline names by address and checksum. */
export async function fetchText(url: string): Promise<string> {
  const refuse = (message: string) =>
    new CaptError('CAPT_FLUX_MANIFEST', `${url}: ${message}`, { hint: 'check the address in the pipeline' })
  if (!url.startsWith('https://')) throw refuse('only https addresses are fetched')
  const answer = await fetch(url, { signal: AbortSignal.timeout(30_000), redirect: 'follow' })
  if (!answer.ok) throw refuse(`answered ${answer.status}`)
  const text = await answer.text()
  if (text.length > MAX_INSTALL_BYTES) throw refuse('is larger than 4 MiB')
  return text
}
