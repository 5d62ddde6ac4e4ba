// What a Secret with credentials may contain: a closed list, as data. Environment variables and files that the
// credentials of known providers need are accepted. Everything else is refused: a file of the root module, a path on the
// runner's machine or the name of a program would let the author of a Secret run code, or use credentials of the manager.

interface EnvironmentRule {
  readonly names: RegExp
  readonly provider: string
  /** Why these names are safe to take from a tenant. */
  readonly why: string
}

const names = (...all: readonly string[]): RegExp => new RegExp(`^(${all.join('|')})$`)

const KEYS_AND_TOKENS = 'keys, tokens and settings as text; names of files and programs are left out'

/** Environment variables of known providers. Variables that name a file or a program on the runner are left out. */
export const ENVIRONMENT_RULES: readonly EnvironmentRule[] = [
  {
    provider: 'AWS',
    names: names(
      'AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)',
      'AWS_(DEFAULT_)?REGION',
      'AWS_PROFILE',
      'AWS_ROLE_(ARN|SESSION_NAME)',
      'AWS_ENDPOINT_URL(_[A-Z0-9_]+)?',
      'AWS_(STS_REGIONAL_ENDPOINTS|USE_FIPS_ENDPOINT|USE_DUALSTACK_ENDPOINT)',
      'AWS_(MAX_ATTEMPTS|RETRY_MODE|SDK_LOAD_CONFIG|EC2_METADATA_DISABLED)',
    ),
    why: 'keys, region, profile of the same Secret, role to assume, endpoints',
  },
  {
    provider: 'Google Cloud',
    names: names(
      'GOOGLE_(CREDENTIALS|OAUTH_ACCESS_TOKEN|IMPERSONATE_SERVICE_ACCOUNT)',
      '(GOOGLE|GCLOUD)_(PROJECT|REGION|ZONE)',
      'GOOGLE_(CLOUD_PROJECT|BILLING_PROJECT)',
    ),
    why: 'the key as JSON text, a token, the project',
  },
  {
    provider: 'Azure',
    names: names(
      'ARM_(CLIENT_ID|CLIENT_SECRET|TENANT_ID|SUBSCRIPTION_ID|ENVIRONMENT)',
      'ARM_(CLIENT_CERTIFICATE|CLIENT_CERTIFICATE_PASSWORD|OIDC_TOKEN|USE_OIDC)',
      'ARM_(ACCESS_KEY|SAS_TOKEN)',
    ),
    why: KEYS_AND_TOKENS,
  },
  {
    provider: 'OpenStack',
    names: names(
      'OS_(AUTH_URL|USERNAME|USER_ID|PASSWORD|TOKEN|REGION_NAME)',
      'OS_(PROJECT|TENANT)_(NAME|ID)',
      'OS_((USER|PROJECT)_)?DOMAIN_(NAME|ID)',
      'OS_APPLICATION_CREDENTIAL_(ID|NAME|SECRET)',
    ),
    why: KEYS_AND_TOKENS,
  },
  {
    provider: 'Kubernetes and Helm',
    names: names('KUBE_(HOST|TOKEN|USER|PASSWORD)', 'KUBE_(CLUSTER_CA_CERT|CLIENT_CERT|CLIENT_KEY)_DATA'),
    why: 'address, token and certificates as text; never a kubeconfig, which may name a program',
  },
  { provider: 'Vault', names: names('VAULT_(ADDR|TOKEN|NAMESPACE)'), why: KEYS_AND_TOKENS },
  {
    provider: 'Cloudflare',
    names: names('CLOUDFLARE_(API_TOKEN|API_KEY|API_USER_SERVICE_KEY|EMAIL|ACCOUNT_ID)'),
    why: KEYS_AND_TOKENS,
  },
  {
    provider: 'DigitalOcean',
    names: names('DIGITALOCEAN_(ACCESS_)?TOKEN', 'SPACES_(ACCESS_KEY_ID|SECRET_ACCESS_KEY)'),
    why: KEYS_AND_TOKENS,
  },
  { provider: 'Hetzner Cloud', names: names('HCLOUD_TOKEN'), why: KEYS_AND_TOKENS },
  { provider: 'Linode', names: names('LINODE_TOKEN'), why: KEYS_AND_TOKENS },
  {
    provider: 'Alibaba Cloud',
    names: names('(ALICLOUD|ALIBABA_CLOUD)_(ACCESS_KEY(_ID|_SECRET)?|SECRET_KEY|SECURITY_TOKEN|REGION)'),
    why: KEYS_AND_TOKENS,
  },
  { provider: 'vSphere', names: names('VSPHERE_(USER|PASSWORD|SERVER)'), why: KEYS_AND_TOKENS },
  { provider: 'GitHub', names: names('GITHUB_(TOKEN|OWNER|BASE_URL)'), why: KEYS_AND_TOKENS },
  { provider: 'GitLab', names: names('GITLAB_(TOKEN|BASE_URL)'), why: KEYS_AND_TOKENS },
  { provider: 'Datadog', names: names('(DD|DATADOG)_(API_KEY|APP_KEY|HOST)'), why: KEYS_AND_TOKENS },
  { provider: 'PagerDuty', names: names('PAGERDUTY_(USER_)?TOKEN'), why: KEYS_AND_TOKENS },
  {
    provider: 'Grafana',
    names: names('GRAFANA_(AUTH|URL)', 'GRAFANA_CLOUD_ACCESS_POLICY_TOKEN'),
    why: KEYS_AND_TOKENS,
  },
  {
    provider: 'Terraform',
    names: names('TF_VAR_[A-Za-z_][A-Za-z0-9_-]*'),
    why: 'the value of a variable that the template declares: data, as spec.values is',
  },
  {
    provider: 'Terraform',
    names: names('TF_TOKEN_[A-Za-z0-9_-]+'),
    why: 'a token for a registry; which modules and providers are fetched is up to the template',
  },
]

