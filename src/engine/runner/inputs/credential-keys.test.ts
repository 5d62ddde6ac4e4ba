import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { credentialRefusals, ENVIRONMENT_RULES, refusalOf } from './credential-keys.ts'

const ACCEPTED: readonly (readonly [key: string, text: string])[] = [
  ['AWS_ACCESS_KEY_ID', 'AK'],
  ['AWS_SECRET_ACCESS_KEY', 's'],
  ['AWS_SESSION_TOKEN', 's'],
  ['AWS_REGION', 'eu-central-1'],
  ['AWS_PROFILE', 'one'],
  ['AWS_ROLE_ARN', 'arn:aws:iam::1:role/r'],
  ['AWS_ENDPOINT_URL', 'http://127.0.0.1:1'],
  ['AWS_ENDPOINT_URL_STS', 'http://127.0.0.1:1'],
  ['web-identity-token', 'eyJ'],
  ['credentials', '[default]\naws_access_key_id = a\naws_secret_access_key=b\n# a comment\n'],
  ['config', '[profile one] ; the first\r\nregion = x\r\nrole_arn: arn\r\ns3 =\r\n  addressing_style = path\r\n'],
  ['config', '[services local]\nsts =\n  endpoint_url = http://127.0.0.1:1\n'],
  ['GOOGLE_CREDENTIALS', '{"type":"service_account"}'],
  ['GOOGLE_PROJECT', 'p'],
  ['ARM_CLIENT_SECRET', 's'],
  ['HCLOUD_TOKEN', 's'],
  ['TF_VAR_password', 's'],
  ['TF_TOKEN_app_terraform_io', 's'],
]

const REFUSED: readonly (readonly [key: string, text: string, why: RegExp])[] = [
  ['evil.tf', 'resource "x" "y" {}', /code comes from templates only/],
  ['evil.tf.json', '{}', /code comes from templates only/],
  ['evil.tofu', '', /code comes from templates only/],
  ['configuration', 'provider "x" {}', /code comes from templates only/],
  ['terraform.tfvars', 'a = 1', /variables belong to/],
  ['x.auto.tfvars.json', '{}', /variables belong to/],
  ['terraform.tfstate', '{}', /state is never taken/],
  ['errored.tfstate', '{}', /state is never taken/],
  ['.terraformrc', '', /files may be/],
  ['creds.ini', '', /files may be/],
  ['toString', '', /files may be/],
  ['__proto__', '', /files may be/],
  ['LD_PRELOAD', '/x.so', /known provider/],
  ['PATH', '/x', /known provider/],
  ['HOME', '/x', /known provider/],
  ['GIT_SSH_COMMAND', 'sh -c x', /known provider/],
  ['HTTPS_PROXY', 'http://x', /known provider/],
  ['TF_CLI_ARGS', '-x', /known provider/],
  ['TF_CLI_CONFIG_FILE', '/x', /names a file/],
  ['TF_REATTACH_PROVIDERS', '{}', /known provider/],
  ['TF_LOG_PATH', '/x', /names a file/],
  ['AWS_CONFIG_FILE', '/x', /names a file/],
  ['AWS_SHARED_CREDENTIALS_FILE', '/x', /names a file/],
  ['AWS_WEB_IDENTITY_TOKEN_FILE', '/var/run/secrets/token', /names a file/],
  ['AWS_CONTAINER_CREDENTIALS_FULL_URI', 'http://x', /known provider/],
  ['AWS_CA_BUNDLE', '/x', /names a file/],
  ['GOOGLE_APPLICATION_CREDENTIALS', '/x', /names a file/],
  ['GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES', '1', /known provider/],
  ['GOOGLE_CREDENTIALS', '/etc/passwd', /as JSON text/],
  ['GOOGLE_CREDENTIALS', '{"type":"external_account"}', /as JSON text/],
  ['ARM_CLIENT_CERTIFICATE_PATH', '/x', /names a file/],
  ['KUBE_CONFIG_PATH', '/x', /names a file/],
  ['KUBECONFIG', '/x', /known provider/],
  ['credentials', '[a]\ncredential_process = sh -c x', /credential_process starts a program/],
  ['config', '[default]\n  Credential_Process=sh', /credential_process starts a program/],
  ['config', '[default] credential_process = sh', /setting that is not accepted/],
  ['config', '# x\rcredential_process = sh', /starts a program/],
  ['config', '[a]\nweb_identity_token_file = /x', /line 2 has a setting/],
  ['config', '[a]\nca_bundle = /x', /line 2 has a setting/],
  ['config', '[a]\nwhatever', /line 2 is neither/],
  ['config', '[a]\ncredential_process =\n  sh -c x', /starts a program/],
  ['config', '[a]\nsts =\n  sh -c x=y', /line 3 has a setting/],
]

describe('A Secret with credentials', () => {
  for (const [key, text] of ACCEPTED) it(`may contain ${key}`, () => assert.equal(refusalOf(key, text), undefined))

  for (const [key, text, why] of REFUSED)
    it(`may not contain ${key} ${JSON.stringify(text)}`, () => {
      const reason = refusalOf(key, text)
      assert.match(reason ?? '', why)
    })

  it('is refused by key, never by value', () => {
    const encode = (text: string) => Buffer.from(text).toString('base64')
    const found = credentialRefusals({
      'b.tf': encode('hunter2'),
      config: encode('hunter2 = 1'),
      AWS_REGION: encode('x'),
    })
    assert.equal(found.length, 2)
    assert.ok(found.every((text) => !text.includes('hunter2')))
    assert.match(found[0]!, /^b\.tf \(/)
  })

  it('follows rules that each have a reason', () => {
    for (const { names, provider, why } of ENVIRONMENT_RULES) {
      assert.ok(why.length > 10 && provider.length > 2)
      assert.match(names.source, /^\^\(.*\)\$$/, 'a rule names whole variables')
    }
  })
})
