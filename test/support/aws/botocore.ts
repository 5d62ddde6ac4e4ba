// Calls made by botocore, AWS's own client for Python: what it reads is what AWS's model of the API says.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export type Answer = Readonly<Record<string, unknown>>
type Parameters = Readonly<Record<string, unknown>>

export interface Botocore {
  /** One call; an error of AWS is `{ error, status }`. Fails when the answer has a field that the model lacks. */
  call(service: string, operation: string, parameters?: Parameters): Promise<Answer>
  /** Every page of a list, through botocore's own paginator. */
  pages(service: string, operation: string, parameters?: Parameters): Promise<readonly Answer[]>
  /** One of botocore's waiters. */
  wait(service: string, waiter: string, parameters: Parameters): Promise<Answer>
  stop(): Promise<void>
}

export function startBotocore(python: string, url: string, region: string): Botocore {
  const child = spawn(python, [join(import.meta.dirname, 'botocore-calls.py'), url, region], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  async function ask(question: object): Promise<Answer> {
    child.stdin.write(`${JSON.stringify(question)}\n`)
    const { value, done } = await lines.next()
    assert.ok(!done, `botocore ended during ${JSON.stringify(question)}`)
    const { answer, unknown } = JSON.parse(value) as { answer: Answer; unknown: readonly string[] }
    assert.deepEqual(unknown, [], "fields that AWS's model does not have")
    return answer
  }
  return {
    call: (service, operation, parameters = {}) => ask({ service, operation, parameters }),
    pages: async (service, operation, parameters = {}) =>
      (await ask({ service, operation, parameters, pages: true }))['pages'] as readonly Answer[],
    wait: (service, operation, parameters) => ask({ service, operation, parameters, waiter: true }),
    async stop() {
      child.stdin.end()
      await ended
    },
  }
}