/** Names whose values are no secrets: regions and roles stay readable in logs. */
export const PUBLIC_NAMES =
  /^[A-Z]+_(\w*_)?(REGION|ZONE|PROJECT|PROFILE|ROLE_ARN|ROLE_SESSION_NAME|ENDPOINTS?|ENDPOINT_URL\w*|MAX_ATTEMPTS|RETRY_MODE|LOAD_CONFIG|METADATA_DISABLED|ENVIRONMENT|USE_OIDC|ADDR|OWNER)$/

/** Files, by their key, with the environment variable that names them to the provider. */
export const CREDENTIAL_FILES: Readonly<Record<string, string>> = {
  credentials: 'AWS_SHARED_CREDENTIALS_FILE',
  config: 'AWS_CONFIG_FILE',
  'web-identity-token': 'AWS_WEB_IDENTITY_TOKEN_FILE',
}

/**
 * Settings of the AWS files `credentials` and `config`. Left out are those that start a program (`credential_process`)
 * or read a file of the runner (`web_identity_token_file`, `ca_bundle`, `sso_…`).
 */
const AWS_SETTINGS = names(
  'aws_(access_key_id|secret_access_key|session_token|account_id)',
  'region|output|endpoint_url|services?',
  'role_arn|source_profile|external_id|role_session_name|duration_seconds',
  'sts_regional_endpoints|use_fips_endpoint|use_dualstack_endpoint|ignore_configured_endpoint_urls',
  'max_attempts|retry_mode|defaults_mode|cli_pager|parameter_validation',
  's3|addressing_style|use_accelerate_endpoint|s3_[a-z0-9_]+|request_checksum_calculation|response_checksum_validation',
)

const GOOGLE_KEY_TYPES: readonly unknown[] = ['service_account', 'authorized_user']

/** Why a key of a Secret with credentials is refused; undefined when it is accepted. The reason never names a value. */
export function refusalOf(key: string, text: string): string | undefined {
  if (key === 'credentials' || key === 'config') return awsFileRefusal(text)
  if (Object.hasOwn(CREDENTIAL_FILES, key)) return undefined
  if (ENVIRONMENT_RULES.some((rule) => rule.names.test(key)))
    return key === 'GOOGLE_CREDENTIALS' ? googleRefusal(text) : undefined
  if (key === 'configuration' || /\.(tf|tofu|tf\.json|tofu\.json)$/.test(key))
    return 'Terraform code comes from templates only: write provider blocks into the WorkspaceTemplate'
  if (/\.tfvars(\.json)?$/.test(key))
    return 'variables belong to spec.variables, spec.values or varFiles of the template'
  if (/tfstate/.test(key)) return 'state is never taken from credentials'
  if (/(_FILE|_PATH|FILE_PATH|_CONFIG|APPLICATION_CREDENTIALS|_BUNDLE|_CACERT)$/.test(key))
    return 'it names a file on the machine of the run; put the contents into the Secret instead'
  if (/^[A-Z_][A-Z0-9_]*$/.test(key)) return 'it is not an environment variable of the credentials of a known provider'
  return `files may be ${Object.keys(CREDENTIAL_FILES).join(', ')} only`
}

/** The keys of a Secret that are refused, each with its reason, sorted. */
export function credentialRefusals(data: Readonly<Record<string, string>> | undefined): readonly string[] {
  return Object.entries(data ?? {})
    .flatMap(([key, encoded]) => {
      const why = refusalOf(key, Buffer.from(encoded, 'base64').toString('utf8'))
      return why === undefined ? [] : [`${key} (${why})`]
    })
    .sort()
}

function awsFileRefusal(text: string): string | undefined {
  for (const [i, line] of text.split(/\r\n|\r|\n/).entries()) {
    const content = line.trim()
    if (content === '' || /^[#;]/.test(content) || /^\[[^\]]*\]\s*([#;].*)?$/.test(content)) continue
    const match = /^([^=:]*?)\s*[=:]/.exec(content)
    if (!match) return `line ${i + 1} is neither a section nor a setting`
    const setting = match[1]!.toLowerCase()
    if (setting === 'credential_process') return 'the setting credential_process starts a program'
    // The name of a service, with its settings in the lines below.
    const isHeading = /^[a-z0-9_]+\s*=$/.test(content)
    if (!AWS_SETTINGS.test(setting) && !isHeading)
      return `line ${i + 1} has a setting that is not accepted: keys, region, role and endpoints are`
  }
  return undefined
}

/** An external account may name a file or a program of the runner. */
function googleRefusal(text: string): string | undefined {
  try {
    const { type } = JSON.parse(text) as { type?: unknown }
    if (GOOGLE_KEY_TYPES.includes(type)) return undefined
  } catch {
    // A path, most likely.
  }
  return 'it must be the key of a service account as JSON text'
}
