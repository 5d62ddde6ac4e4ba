import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { connect, createServer } from 'node:tls'
import { createAuthority, issueCertificate } from './certificate.ts'

const authority = createAuthority()
const leaf = issueCertificate(authority, { names: ['localhost', 'capt.test'], ips: ['127.0.0.1', '::1'], days: 30 })

describe('certificates of our own', () => {
  it('let a TLS client that trusts the authority connect by name and by address', async () => {
    const server = createServer({ cert: leaf.certificate, key: leaf.key }, (socket) => socket.end('hello'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      for (const servername of ['localhost', 'capt.test', '']) {
        const port = (server.address() as AddressInfo).port
        const socket = connect({ host: '127.0.0.1', port, ca: authority.certificate, servername })
        const [data] = (await once(socket, 'data')) as [Buffer]
        assert.equal(data.toString(), 'hello')
        assert.equal(socket.authorized, true)
      }
    } finally {
      server.close()
    }
  })

  it('are refused under a name they do not carry, and by a client that trusts another authority', async () => {
    const server = createServer({ cert: leaf.certificate, key: leaf.key }, (socket) => socket.end())
    server.on('tlsClientError', () => undefined)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const port = (server.address() as AddressInfo).port
    const attempt = async (ca: string, servername: string) => {
      const socket = connect({ host: '127.0.0.1', port, ca, servername })
      const code = await new Promise<string>((resolve) => {
        socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
        socket.on('secureConnect', () => resolve('connected'))
      })
      socket.destroy()
      return code
    }
    try {
      assert.equal(await attempt(authority.certificate, 'elsewhere.test'), 'ERR_TLS_CERT_ALTNAME_INVALID')
      assert.match(await attempt(createAuthority({ name: 'other' }).certificate, 'localhost'), /UNABLE_TO_|SELF_SIGNED/)
    } finally {
      server.close()
    }
  })

  const openssl = spawnSync('openssl', ['version']).status === 0
  const withOpenssl = openssl ? it : () => undefined
  withOpenssl('are understood by openssl, which checks signature, purpose and strict form', () => {
    const dir = mkdtempSync(join(tmpdir(), 'capt-certificate-'))
    try {
      writeFileSync(join(dir, 'ca.pem'), authority.certificate)
      writeFileSync(join(dir, 'leaf.pem'), leaf.certificate)
      for (const purpose of ['sslserver', 'sslclient']) {
        const args = ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', 'ca.pem', 'leaf.pem']
        assert.equal(execFileSync('openssl', args, { cwd: dir, encoding: 'utf8' }).trim(), 'leaf.pem: OK')
      }
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it('carry the user when they are made for a client', () => {
    const { certificate } = issueCertificate(authority, { commonName: 'admin', days: 1 })
    const read = new X509Certificate(certificate)
    assert.equal(read.subject, 'CN=admin')
    assert.equal(read.subjectAltName, undefined)
    assert.equal(read.checkIssued(new X509Certificate(authority.certificate)), true)
    assert.equal(read.verify(new X509Certificate(authority.certificate).publicKey), true)
    assert.equal(new X509Certificate(authority.certificate).ca, true)
    assert.equal(read.ca, false)
  })

  it('write every address form, and validity beyond 2049', () => {
    const { certificate } = issueCertificate(authority, {
      names: ['a.test'],
      ips: ['10.0.0.1', '::1', '2001:db8::5:0', 'fe80:1:2:3:4:5:6:7'],
      days: 30 * 365,
      now: Date.UTC(2026, 0, 2, 3, 4, 5),
    })
    const read = new X509Certificate(certificate)
    assert.equal(
      read.subjectAltName,
      'DNS:a.test, IP Address:10.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:2001:DB8:0:0:0:0:5:0, IP Address:FE80:1:2:3:4:5:6:7',
    )
    assert.equal(new Date(read.validFrom).toISOString(), '2026-01-02T02:04:05.000Z')
    assert.equal(new Date(read.validTo).getUTCFullYear(), 2055)
  })

  it('are not made for nobody or for what is no address', () => {
    assert.throws(() => issueCertificate(authority, { days: 1 }), { code: 'CAPT_INVALID' })
    assert.throws(() => issueCertificate(authority, { ips: ['localhost'], days: 1 }), { code: 'CAPT_INVALID' })
  })
})
