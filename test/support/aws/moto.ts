// moto: a server that answers as AWS does, behind the stand-in for what it lacks. It is taken from CAPT_MOTO_SERVER, the
// PATH or a cache folder, and installed there by pip when it is missing. In CI it must be there.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { type AwsStandIn, startAwsStandIn } from './stand-in/index.ts'

export interface MotoProgram {
  readonly server: string
  /** A Python that has botocore. */
  readonly python: string
}

export interface Moto extends MotoProgram {
  /** Of the stand-in, which passes on to moto; without a slash at its end. */
  readonly url: string
  readonly standIn: AwsStandIn
  /** A call of the query protocol (IAM, EC2, STS); the answer is XML. */
  query(service: string, region: string, parameters: Readonly<Record<string, string>>): Promise<string>
  /** A call of a REST service such as EKS or S3. */
  rest(service: string, region: string, method: string, path: string, body?: string): Promise<Response>
  /** For calls of other protocols. */
  headersFor(service: string, region: string): Record<string, string>
  /** The secret key that moto gave out with an access key. */
  secretOf(accessKeyId: string): Promise<string | undefined>
  stop(): Promise<void>
}

const CACHE =
  process.env['CAPT_REAL_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'capt-real')

export function findMoto(): MotoProgram | undefined {
  const folder = join(CACHE, 'moto')
  const known = [process.env['CAPT_MOTO_SERVER'], ...onPath('moto_server'), join(folder, 'bin', 'moto_server')]
  const found = known.filter((path) => path !== undefined && existsSync(path)).flatMap((path) => programAt(path!))[0]
  if (found) return found
  runs('python3', '-m', 'venv', folder)
  runs(join(folder, 'bin', 'pip'), 'install', '-q', 'moto[server]')
  const [installed] = existsSync(join(folder, 'bin', 'moto_server'))
    ? programAt(join(folder, 'bin', 'moto_server'))
    : []
  assert.ok(installed ?? !process.env['CI'], 'moto is missing and cannot be installed; in CI it must be there')
  return installed
}

/** The aws command: beside moto's Python, where it is installed when it is missing, or on the PATH. */
export function findAwsCommand({ python }: MotoProgram): string | undefined {
  const known = [join(dirname(python), 'aws'), ...onPath('aws')]
  const found = () => known.find((path) => existsSync(path))
  if (found() === undefined) runs(python, '-m', 'pip', 'install', '-q', 'awscli')
  assert.ok(found() ?? !process.env['CI'], 'the aws command is missing and cannot be installed; in CI it must be there')
  return found()
}

function programAt(server: string): readonly MotoProgram[] {
  for (const python of [join(dirname(server), 'python3'), 'python3']) {
    const { status, stdout } = spawnSync(python, ['-c', 'import sys, botocore; print(sys.executable)'], {
      encoding: 'utf8',
    })
    if (status === 0) return [{ server, python: stdout.trim() }]
  }
  return []
}

const onPath = (name: string): readonly string[] =>
  (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name))

const runs = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore', timeout: 300_000 }).status === 0

export async function startMoto(program: MotoProgram): Promise<Moto> {
  const port = await freePort()
  const child = spawn(program.server, ['-H', '127.0.0.1', '-p', String(port)], {
    cwd: tmpdir(),
    // Without it moto has none of AWS's own policies, and attaching one fails.
    env: { ...process.env, MOTO_IAM_LOAD_MANAGED_POLICIES: 'true' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaints = ''
  child.stderr.on('data', (data: Buffer) => {
    complaints = (complaints + data.toString()).slice(-4000)
  })
  const motoUrl = `http://127.0.0.1:${port}`
  const deadline = Date.now() + 180_000
  const answers = () =>
    fetch(`${motoUrl}/moto-api/data.json`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await answers())) {
    assert.ok(child.exitCode === null && Date.now() < deadline, `moto does not answer: ${complaints}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const standIn = await startAwsStandIn(motoUrl)
  const { url } = standIn
  const rest: Moto['rest'] = (service, region, method, path, body) =>
    fetch(`${url}${path}`, { method, headers: headersFor(service, region), ...(body === undefined ? {} : { body }) })
  return {
    ...program,
    url,
    standIn,
    rest,
    headersFor,
    async query(service, region, parameters) {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { ...headersFor(service, region), 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(parameters),
      })
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
      return text
    },
    async secretOf(accessKeyId) {
      const { iam } = (await (await fetch(`${url}/moto-api/data.json`)).json()) as MotoData
      return iam.AccessKey.find((key) => key.access_key_id === accessKeyId)?.secret_access_key
    },
    async stop() {
      await standIn.close()
      await stop(child)
    },
  }
}

interface MotoData {
  readonly iam: {
    readonly AccessKey: readonly { readonly access_key_id: string; readonly secret_access_key: string }[]
  }
}

/** moto reads the service and the region from the scope of the signature, and does not check the rest. */
const headersFor = (service: string, region: string): Record<string, string> => ({
  authorization: `AWS4-HMAC-SHA256 Credential=testing/20260101/${region}/${service}/aws4_request, SignedHeaders=host, Signature=0`,
})

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
