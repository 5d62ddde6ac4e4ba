// Turns a broken connection into one error whose hint names the kubeconfig field to look at. Pure.

import { KubeError } from '../port.ts'
import type { Asked } from './answers.ts'

interface Advice {
  readonly message: string
  readonly hint: string
}

const OTHER_HOST: Advice = {
  message: 'shows a certificate of another host',
  hint: 'set clusters[].cluster.server to a name in the certificate, or clusters[].cluster.tls-server-name to that name',
}
const UNKNOWN_CA: Advice = {
  message: 'shows a certificate of an unknown authority',
  hint: 'set clusters[].cluster.certificate-authority-data to the certificate authority of this server',
}
const EXPIRED: Advice = {
  message: 'shows a certificate that is not valid now',
  hint: 'renew the certificate of the server and check the clock of this machine',
}
const CLIENT_REFUSED: Advice = {
  message: 'refused our client certificate',
  hint: 'check users[].user.client-certificate-data and client-key-data: expired, or of another cluster',
}
const BAD_CLIENT: Advice = {
  message: 'could not be asked: the client certificate or its key cannot be read',
  hint: 'check that users[].user.client-certificate-data and client-key-data are PEM and belong together',
}
const NOT_TLS: Advice = {
  message: 'does not speak TLS',
  hint: 'check scheme and port of clusters[].cluster.server',
}

const ADVICE: Readonly<Record<string, Advice>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: OTHER_HOST,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  CERT_SIGNATURE_FAILURE: UNKNOWN_CA,
  CERT_UNTRUSTED: UNKNOWN_CA,
  CERT_HAS_EXPIRED: EXPIRED,
  CERT_NOT_YET_VALID: EXPIRED,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: CLIENT_REFUSED,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: CLIENT_REFUSED,
  ERR_SSL_SSL_ALERT_BAD_CERTIFICATE: CLIENT_REFUSED,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: CLIENT_REFUSED,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: CLIENT_REFUSED,
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: BAD_CLIENT,
  ERR_OSSL_PEM_NO_START_LINE: BAD_CLIENT,
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NOT_TLS,
  EPROTO: NOT_TLS,
  ECONNREFUSED: {
    message: 'refused the connection',
    hint: 'start the API server, or correct clusters[].cluster.server',
  },
  ENOTFOUND: { message: 'has a host name that cannot be resolved', hint: 'correct clusters[].cluster.server' },
  EAI_AGAIN: { message: 'has a host name that cannot be resolved now', hint: 'check the name server of this machine' },
  EHOSTUNREACH: { message: 'cannot be reached from here', hint: 'check network, VPN and firewall' },
  ENETUNREACH: { message: 'cannot be reached from here', hint: 'check network, VPN and firewall' },
  ETIMEDOUT: {
    message: 'did not answer in time',
    hint: 'check network, VPN and firewall, and whether the server is alive',
  },
}

export function toNetworkFault(error: unknown, asked: Asked): KubeError {
  if (error instanceof KubeError) return error
  const code = codeOf(error)
  if (code?.startsWith('HPE_')) {
    return new KubeError('BadAnswer', `${asked.what}: ${asked.address} does not speak HTTP (${code})`, {
      at: asked.address,
      hint: `check scheme and port of clusters[].cluster.server in ${asked.origin}`,
      cause: error,
    })
  }
  const advice = code === undefined ? undefined : ADVICE[code]
  const message = advice?.message ?? 'closed the connection'
  // Whatever was asked, the cause is the same: the message names the server alone.
  return new KubeError('Unreachable', `${asked.address} ${message}${code ? ` (${code})` : ''}`, {
    at: asked.address,
    hint: `${advice?.hint ?? 'repeat; when it stays, check that the server is alive'} (${asked.origin})`,
    cause: error,
  })
}

export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : undefined
}
