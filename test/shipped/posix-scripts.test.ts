// Every shell script that ships runs with a POSIX shell and POSIX tools: parsed and run by dash, with a sed that knows no GNU
// extensions, and by busybox. Scripts for bash say so in their first line and do not ship.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { findOnPath, findTool } from '../support/tools.ts'

const ROOT = join(import.meta.dirname, '../..')
const UNSEARCHED = /^(node_modules|dist|\.git|\.github|coverage)$/
/** Run by the project alone, never by a user. */
const BASH = /^(\.ci|test)\//
const dash = findTool('dash')
const busybox = findTool('busybox')

interface Script {
  readonly path: string
  readonly text: string
}

function scriptsBelow(folder: string): readonly Script[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return UNSEARCHED.test(entry.name) ? [] : scriptsBelow(path)
    if (!entry.isFile() || (!entry.name.endsWith('.sh') && entry.name.includes('.'))) return []
    const text = readFileSync(join(ROOT, path), 'utf8')
    return text.startsWith('#!') || entry.name.endsWith('.sh') ? [{ path, text }] : []
  })
}

/** What bash, GNU sed or GNU grep alone understand, and dash may parse all the same. */
const EXTENSIONS: readonly (readonly [string, RegExp])[] = [
  ['[[', /(^|[\s;])\[\[\s/],
  ['==', /\[ [^\]]*[^=!<>]==[^=]/],
  ['function', /^\s*function\s+\w/],
  ['local', /^\s*(local|declare|typeset)\s/],
  ['source', /^\s*source\s/],
  ['here string', /<<</],
  ['&>', /&>/],
  ["$'…'", /(^|[\s=])\$'/],
  ['array', /^\s*\w+=\(/],
  ['substitution', /\$\{\w+(\/\/?|\^|,,|:\d)/],
  ['echo -e', /\becho -[en]/],
  ['pipefail', /set -\w*o pipefail/],
  ['sed -i or -r', /\bsed (-\w* )*-\w*[ir]/],
  ['alternation in a basic expression', /\b(sed|grep) (?!-E)[^|]*'[^']*\\[|+?][^']*'/],
  ['grep -P', /\bgrep -\w*[Po]/],
  ['readlink -f', /\breadlink -f/],
]

function extensionsIn(text: string): readonly string[] {
  const lines = text.split('\n').map((line) => (/^\s*#/.test(line) ? '' : line))
  return lines.flatMap((line, i) =>
    EXTENSIONS.filter(([, pattern]) => pattern.test(line)).map(([name]) => `${i + 1}: ${name}`),
  )
}

const scripts = scriptsBelow('.')
const shipped = scripts.filter(({ path }) => !BASH.test(path))

/** A PATH on which sh is dash and sed knows POSIX alone; everything is busybox where that is given. */
function posixTools(busybox?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'capt-posix-'))
  const sed = findOnPath('sed')!
  if (busybox === undefined) {
    symlinkSync(dash!, join(folder, 'sh'))
    writeFileSync(join(folder, 'sed'), `#!${dash}\nexec ${sed} --posix "$@"\n`, { mode: 0o755 })
  } else
    for (const name of ['sh', 'sed', 'awk', 'grep', 'tr', 'sort', 'readlink', 'base64', 'mktemp'])
      symlinkSync(busybox, join(folder, name))
  return folder
}

describe('a shell script that ships', { skip: !dash && 'dash is not installed' }, () => {
  it('is one of those that are checked here', () => {
    const paths = shipped.map(({ path }) => path).sort()
    assert.deepEqual(paths, ['bin/capt', 'modules/karpenter/scripts/cluster.sh', 'scripts/flux-bundle.sh'])
  })

  it('names the shell that it is written for, and bash only where nothing ships', () => {
    for (const { path, text } of scripts)
      assert.equal(
        text.split('\n')[0],
        BASH.test(path) && text.startsWith('#!/usr/bin/env bash') ? '#!/usr/bin/env bash' : '#!/bin/sh',
        path,
      )
  })

  for (const { path, text } of shipped) {
    it(`is parsed by dash: ${path}`, () => void execFileSync(dash!, ['-n', join(ROOT, path)]))

    it(`uses nothing that bash and GNU tools alone have: ${path}`, () => assert.deepEqual(extensionsIn(text), []))
  }

  it('would be refused with each extension that is searched for', () => {
    for (const line of [
      'if [[ -n $x ]]; then',
      '[ "$a" == b ]',
      'function f {',
      '  local x=1',
      'source ./x',
      'cat <<<"$x"',
      'run &>/dev/null',
      "x=$'a'",
      'x=(a b)',
      'echo "${x//a/b}"',
      'echo -e x',
      'set -euo pipefail',
      "sed -i 's/a/b/' file",
      "sed -n 's/a\\|b/c/p'",
      "grep -o 'x'",
      'readlink -f x',
    ])
      assert.equal(extensionsIn(line).length, 1, line)
  })

  for (const [tools, program] of [['dash and a POSIX sed', undefined] as const, ['busybox', busybox] as const]) {
    if (tools === 'busybox' && busybox === undefined) continue
    it(`starts the program with ${tools}, through links too`, () => {
      const folder = posixTools(program)
      try {
        // The program is a stand-in that prints its arguments: the script is what is tested.
        for (const made of ['dist/program', 'bin', 'links']) mkdirSync(join(folder, made), { recursive: true })
        writeFileSync(join(folder, 'dist/program/capt.mjs'), 'console.log(process.argv.slice(2).join())')
        writeFileSync(join(folder, 'bin/capt'), readFileSync(join(ROOT, 'bin/capt')), { mode: 0o755 })
        symlinkSync('../bin/capt', join(folder, 'links/relative'))
        symlinkSync(join(folder, 'links/relative'), join(folder, 'links/absolute'))
        symlinkSync(process.execPath, join(folder, 'node'))
        for (const link of ['bin/capt', 'links/relative', 'links/absolute']) {
          const env = { PATH: `${folder}:/usr/bin:/bin` }
          const ran = spawnSync(join(folder, 'sh'), [join(folder, link), 'manager', 'a b'], { env, encoding: 'utf8' })
          assert.deepEqual([ran.stdout, ran.stderr], ['manager,a b\n', ''])
        }
      } finally {
        rmSync(folder, { recursive: true })
      }
    })
  }
})
