// A network as companies have them: two hosts that only a proxy reaches, with certificates of a private authority. One serves Git
// repositories to those who know a password, the other is a mirror of provider packages.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createProxy, type RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority, issueCertificate } from '#lib'
import { zip } from './zip.ts'

export const GIT_HOST = 'git.internal.example'
export const MIRROR_HOST = 'mirror.internal.example'

export interface PrivateNetwork {
  /** URL of the proxy. */
  readonly proxy: string
  /** The authority, in PEM. */
  readonly ca: string
  /** `host/path` of everything that was served. */
  readonly served: string[]
  /** Answers to requests without the password. */
  readonly refused: string[]
  close(): Promise<void>
}

interface NetworkOptions {
  readonly user: string
  readonly password: string
  /** The module in the repository `greeting.git`. */
  readonly module: string
  /** `host/namespace/type` of the provider, and the program in its package. */
  readonly provider: { readonly source: string; readonly program: string }
}

const VERSION = '1.0.0'

export async function startPrivateNetwork(options: NetworkOptions): Promise<PrivateNetwork> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-network-'))
  makeRepository(join(folder, GIT_HOST), options.module)
  makeMirror(join(folder, MIRROR_HOST), options.provider)
  const authority = createAuthority({ name: 'company authority' })
  const { certificate: cert, key } = issueCertificate(authority, { names: [GIT_HOST, MIRROR_HOST], days: 1 })
  const served: string[] = []
  const refused: string[] = []
  const wanted = `Basic ${Buffer.from(`${options.user}:${options.password}`).toString('base64')}`
  const answer: RequestListener = (request, response) => {
    const host = request.headers.host?.split(':')[0] ?? ''
    const path = `${host}${new URL(request.url ?? '/', 'https://x').pathname}`
    if (host === GIT_HOST && request.headers.authorization !== wanted) {
      refused.push(path)
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    try {
      const body = readFileSync(join(folder, path))
      served.push(path)
      response.writeHead(200, path.endsWith('.json') ? { 'content-type': 'application/json' } : {}).end(body)
    } catch {
      response.writeHead(404).end()
    }
  }
  const hosts = createServer({ cert, key }, answer)
  const sockets = new Set<Socket>()
  const proxy = createProxy((_, response) => response.writeHead(403).end())
  await new Promise<void>((resolve) => hosts.listen(0, '127.0.0.1', resolve))
  const { port } = hosts.address() as AddressInfo
  proxy.on('connect', (request, client: Socket) => {
    const host = request.url?.split(':')[0] ?? ''
    if (host !== GIT_HOST && host !== MIRROR_HOST) {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
      return
    }
    const server = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      server.pipe(client).pipe(server)
    })
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return {
    proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    ca: authority.certificate,
    served,
    refused,
    async close() {
      for (const socket of sockets) socket.destroy()
      hosts.closeAllConnections()
      await Promise.all([hosts, proxy].map((server) => new Promise((resolve) => server.close(resolve))))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Served as files, which Git reads without a program on the other side. */
function makeRepository(folder: string, module: string): void {
  const work = join(folder, 'work')
  const bare = join(folder, 'greeting.git')
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, 'main.tf'), module)
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
      cwd: work,
      stdio: 'ignore',
    })
  git('init', '--initial-branch=main')
  git('add', 'main.tf')
  git('commit', '--message=first')
  git('clone', '--bare', work, bare)
  git('--git-dir', bare, 'update-server-info')
}

function makeMirror(folder: string, { source, program }: NetworkOptions['provider']): void {
  const target = join(folder, 'providers', source)
  mkdirSync(target, { recursive: true })
  const type = source.split('/').at(-1)
  const platform = `${process.platform}_${process.arch === 'x64' ? 'amd64' : process.arch}`
  const archives = { [platform]: { url: 'package.zip' } }
  const data = Buffer.from(program)
  writeFileSync(join(target, 'index.json'), JSON.stringify({ versions: { [VERSION]: {} } }))
  writeFileSync(join(target, `${VERSION}.json`), JSON.stringify({ archives }))
  writeFileSync(join(target, 'package.zip'), zip([{ name: `terraform-provider-${type}_v${VERSION}`, data }]))
}
