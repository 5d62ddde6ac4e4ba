import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { redact } from './redact.ts'

describe('redaction', () => {
  for (const [what, text, expected] of [
    ['a bearer token', 'Authorization: Bearer abcdefghijk', 'Authorization: Bearer …redacted…'],
    ['a password in an address', 'dial https://me:hunter2@host/x', 'dial https://me:…redacted…@host/x'],
    ['an access key', 'user AKIAABCDEFGHIJKLMNOP is', 'user …redacted… is'],
    ['an assignment', 'aws_secret_access_key = "abc/def"', 'aws_secret_access_key = …redacted…'],
    ['a JSON field', '{"db_password":"x y","name":"demo"}', '{"db_password":…redacted…,"name":"demo"}'],
    ['an EKS token', 'got k8s-aws-v1.aHR0cHM6Ly9', 'got …redacted…'],
    ['a web token', 'got eyJhbGciOiJSUzI1NiJ9.eyJzdWIi.sig_1', 'got …redacted…'],
    ['a signed address', 'GET /?X-Amz-Signature=0af&x=1', 'GET /?X-Amz-Signature=…redacted…&x=1'],
    ['a private key', 'key -----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY----- end', 'key …redacted… end'],
  ] as const) {
    it(`masks ${what}`, () => assert.equal(redact(text), expected))
    it(`leaves ${what} that is masked as it is, with what follows`, () =>
      assert.equal(redact(`${expected}: no.`), `${expected}: no.`))
  }

  for (const text of [
    'spec.token: Required value',
    'No WorkspaceTemplate eks-token-template in namespace default',
    'secret default/demo-kubeconfig not found',
    'Unexpected token < in JSON at position 0',
  ]) {
    it(`leaves "${text}" readable`, () => assert.equal(redact(text), text))
  }
})
