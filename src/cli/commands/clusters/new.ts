// Writes the manifest of a new cluster: on a terminal it asks for what no flag gives.
import { existsSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { checkManifests, readManifests, toCaptError } from '#api'
import { defaultKubernetes } from '#catalog'
import { CaptError } from '#lib'
import { type Arguments, type Command, EXIT, type Io } from '../../command.ts'
import { CHECKS, clusterManifest, vpcOf } from '../../new/manifest.ts'

export const command: Command = {
  name: 'new',
  summary: 'Write the manifest of a new cluster',
  positionals: '[NAME]',
  examples: {
    'new': 'Ask a few questions, then write NAME.yaml',
    'new shop --region eu-west-1 --karpenter': 'Without questions',
    'new shop --region eu-west-1 --vpc vpc-0123abcd --file - | capt apply -f -': 'Into a VPC that exists',
  },
  options: {
    region: { type: 'string', value: 'REGION', about: 'AWS region; $AWS_REGION otherwise.', check: CHECKS.region },
    'kubernetes-version': {
      type: 'string',
      value: 'VERSION',
      about: 'Minor version; the newest that the add-ons support otherwise.',
      check: CHECKS.version,
    },
    vpc: {
      type: 'string',
      value: 'CIDR|ID',
      about: 'Address block of a new VPC, or the id of one that exists; 10.0.0.0/16 otherwise.',
      check: CHECKS.vpc,
    },
    karpenter: { type: 'boolean', about: 'Install Flux and Karpenter, so that pods get nodes.' },
    file: { type: 'string', value: 'FILE', about: 'Where to write it, - for standard output; NAME.yaml otherwise.' },
    force: { type: 'boolean', about: 'Write over a file that exists.' },
  },
  async run(args, io) {
    const { name, text } = await compose(args, io)
    const [fault, ...more] = checkManifests(readManifests(text, 'the new manifest'))
    if (fault) throw toCaptError(fault, more.length)
    const file = typeof args.values['file'] === 'string' ? args.values['file'] : `${name}.yaml`
    if (file === '-') {
      io.stdout.write(text)
      return EXIT.fine
    }
    const path = resolve(io.cwd, file)
    if (existsSync(path) && args.values['force'] !== true)
      throw new CaptError('CAPT_FILE_EXISTS', `${file} exists already; nothing was written`, {
        hint: 'add --force to write over it, or name another one: --file FILE',
      })
    writeFileSync(path, text)
    io.stdout.write(`Wrote ${file}. Next: capt doctor, then capt apply -f ${file} --wait 30m\n`)
    return EXIT.fine
  },
}

async function compose({ values, positionals }: Arguments, io: Io) {
  const lines = linesOf(io.stdin)
  const given = (name: string) => (typeof values[name] === 'string' ? (values[name] as string) : undefined)
  const canAsk = io.stderr.isTerminal
  /** Asked for only when something that has no default is missing. */
  const isAsking = canAsk && (positionals[0] === undefined || (given('region') ?? io.env['AWS_REGION']) === undefined)
  const ask = async (question: string, fallback: string | undefined, check: (text: string) => string | undefined) => {
    for (;;) {
      io.stderr.write(`${question}${fallback === undefined ? '' : ` [${fallback}]`}: `)
      const { value, done } = await lines.next()
      if (done) throw new CaptError('CAPT_USAGE', `${question} has no answer; nothing was written`)
      const answer = value === '' ? (fallback ?? '') : value
      const fault = check(answer)
      if (fault === undefined) return answer
      io.stderr.write(`  ${fault}\n`)
    }
  }
  const read = async (what: Question) => {
    const flag = what.given
    if (flag !== undefined) {
      const fault = what.check(flag)
      if (fault !== undefined) throw new CaptError('CAPT_USAGE', `${what.title} cannot be "${flag}"`, { hint: fault })
      return flag
    }
    if (isAsking) return await ask(what.title, what.fallback, what.check)
    if (what.fallback !== undefined) return what.fallback
    throw new CaptError('CAPT_USAGE', `new needs ${what.missing}`, { hint: 'capt new shop --region eu-west-1' })
  }
  const { name: isName, region: isRegion, version: isVersion, vpc: isVpc } = CHECKS
  const name = await read({ title: 'Name of the cluster', given: positionals[0], check: isName, missing: 'a name' })
  const region = await read({
    title: 'AWS region',
    given: given('region'),
    fallback: io.env['AWS_REGION'] || undefined,
    check: isRegion,
    missing: '--region',
  })
  const newest = defaultKubernetes()
  const version = await read({
    title: 'Kubernetes version',
    given: given('kubernetes-version'),
    fallback: newest,
    check: isVersion,
  })
  const vpc = await read({
    title: 'Address block of a new VPC, or the id of one that exists',
    given: given('vpc'),
    fallback: '10.0.0.0/16',
    check: isVpc,
  })
  const isYesNo = (text: string) => (/^(y(es)?|no?)$/i.test(text) ? undefined : 'y or n')
  const karpenter =
    values['karpenter'] === true || (isAsking && /^y/i.test(await ask('Install Flux and Karpenter', 'y', isYesNo)))
  return { name, text: clusterManifest({ name, region, version, vpc: vpcOf(vpc), karpenter }) }
}

interface Question {
  readonly title: string
  readonly given: string | undefined
  readonly fallback?: string | undefined
  readonly check: (text: string) => string | undefined
  /** What to name when there is neither a flag nor a default. */
  readonly missing?: string
}

async function* linesOf(stdin: Io['stdin']): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of stdin) {
    rest += Buffer.from(chunk).toString('utf8')
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield line.trim()
  }
  if (rest !== '') yield rest.trim()
}
