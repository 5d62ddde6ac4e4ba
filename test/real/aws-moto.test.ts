// The AWS port against moto, a server that plays AWS's own APIs: the same calls, answered by somebody else's code.
// moto comes from CAPT_MOTO_SERVER, or is installed once beside the other real components when Python is there.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Aws, AwsError, connectAws } from '#aws'
import { systemClock } from '#lib'
import { type Daemon, freePort, PATIENCE_SECONDS, startDaemon, until } from './lab.ts'
import { prove } from './proofs.ts'

const cache =
  process.env['CAPT_REAL_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'capt-real')

function findMoto(): string | undefined {
  const given = process.env['CAPT_MOTO_SERVER']
  if (given) return given
  const folder = join(cache, 'moto')
  const program = join(folder, 'bin', 'moto_server')
  if (existsSync(program)) return program
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { stdio: 'ignore', timeout: 300_000 }).status === 0
  const isMade =
    run('python3', '-m', 'venv', folder) && run(join(folder, 'bin', 'pip'), 'install', '-q', 'moto[server]')
  return isMade && existsSync(program) ? program : undefined
}

const moto = findMoto()
const REGION = 'eu-west-1'
const identity = { keys: { accessKeyId: 'testing', secretAccessKey: 'testing' } }

if (moto === undefined) console.log('moto is not here and cannot be installed; nothing was asked of it')
else
  describe('AWS as moto plays it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'capt-moto-'))
    let daemon: Daemon
    let endpointUrl: string
    let aws: Aws

    before(async () => {
      const port = await freePort()
      daemon = startDaemon('moto', folder, moto, ['-H', '127.0.0.1', '-p', String(port)])
      endpointUrl = `http://127.0.0.1:${port}/`
      const isUp = async () => (await fetch(`${endpointUrl}moto-api/data.json`)).ok
      await until('moto answers', isUp, PATIENCE_SECONDS, daemon)
      aws = connectAws({ clock: systemClock, endpointUrl })
    })
    after(async () => {
      await daemon?.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    it('tells who we are', async () => {
      const { account, arn } = await aws.whoAmI(identity, REGION)
      assert.match(account, /^\d{12}$/)
      assert.match(arn, /^arn:aws:/)
    })

    it('makes the Spot role once, and finds it the second time', async () => {
      assert.equal(await aws.ensureSpotRole(identity, REGION), 'created')
      assert.equal(await aws.ensureSpotRole(identity, REGION), 'present')
    })

    it('lends the credentials of a role, and tokens are signed with them', async () => {
      const role = { arn: 'arn:aws:iam::123456789012:role/capt', externalId: 'x-1' }
      const { arn } = await aws.whoAmI({ ...identity, role }, REGION)
      assert.match(arn, /assumed-role\/capt|role\/capt/)
      const { token, expiresAtMs } = await aws.eksToken({ ...identity, role }, { name: 'demo', region: REGION })
      const url = Buffer.from(token.replace('k8s-aws-v1.', ''), 'base64url').toString()
      assert.match(url, /X-Amz-Credential=ASIA/)
      assert.ok(expiresAtMs > Date.now() + 14 * 60_000)
    })

    it('finds what carries a tag, and nothing else', async () => {
      for (const [workspace, cidr] of [
        ['demo', '10.0.0.0/16'],
        ['other', '10.1.0.0/16'],
      ] as const)
        await makeVpc(endpointUrl, workspace, cidr)
      const found = await aws.findTagged(identity, REGION, { 'capt.appthrust.com/workspace': 'demo' })
      assert.equal(found.length, 1)
      assert.match(found[0]!.arn, /:vpc\/vpc-/)
      assert.equal(found[0]!.tags['capt.appthrust.com/workspace'], 'demo')
      prove('moto', 'moto[server]', 'STS, IAM and tagging calls of the AWS port')
    })

    it('refuses what it does not know with a code, not with a crash', async () => {
      const nowhere = connectAws({ clock: systemClock, endpointUrl: `${endpointUrl}nowhere`, timeoutMs: 5000 })
      await assert.rejects(nowhere.whoAmI(identity, REGION), (error) => error instanceof AwsError)
    })
  })

async function makeVpc(endpointUrl: string, workspace: string, cidr: string): Promise<void> {
  const answer = await fetch(endpointUrl, {
    method: 'POST',
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=testing/20260101/${REGION}/ec2/aws4_request, SignedHeaders=host, Signature=0`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({
      Action: 'CreateVpc',
      Version: '2016-11-15',
      CidrBlock: cidr,
      'TagSpecification.1.ResourceType': 'vpc',
      'TagSpecification.1.Tag.1.Key': 'capt.appthrust.com/workspace',
      'TagSpecification.1.Tag.1.Value': workspace,
    }),
  })
  assert.equal(answer.status, 200)
}
